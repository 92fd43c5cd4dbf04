// SPDX-License-Identifier: BSD-3-Clause
// The cost of a pass over one micro-batch on an IPU: cycles, transferred bytes, and the memory of a tile. There is one
// constant for each step and each pass.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/placement/pass_tiles.hpp>
#include <stagecraft/ipu/placement/tile_code.hpp>
#include <stagecraft/ipu/profile/replica_ring.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/plan/passes.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::tiles {

/// A layer's step in a pass, or a loss after the steps.
struct profiled_step {
  int call = 0;                      ///< the call of the graph; for a loss, that of the output
  bool backward = false;             ///< a backward step
  bool recomputed = false;           ///< a forward step in a backward pass
  bool is_loss = false;              ///< the loss of an output
  operation_cost cost;               ///< cost of the step's tasks
  std::int64_t live_bytes = 0;       ///< bytes on a tile that are in use beside the step's own memory
  std::int64_t temporary_bytes = 0;  ///< bytes on a tile of the step's temporary tensors
  step_code code;                    ///< code and vertices of the step on a tile

  /// Peak bytes that the step needs on one tile.
  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return live_bytes + temporary_bytes; }
};

/// A pass over one micro-batch.
struct pass_profile {
  int stage = 0;                                ///< the stage whose layers it runs
  int device = 0;                               ///< the IPU of the replica that it runs on
  bool backward = false;                        ///< true for the stage's backward pass
  operation_cost steps;                         ///< forward steps of a forward pass, backward steps of a backward pass
  operation_cost recompute;                     ///< forward steps of a backward pass
  operation_cost losses;                        ///< losses, after the last forward pass
  operation_cost additions;                     ///< additions of gradients that come from other passes
  std::int64_t host_bytes = 0;                  ///< bytes that come from the host or go there
  std::int64_t host_cycles = 0;                 ///< cycles for these
  std::int64_t infeed_cycles = 0;               ///< cycles of host_cycles for data that come from the host
  std::int64_t fetched_bytes = 0;               ///< bytes fetched from streaming memory
  std::int64_t stored_bytes = 0;                ///< bytes stored to streaming memory
  std::int64_t stashed_bytes = 0;               ///< bytes of stored_bytes that a backward pass will fetch
  std::int64_t streaming_cycles = 0;            ///< cycles of fetching and storing
  std::int64_t recompute_streaming_cycles = 0;  ///< cycles of streaming_cycles for steps recomputed a slot ahead
  std::int64_t gather_cycles = 0;               ///< cycles of gathering weights of which each replica holds a part
  std::int64_t sent_bytes = 0;                  ///< bytes sent to other IPUs of the replica
  std::int64_t peak_bytes = 0;                  ///< most bytes in use on a tile
  int peak_step = 0;                            ///< index into profiled_steps_of

  /// Bytes that are transferred from and to the host and streaming memory.
  [[nodiscard]] constexpr std::int64_t transferred_bytes() const noexcept {
    return host_bytes + fetched_bytes + stored_bytes;
  }

  /// The cost of computing, transfers excluded, as a run counts it. `predict` computes no losses.
  [[nodiscard]] constexpr operation_cost work(bool with_losses = true) const noexcept {
    operation_cost sum = steps;
    sum += recompute;
    if (with_losses) sum += losses;
    sum += additions;
    return sum;
  }
};

/// Bytes of one element of a call's value or its gradient on its way between IPUs; 0: no IPU has it.
template <class Job>
constexpr int bytes_of_number(int call) {
  auto const i = static_cast<std::size_t>(call);
  return values_on_ipus<Job>[i] ? size_of(value_types_of<Job>[i]) : 0;
}

/// The cost of adding a gradient to another one, on the tiles where they lie.
constexpr operation_cost cost_of_addition(std::int64_t elements, dtype type, ipu_target const& target) {
  lowered_step step;
  int const sum = step.temporary(elements, type), part = step.temporary(elements, type);
  append_map(step, map_function::add, sum, {{sum}, {part}});
  return step_cost(step, target).cost;
}

