// SPDX-License-Identifier: BSD-3-Clause
// The costs of a model's calls on an IPU that an automatic pipeline balances.
#pragma once

#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/placement/device_tiles.hpp>
#include <stagecraft/pipeline/linear_order.hpp>
#include <stagecraft/pipeline/partition_costs.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::tiles {

/// The cycles and bytes that one call adds to its stage.
struct call_cost {
  long long cycles = 0;           ///< forward step of a micro-batch and, in training, its backward step
  long long variable_bytes = 0;   ///< bytes on a tile: weights, optimizer state, accumulators
  long long kept_bytes = 0;       ///< bytes on a tile for a micro-batch: its value and saved tensors
  long long temporary_bytes = 0;  ///< bytes on a tile while one of its steps is carried out
};

template <class Job, int Call>
constexpr call_cost find_call_cost() {
  constexpr auto const& graph = Job::graph;
  constexpr auto const& planned = model_plan_for<Job>.calls[Call];
  constexpr auto const& options = Job::options;
  call_cost result;
  if constexpr (!graph.call(Call).is_input && !planned.needs.view && !planned.is_left_out && !is_on_host(graph, Call)) {
    constexpr bool again = options.recomputation_mode != recomputation_mode::none;
    auto const& forward = step_cost_of<Job, 0, Call, false>;
    result.cycles = forward.cost.cycles() * (again ? 2 : 1);
    result.temporary_bytes = forward.temporary_bytes;
    if constexpr (planned.needs_gradient) {
      constexpr int pass = planning_timetable<Job>.backward_pass(flow_of<Job>.stage[Call]);
      auto const& backward = step_cost_of<Job, pass, Call, true>;
      result.cycles += backward.cost.cycles();
      if (backward.temporary_bytes > result.temporary_bytes) result.temporary_bytes = backward.temporary_bytes;
    }
    constexpr long long elements = static_cast<long long>(Job::training.batch_size) * graph.call(Call).shape.size();
    auto const on_tile = [](long long count, dtype type, weight_mapping const* by_plan = nullptr) {
      return static_cast<long long>(bytes_on_tile(count, type, Job::machine::target, by_plan));
    };
    constexpr dtype type = computed_type_of<Job, Call>;
    result.kept_bytes = on_tile(elements, type) + on_tile(planned.needs.saved, type);
    constexpr auto const& layer = graph.layer_of(Call);
    if constexpr (layer.first_call == Call)
      for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i) {
        auto const& weight = graph.parameters[i];
        auto const* const planned_weight = planned_weights<Job>[i];
        long long const bytes = on_tile(weight.size(), variable_types_of<Job>[i], planned_weight);
        result.variable_bytes += bytes;
        if constexpr (Job::trains) {
          if (!weight.trainable) continue;
          result.variable_bytes +=
              on_tile(weight.size(),
                      options.accumulation_steps() > 1 ? options.gradient_accumulation_dtype : dtype::float32,
                      planned_weight) *
              layer.call_count;
          if (!options.offloads_optimizer_state()) result.variable_bytes += bytes * slots_of<Job::training.optimizer>;
        }
      }
  }
  return result;
}

template <class Job, int Call>
inline constexpr call_cost call_cost_of = find_call_cost<Job, Call>();

/// The costs of all calls, in Keras's order.
template <class Job>
inline constexpr auto call_costs_of = array_of_each<Job::graph.order.size()>(
    []<int Position>() { return call_cost_of<Job, Job::graph.order[Position]>; });

/// The lists of partition_costs for a number of stages.
template <class Job, int Stages>
struct auto_pipeline_costs {
  static constexpr std::size_t count = Job::graph.order.size();
  static constexpr bool trains = Job::trains;
  std::array<long long, count> cycles{}, transfer{}, exclusive{}, temporary{};

  constexpr auto_pipeline_costs() {
    constexpr auto const& of_calls = call_costs_of<Job>;
    constexpr auto const& order = linear_order_of<typename Job::model>;
    constexpr auto const& target = Job::machine::target;
    // Neighbours in the pipeline are pairs, or one above the other.
    constexpr ipu_transfer route{.from = Stages > 2 ? 1 : 0, .to = Stages > 2 ? 3 : 1};
    for (std::size_t i = 0; i < count; ++i) {
      cycles[i] = of_calls[i].cycles;
      exclusive[i] = of_calls[i].variable_bytes + of_calls[i].kept_bytes * alive();
      temporary[i] = of_calls[i].temporary_bytes;
      long long const bytes = order.bytes_across[i] / static_cast<long long>(sizeof(float)) *
                              size_of(Job::training.dtype_policy.compute_dtype) * Job::training.batch_size;
      // Values go on while gradients of training come back, on links of both directions.
      if (i > 0 && bytes > 0)
        transfer[i] = inter_ipu_cycles(target, {.from = route.from, .to = route.to, .bytes = bytes}) +
                      sync_cycles(target, Stages);
    }
    constexpr auto const& graph = Job::graph;
    if constexpr (trains)
      for (std::size_t output = 0; output < graph.ends.size(); ++output) cycles[count - 1] += loss_cycles(output);
  }

  /// The costs for find_partition, with `capacity` bytes of a tile for each stage; -1: no bound.
  [[nodiscard]] constexpr partition_costs costs(long long capacity) const {
    return {.cycles = cycles,
            .transfer = transfer,
            .joined = linear_order_of<typename Job::model>.joined,
            .exclusive = exclusive,
            .temporary = temporary,
            .capacity = capacity};
  }

 private:
  /// Micro-batches that are alive in the first stage between its forward and its backward pass, or until the next stage
  /// has them.
  static constexpr int alive() {
    int devices[Stages]{};
    for (int i = 0; i < Stages; ++i) devices[i] = i;
    timetable const table(Job::options.schedule, devices, 4 * Stages * Stages, trains);
    return table.alive(table.forward_pass(0), trains ? table.backward_pass(0) : Stages > 1 ? 1 : 0);
  }
  static constexpr long long loss_cycles(std::size_t output) {
    return [output]<std::size_t... Output>(std::index_sequence<Output...>) {
      long long const cycles[]{(loss_cost_of<typename Job::in_training, Output>.cost.cycles() +
                                output_cost_of<Job, Output>.cost.cycles())...};
      return cycles[output];
    }(std::make_index_sequence<Job::graph.ends.size()>{});
  }
};

template <class Job, int Stages>
inline constexpr auto_pipeline_costs<Job, Stages> auto_pipeline_costs_of{};

}  // namespace stagecraft::tiles
