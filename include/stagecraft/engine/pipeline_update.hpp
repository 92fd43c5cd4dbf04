// SPDX-License-Identifier: BSD-3-Clause
// The weight update of a pipeline's devices on the host, and what it does with the gradients and weights of replicas.
#pragma once

#include <stagecraft/engine/pipeline_memory.hpp>
#include <stagecraft/host/parameter_update.hpp>
#include <stagecraft/host/weight_functions.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/kernels/update/regularization.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft {

/// The parts of a weight update; between them all devices of all replicas wait for each other. `Plan` is that of any
/// pass of training.
template <class Sizes, class Plan>
class pipeline_update {
  using memory_type = pipeline_memory<Sizes>;
  using architecture = typename Plan::architecture;
  using policy = typename Plan::policy;
  using range = kernels::share::range;
  static constexpr int replicas = Sizes::replicas;
  static constexpr int slots = detail::slots_of<Plan::training.optimizer>;
  template <std::size_t Parameter>
  using update = detail::parameter_update<Plan, Parameter, replicas>;

 public:
  using functions = detail::weight_functions<Plan>;
  using all_replicas = std::array<memory_type*, static_cast<std::size_t>(replicas)>;

  /// The gradients of all calls of a layer become one.
  static void sum_calls(memory_type& own, int device) {
    auto const memory = memory_behind(own);
    for_each_weight(device, [&]<std::size_t Parameter>() {
      if constexpr (Sizes::fetches_gradients) fetch_accumulators<Parameter>(own);
      policy::template sum_of_calls<Plan, Parameter>(
          memory, [&] { update<Parameter>::sum_calls(memory, {0, Plan::weights.size[Parameter]}); });
    });
  }

  /// The gradients of all replicas become one, in the order of the replicas: each replica's device reduces its shard,
  /// for all of them or, if that is all that it will need, for itself.
  static void reduce(all_replicas const& all, int replica, int device) {
    constexpr bool mean = Plan::training.cross_replica_reduction == cross_replica_reduction::mean;
    for_each_weight(device, [&]<std::size_t Parameter>() {
      auto const shard = kernels::shard_of(Plan::weights.size[Parameter], replica, replicas);
      std::array<float*, static_cast<std::size_t>(replicas)> gradients{};
      for (std::size_t i = 0; i < gradients.size(); ++i)
        gradients[i] = memory_of(*all[i]).gradients + Plan::weights.offset[Parameter];
      policy::template sum_of_replicas<Plan, Parameter>(
          memory_behind(*all[static_cast<std::size_t>(replica)]), gradients, replica, shard, [&] {
            if constexpr (shards)
              kernels::reduce_scatter<mean, architecture>(gradients.data(), replicas,
                                                          gradients[static_cast<std::size_t>(replica)], shard);
            else
              kernels::all_reduce<mean, architecture>(gradients.data(), replicas, shard);
          });
    });
  }

  /// The optimizer's step: on all weights of the device, or on this replica's shard of them.
  static void apply(all_replicas const& all, int replica, int device, float learning_rate, std::int64_t number,
                    std::uint64_t seed) {
    auto& own = *all[static_cast<std::size_t>(replica)];
    auto memory = memory_of(own);
    policy::template begin_update<Sizes>(own.of_policy, device, memory, true);
    memory.learning_rate = learning_rate;
    memory.update = number;
    memory.seed = seed;
    for_each_weight(device, [&]<std::size_t Parameter>() {
      auto elements = range{0, Plan::weights.size[Parameter]};
      if constexpr (shards) elements = kernels::shard_of(elements.last, replica, replicas);
      // Weights that the replicas share stand with the first one.
      if constexpr (Sizes::shards_weights) memory.weights = all[0]->weights.data();
      apply_to<Parameter>(own, memory, device, elements);
      if constexpr (shards && !Sizes::shards_weights) give<Parameter>(all, replica, elements);
    });
  }

  /// Adds the gradients of the user's own penalties to those of the device's weights, before any weight changes.
  static void add_penalty_gradients(all_replicas const& all, int replica, int device, std::int64_t number,
                                    std::uint64_t seed) {
    constexpr float times = detail::penalties_in_gradient<typename Plan::model, Plan::training, replicas>;
    auto const memory = memory_for_weights(all, replica, device, number, seed);
    for_each_weight(device, [&]<std::size_t Parameter>() {
      if constexpr (functions::template has_penalty_gradient<Parameter>()) {
        policy::template penalty_gradient<Plan, Parameter>(memory, shards, [&] {
          functions::template add_penalty_gradient<Parameter>(memory.weights, memory.gradients, times,
                                                              memory.workspace);
        });
      }
    });
  }
  /// What becomes of the device's weights behind their updates, which all replicas have done. Weights that the replicas
  /// share stand with the first one.
  static void constrain(all_replicas const& all, int replica, int device, std::int64_t number, std::uint64_t seed) {
    if (Sizes::shards_weights && replica > 0) return;
    auto const memory = memory_for_weights(all, replica, device, number, seed);
    for_each_weight(device, [&]<std::size_t Parameter>() {
      if constexpr (functions::template has_constraint<Parameter>()) {
        policy::template constraint<Plan, Parameter>(
            memory, shards, [&] { functions::template constrain<Parameter>(memory.weights, memory.workspace); });
      }
    });
  }