template <class Job, int Pass>
struct priced_pass {
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& table = planning_timetable<Job>;
  static constexpr auto const& plan = pass_plan_of<typename Job::planned, Pass>;
  static constexpr auto const& tiles = pass_tiles_of<Job, Pass>;
  static constexpr ipu_target const& target = Job::machine::target;
  static constexpr int stage = table.stage_of_pass(Pass);
  static constexpr bool backward = table.is_backward(Pass);
  static constexpr bool is_last_forward = !backward && stage + 1 == table.stages();
  static constexpr bool has_losses = is_last_forward && !only_infers<Job::training>;
  static constexpr std::size_t outputs = graph.ends.size();
  static constexpr std::uint64_t logits = outputs_with_logits<typename Job::described>;

  static constexpr std::size_t count_outputs_with_own_step() { return static_cast<std::size_t>(std::popcount(logits)); }
  static constexpr auto outputs_with_own_step = [] {
    std::array<std::size_t, 64> result{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < 64; ++i)
      if ((logits >> i & 1U) != 0) result[count++] = i;
    return result;
  }();

  template <std::size_t Step>
  static constexpr profiled_step price() {
    constexpr pass_step own = plan.steps[Step];
    constexpr int lowered_in = own.backward ? Pass : table.forward_pass(stage);
    constexpr auto const& cost = step_cost_of<Job, lowered_in, own.call, own.backward>;
    return {own.call,
            own.backward,
            backward && !own.backward,
            false,
            cost.cost,
            tiles.end_of(static_cast<int>(Step)),
            cost.temporary_bytes,
            step_code(lowered_step_of<Job, lowered_in, own.call, own.backward>, cost.cost)};
  }
  template <std::size_t Output>
  static constexpr profiled_step price_loss() {
    constexpr auto const& cost = loss_cost_of<Job, Output>;
    return {graph.ends[Output],
            false,
            false,
            true,
            cost.cost,
            tiles.end_of(static_cast<int>(plan.steps.size())),
            cost.temporary_bytes,
            step_code(lowered_loss_of<Job, Output>, cost.cost)};
  }
  /// The end of a forward step whose activation waits for the loss.
  template <std::size_t Output>
  static constexpr profiled_step price_output() {
    constexpr auto const& cost = output_cost_of<Job, Output>;
    return {graph.ends[Output],
            false,
            false,
            false,
            cost.cost,
            tiles.end_of(static_cast<int>(plan.steps.size())),
            cost.temporary_bytes,
            step_code(lowered_output_of<Job, Output>, cost.cost)};
  }
  // There is one constant for each step.
  template <std::size_t Step>
  static constexpr profiled_step step = price<Step>();
  template <std::size_t Output>
  static constexpr profiled_step loss = price_loss<Output>();
  template <std::size_t Number>
  static constexpr profiled_step output = price_output<outputs_with_own_step[Number]>();
  template <std::size_t... Step, std::size_t... Output, std::size_t... Number>
  static constexpr auto list(std::index_sequence<Step...>, std::index_sequence<Output...>,
                             std::index_sequence<Number...>) {
    return std::array<profiled_step, sizeof...(Step) + sizeof...(Output) + sizeof...(Number)>{
        step<Step>..., loss<Output>..., output<Number>...};
  }

  using step_numbers = std::make_index_sequence<plan.steps.size()>;
  using loss_numbers = std::make_index_sequence<has_losses ? outputs : 0>;
  using output_numbers = std::make_index_sequence<has_losses ? count_outputs_with_own_step() : 0>;
};

/// The steps of a pass with their costs. The losses follow the steps of the last forward pass, and then the activations
/// of outputs whose losses take logits.
template <class Job, int Pass>
inline constexpr auto profiled_steps_of = [] {
  using pass = priced_pass<Job, Pass>;
  return pass::list(typename pass::step_numbers{}, typename pass::loss_numbers{}, typename pass::output_numbers{});
}();

