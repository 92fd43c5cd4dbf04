// SPDX-License-Identifier: BSD-3-Clause
// The weights of one pass, and their gradients: those that are fetched from remote memory, and accumulators.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::engine {

/// The weights of pass number `Pass`, whose calls see `Plan`.
template <class Sizes, class Plan, int Pass>
class pass_weights {
  using memory_type = pipeline_memory<Sizes>;
  using policy = typename Plan::policy;
  static constexpr auto const& graph = Plan::graph;
  static constexpr auto const& pass = pass_on<typename Plan::job, Pass>;
  using parameters = std::make_index_sequence<Plan::weights.count>;

  /// True if a layer of this stage has a weight.
  [[nodiscard]] static constexpr bool uses_weight(std::size_t parameter) {
    for (auto const& step : pass.steps)
      if (graph.layer_of(step.call).has_parameter(static_cast<int>(parameter))) return true;
    return false;
  }

 public:
  /// True if backward steps add to accumulators that the engine makes ready.
  static constexpr bool begins_gradients = [] {
    bool any = false;
    for (auto const& step : pass.steps) any = any || (step.backward && graph.layer_of(step.call).parameter_count > 0);
    return any && Plan::adds_parameter_gradients && policy::template clears_accumulators<Plan>;
  }();
  /// A share of each.
  static void begin_gradients(pass_memory const& own) {
    for_each_accumulator(
        [&]<int Call, std::size_t Parameter>() { policy::template begin_gradient<Plan, Call, Parameter>(own); });
  }
  /// Between remote memory and where the pass works on accumulators.
  template <bool Fetch>
  static void move_gradients(memory_type& own) {
    for_each_accumulator([&]<int Call, std::size_t Parameter>() {
      move_accumulator<Sizes, Fetch>(own, Plan::weights.offset[Parameter] + Plan::gradients.shift[Call],
                                     Plan::weights.size[Parameter]);
    });
  }

  /// Copies of the weights of the pass's layers: from the parts of all replicas, if these share their weights.
  static void fetch(float const* shared_weights, memory_type& own, pass_memory const& memory) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (fetch_weight<Parameter>(shared_weights, own, memory), 0)...};
    }(parameters{});
  }
  /// True if forward steps change weights: moving means and the like, and what is kept between batches.
  static constexpr bool has_state = [] {
    bool any = false;
    for (std::size_t i = 0; i < Plan::weights.count; ++i)
      any = any ||
            ((Plan::trains ? graph.parameters[i].is_state() : graph.parameters[i].between_batches) && uses_weight(i));
    return any;
  }();
  /// Copies the states that forward steps have changed to the stored weights.
  static void store_state(memory_type& own) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (store_state_of<Parameter>(own), 0)...};
    }(parameters{});
  }

 private:
  template <int Call, class Each>
  static void for_each_parameter(Each const& each) {
    constexpr auto const& layer = graph.layer_of(Call);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (each.template operator()<static_cast<std::size_t>(layer.first_parameter) + Index>(), ...);
    }(std::make_index_sequence<layer.parameter_count>{});
  }
  /// each<Call, Parameter>() for the accumulators of this pass.
  template <class Each>
  static void for_each_accumulator(Each const& each) {
    for_each_index<pass.steps.size()>([&]<int Step>() { visit_accumulators<Step>(each); });
  }
  template <std::size_t Step, class Each>
  static void visit_accumulators(Each const& each) {
    constexpr int call = pass.steps[Step].call;
    if constexpr (pass.steps[Step].backward)
      for_each_parameter<call>([&]<std::size_t Parameter>() { each.template operator()<call, Parameter>(); });
  }

  template <std::size_t Parameter>
  static void fetch_weight([[maybe_unused]] float const* shared_weights, [[maybe_unused]] memory_type& own,
                           [[maybe_unused]] pass_memory const& memory) {
    if constexpr (uses_weight(Parameter)) {
      constexpr auto offset = Plan::weights.offset[Parameter];
      float const* from = own.weights.data();
      if constexpr (Sizes::shards_weights && graph.parameters[Parameter].trainable) from = shared_weights;
      policy::template copy_weight<Plan, Parameter>(memory, from + offset, own.local_weights.data() + offset);
    }
  }
  template <std::size_t Parameter>
  static void store_state_of([[maybe_unused]] memory_type& own) {
    if constexpr (uses_weight(Parameter) && graph.parameters[Parameter].is_state())
      policy::transfer(own.local_weights.data() + Plan::weights.offset[Parameter],
                       own.weights.data() + Plan::weights.offset[Parameter],
                       static_cast<std::size_t>(Plan::weights.size[Parameter]));
  }
};

}  // namespace stagecraft::engine