  /// The regularizers' part of the loss, which stays the same until the weights change.
  static void find_penalties(all_replicas const& all, int replica, int device) {
    auto& own = *all[static_cast<std::size_t>(replica)];
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (find_penalty<Parameter>(all, own, device), 0)...};
    }(std::make_index_sequence<Plan::weights.count>{});
  }

 private:
  static constexpr bool shards = Sizes::shards_state || Sizes::shards_weights;

  static host_memory memory_of(memory_type& own) {
    return {
        .weights = own.weights.data(),
        .gradients = (Sizes::fetches_gradients ? own.local_gradients : own.gradients).data(),
        .halves = reinterpret_cast<std::uint16_t*>((Sizes::fetches_gradients ? own.local_halves : own.halves).data())};
  }

  /// For functions of whole weights.
  static host_memory memory_for_weights(all_replicas const& all, int replica, int device, std::int64_t number,
                                        std::uint64_t seed) {
    auto& own = *all[static_cast<std::size_t>(replica)];
    auto memory = memory_of(own);
    if constexpr (Sizes::shards_weights) memory.weights = all[0]->weights.data();
    policy::template begin_update<Sizes>(own.of_policy, device, memory, false);
    memory.update = number;
    memory.seed = seed;
    memory.workspace = own.workspaces[static_cast<std::size_t>(device)].data();
    return memory;
  }

  /// That of the last micro-batch.
  static host_memory memory_behind(memory_type& own) {
    auto memory = memory_of(own);
    memory.micro_batch = own.done[0].value() - 1;
    return memory;
  }

  /// The device of the layer that a weight belongs to.
  static constexpr int device_of(std::size_t parameter) {
    constexpr auto const& flow = detail::flow_of<typename Plan::model, Plan::training>;
    for (std::size_t i = 0; i < Plan::graph.calls.size(); ++i) {
      auto const& layer = Plan::graph.layer_of(static_cast<int>(i));
      auto const index = static_cast<int>(parameter) - layer.first_parameter;
      if (index >= 0 && index < layer.parameter_count)
        return Sizes::template table<Sizes::main_mode>().device_of_stage(flow.stage[i]);
    }
    return 0;
  }

  /// each<Parameter>() for the trained weights of a device.
  template <class Each>
  static void for_each_weight(int device, Each const& each) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (visit<Parameter>(device, each), 0)...};
    }(std::make_index_sequence<Plan::weights.count>{});
  }
  template <std::size_t Parameter, class Each>
  static void visit(int device, Each const& each) {
    if constexpr (Plan::graph.parameters[Parameter].trainable && update<Parameter>::has_gradient) {
      constexpr int owner = device_of(Parameter);
      if (owner == device) each.template operator()<Parameter>();
    }
  }

  template <std::size_t Parameter>
  static void fetch_accumulators(memory_type& own) {
    for (std::size_t call = 0; call < Plan::graph.calls.size(); ++call)
      if (Plan::program.calls[call].needs_gradient && update<Parameter>::used_by(static_cast<int>(call)))
        detail::move_accumulator<Sizes, true>(own, Plan::weights.offset[Parameter] + Plan::gradients.shift[call],
                                              Plan::weights.size[Parameter]);
  }

  template <std::size_t Parameter>
  static void apply_to(memory_type& own, host_memory const& memory, int device, range elements) {
    constexpr auto floats = Sizes::state_floats(Parameter);
    auto const first = Sizes::shards_state ? 0 : elements.first;
    float* const state = own.state.data() + Sizes::state_offset(Parameter) + first;
    if constexpr (Sizes::fetches_state && slots > 0) {
      float* const local = own.local_state.data() + device * Sizes::largest_state * slots;
      auto const count = elements.last - elements.first;
      for (int i = 0; i < slots; ++i) std::copy_n(state + i * Sizes::all_state_floats, count, local + i * floats);
      change<Parameter>(memory, {local, floats}, elements);
      for (int i = 0; i < slots; ++i) std::copy_n(local + i * floats, count, state + i * Sizes::all_state_floats);
    } else {
      change<Parameter>(memory, {state, Sizes::all_state_floats}, elements);
    }
  }
  template <std::size_t Parameter>
  static void change(host_memory const& memory, detail::optimizer_state const& optimizer, range elements) {
    policy::template update<Plan, Parameter>(memory, optimizer, elements,
                                             [&] { update<Parameter>::apply(memory, optimizer, elements); });
  }

  /// All-gather: the other replicas get this one's shard, which none of them reads or writes meanwhile.
  template <std::size_t Parameter>
  static void give(all_replicas const& all, int replica, range elements) {
    constexpr auto offset = Plan::weights.offset[Parameter];
    float const* const from = all[static_cast<std::size_t>(replica)]->weights.data() + offset;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (static_cast<int>(i) != replica)
        std::copy(from + elements.first, from + elements.last, all[i]->weights.data() + offset + elements.first);
  }

  template <std::size_t Parameter>
  static void find_penalty(all_replicas const& all, memory_type& own, int device) {
    constexpr auto const& info = Plan::graph.parameters[Parameter];
    if constexpr (!info.regularizer.empty()) {
      constexpr int owner = device_of(Parameter);
      auto const& holder = Sizes::shards_weights && info.trainable ? *all[0] : own;
      if (owner == device)
        own.penalties[Parameter] =
            penalty_of<Parameter>(holder.weights.data(), own.workspaces[static_cast<std::size_t>(device)].data());
    }
  }
  template <std::size_t Parameter>
  static float penalty_of(float const* weights, [[maybe_unused]] float* workspace) {
    constexpr auto const& penalty = Plan::graph.parameters[Parameter].regularizer;
    if constexpr (penalty.is_own())
      return functions::template penalty<Parameter>(weights, workspace);
    else
      return kernels::regularization_loss<architecture>(penalty, weights + Plan::weights.offset[Parameter],
                                                        Plan::weights.size[Parameter]);
  }
};

}  // namespace stagecraft