template <class Job, int Pass>
class pass_profiler {
  using pass = priced_pass<Job, Pass>;
  using variables = variables_on_tiles<Job>;
  static constexpr auto const& graph = pass::graph;
  static constexpr auto const& plan = pass::plan;
  static constexpr ipu_target const& target = Job::machine::target;
  static constexpr auto const& steps = profiled_steps_of<Job, Pass>;
  static constexpr bool trains = Job::trains;
  /// True if its first steps, which recompute, are carried out a slot before the others.
  static constexpr bool ahead = pass::backward && pass::table.recomputes_ahead(pass::stage);

 public:
  constexpr pass_profile make() {
    result_.stage = pass::stage;
    result_.device = pass::table.device_of_pass(Pass);
    result_.backward = pass::backward;
    add_steps();
    for (auto const& addition : plan.additions)
      result_.additions += cost_of_addition(addition.floats, value_types_of<Job>[addition.call], target);
    add_transfers();
    add_variables();
    add_host();
    result_.recompute_streaming_cycles = streaming_memory_cycles(target, fetched_ahead_);
    result_.streaming_cycles = result_.recompute_streaming_cycles +
                               streaming_memory_cycles(target, result_.fetched_bytes - fetched_ahead_) +
                               streaming_memory_cycles(target, result_.stored_bytes);
    return result_;
  }

 private:
  constexpr void add_steps() {
    int number = 0;
    for (auto const& step : steps) {
      (step.is_loss ? result_.losses : step.recomputed ? result_.recompute : result_.steps) += step.cost;
      if (step.bytes() > result_.peak_bytes) {
        result_.peak_bytes = step.bytes();
        result_.peak_step = number;
      }
      ++number;
    }
    // Transfers may precede and follow the steps.
    for (auto const& end : pass::tiles.end)
      if (end > result_.peak_bytes) result_.peak_bytes = end;
  }

  constexpr std::int64_t bytes_of(pass_transfer const& transfer, buffer_place const& here) const {
    // Tensors that layers have saved may differ in type.
    for (std::size_t i = 0; i < graph.calls.size(); ++i)
      if (plan.places.saved[i].exists() && plan.places.saved[i].offset == here.offset &&
          all_saved_on_tiles<Job>[i].bytes > 0 && transfer.device < 0)
        return all_saved_on_tiles<Job>[i].data_bytes;
    return transfer.floats * bytes_of_number<Job>(transfer.call);
  }
  constexpr void add_transfers() {
    for (auto const& fetch : plan.fetches) result_.fetched_bytes += bytes_of(fetch, fetch.to);
    if (ahead) fetched_ahead_ = result_.fetched_bytes;
    for (auto const& transfer : plan.transfers)
      (transfer.device < 0 ? result_.stashed_bytes : result_.sent_bytes) += bytes_of(transfer, transfer.from);
    result_.stored_bytes += result_.stashed_bytes;
  }

