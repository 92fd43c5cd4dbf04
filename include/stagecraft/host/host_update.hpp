// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the gradients of a step on the host: each function does one share of all weights.
#pragma once

#include <stagecraft/host/parameter_update.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::detail {

template <class Plan>
struct host_update {
  /// Makes all accumulators ready for a micro-batch.
  static void begin_micro_batch(host_memory const& memory) {
    [&]<std::size_t... Call>(std::index_sequence<Call...>) {
      [[maybe_unused]] int const done[]{0, (begin_call<Call>(memory), 0)...};
    }(std::make_index_sequence<Plan::graph.calls.size()>{});
  }

  /// Adds a call's gradients to accumulators in half precision.
  template <std::size_t Call>
  static void accumulate_halves(host_memory const& memory) {
    for_each_parameter<Call>([&]<std::size_t Parameter>() {
      parameter_update<Plan, Parameter>::accumulate(memory, Plan::gradients.shift[Call], elements<Parameter>(memory));
    });
  }

  /// Changes the weights, but for those that the backward steps change.
  static void run(host_memory const& memory) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (run_parameter<Parameter>(memory), 0)...};
    }(parameters{});
  }
  /// Of weights whose own penalties are added before `run`.
  static void sum_calls_of_own_penalties(host_memory const& memory) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (sum_own<Parameter>(memory), 0)...};
    }(parameters{});
  }
  /// Whether `run` does anything.
  [[nodiscard]] static constexpr bool has_work() {
    return []<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      return (false || ... || has_work_for(Parameter, parameter_update<Plan, Parameter>::has_gradient));
    }(parameters{});
  }

 private:
  using parameters = std::make_index_sequence<Plan::weights.count>;

  template <std::size_t Parameter>
  static kernels::share::range elements(host_memory const& memory) {
    return memory.share.of(Plan::weights.size[Parameter], 16);
  }

  template <std::size_t Call, class Each>
  static void for_each_parameter(Each const& each) {
    constexpr auto const& layer = Plan::graph.layer_of(static_cast<int>(Call));
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (each.template operator()<static_cast<std::size_t>(layer.first_parameter) + Index>(), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(layer.parameter_count)>{});
  }

  template <std::size_t Call>
  static void begin_call(host_memory const& memory) {
    if constexpr (Plan::program.calls[Call].needs_gradient)
      for_each_parameter<Call>([&]<std::size_t Parameter>() {
        parameter_update<Plan, Parameter>::begin(memory, Plan::gradients.shift[Call], elements<Parameter>(memory));
      });
  }

  template <std::size_t Parameter>
  static void sum_own(host_memory const& memory) {
    using update = parameter_update<Plan, Parameter>;
    if constexpr (Plan::graph.parameters[Parameter].regularizer.is_own() &&
                  has_work_for(Parameter, update::has_gradient))
      update::sum_calls(memory, elements<Parameter>(memory));
  }
  template <std::size_t Parameter>
  static void run_parameter(host_memory const& memory) {
    using update = parameter_update<Plan, Parameter>;
    if constexpr (has_work_for(Parameter, update::has_gradient)) {
      auto const range = elements<Parameter>(memory);
      if constexpr (Plan::accumulates_steps && !Plan::graph.parameters[Parameter].regularizer.is_own())
        update::sum_calls(memory, range);
      update::apply(memory, {memory.slots + Plan::weights.offset[Parameter] + range.first, Plan::weights.floats},
                    range);
    }
  }

  [[nodiscard]] static constexpr bool has_work_for(std::size_t parameter, bool has_gradient) {
    if (!has_gradient || !Plan::graph.parameters[parameter].trainable) return false;
    for (std::size_t i = 0; i < Plan::graph.calls.size(); ++i) {
      auto const& layer = Plan::graph.layer_of(static_cast<int>(i));
      auto const index = static_cast<int>(parameter) - layer.first_parameter;
      if (index >= 0 && index < layer.parameter_count)
        return !(Plan::fuses_update(static_cast<int>(i), index) && same_type(layer.type, tag_of<layers::dense>)) &&
               !Plan::updates_rows(static_cast<int>(i), index);
    }
    return true;
  }
};

}  // namespace stagecraft::detail