  // Weights and sums of gradients that stand in streaming memory.
  constexpr void add_variables() {
    if constexpr (variables::options.offloads_weights() ||
                  (trains && variables::options.offload_gradient_accumulation_buffers == offload::remote)) {
      std::array<bool, graph.parameters.size() + 1> seen{};
      std::int64_t gathered = 0;
      for (auto const& step : plan.steps) {
        auto const& layer = graph.layer_of(step.call);
        for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i) {
          auto const& weight = graph.parameters[i];
          if (step.backward && weight.trainable && variables::remote_accumulator(weight)) {
            auto const bytes = weight.size() * std::int64_t{size_of(variables::accumulator_type)};
            result_.fetched_bytes += bytes;
            result_.stored_bytes += bytes;
          }
          if (seen[i] || !variables::remote_weight(weight)) continue;
          seen[i] = true;
          auto const bytes = weight.size() * std::int64_t{size_of(variables::variable_type(weight))};
          bool const shared = variables::options.replicated_weight_sharding && weight.trainable;
          auto const fetched = shared ? ceil_div(bytes, variables::replicas) : bytes;
          result_.fetched_bytes += fetched;
          if (ahead && !step.backward) fetched_ahead_ += fetched;
          if (shared) gathered += bytes;
          if (trains && !pass::backward && weight.is_state()) result_.stored_bytes += bytes;
        }
      }
      result_.gather_cycles =
          ring_gather_cycles(target, variables::replicas, shards_of<typename Job::model>, result_.device, gathered);
    }
  }

  constexpr void add_host() {
    std::int64_t outfed = 0;
    if (Pass == 0)
      for (std::size_t i = 0; i < graph.calls.size(); ++i)
        if (graph.calls[i].is_input) result_.host_bytes += bytes_of_value(static_cast<int>(i));
    if constexpr (!trains) outfed += add_borders();
    if constexpr (pass::is_last_forward) {
      if constexpr (trains) {
        [&]<std::size_t... Output>(std::index_sequence<Output...>) {
          ((result_.host_bytes += batch_data_bytes<Output>(false)), ...);
          ((outfed += batch_data_bytes<Output>(true)), ...);
        }(std::make_index_sequence<pass::outputs>{});
      } else {
        for (int const output : graph.outputs_of(0))
          if (!is_on_host(graph, output)) outfed += bytes_of_value(output);
      }
    }
    auto const cycles = [](std::int64_t bytes) {
      return bytes == 0 ? 0
                        : (Job::machine::config.optimizations.prefetch_data_streams ? 0 : target.host_latency_cycles) +
                              cycles_at(target, bytes, target.host_bytes_per_second);
    };
    result_.infeed_cycles = cycles(result_.host_bytes);
    result_.host_bytes += outfed;
    result_.host_cycles = cycles(result_.host_bytes);
  }
  static constexpr std::int64_t bytes_of_value(int call) {
    return elements_of_batch(graph.call(call).shape.size()) * bytes_of_number<Job>(call);
  }
  /// Adds the transfers between layers on the host and IPUs; returns their bytes. Each tensor goes once.
  constexpr std::int64_t add_borders() {
    std::int64_t outfed = 0;
    std::array<bool, graph.calls.size()> is_sent{};
    auto const& model_plan = model_plan_for<Job>;
    for (auto const& step : plan.steps) {
      if (!is_on_host(graph, step.call)) continue;
      if (model_plan.calls[step.call].root == step.call) result_.host_bytes += bytes_of_value(step.call);
      for (int const input : graph.inputs_of(step.call)) {
        int const root = model_plan.calls[input].root;
        if (graph.call(root).is_input || is_on_host(graph, root) || is_sent[root]) continue;
        is_sent[root] = true;
        outfed += bytes_of_value(root);
      }
    }
    return outfed;
  }
  static constexpr std::int64_t elements_of_batch(std::int64_t elements) { return Job::training.batch_size * elements; }
  /// Bytes of targets and scales, or of the loss.
  template <std::size_t Output>
  static constexpr std::int64_t batch_data_bytes(bool losses) {
    constexpr auto const& step = lowered_loss_of<Job, Output>;
    std::int64_t bytes = 0;
    for (int i = 0; i < step.tensor_count; ++i)
      if (auto const& tensor = step.tensors[i];
          losses ? tensor.role == tensor_role::loss
                 : tensor.role == tensor_role::target || tensor.role == tensor_role::sample_scale)
        bytes += tensor.elements * size_of(tensor.type);
    return bytes;
  }

  pass_profile result_;
  std::int64_t fetched_ahead_ = 0;
};

/// The profiled steps of all passes.
template <class Job>
inline constexpr auto profiled_steps = array_of_each<planning_timetable<Job>.passes()>(
    []<int Pass>() { return tracing::array_view<profiled_step const>(profiled_steps_of<Job, Pass>); });

/// The cost of a pass over one micro-batch.
template <class Job, int Pass>
inline constexpr pass_profile pass_profile_of = detail::pass_profiler<Job, Pass>().make();

}  // namespace stagecraft::tiles
