// SPDX-License-Identifier: BSD-3-Clause
// The memory of every tile of an IPU that is in use all the time: weights, the optimizer's state, accumulators of
// gradients, and rings of values, gradients, batches and of tensors that forward steps keep for backward steps.
#pragma once

#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/plan/device_buffers.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// A ring of places, one for each micro-batch that is alive at once: bytes from the begin of a tile's memory, the same
/// on all tiles. Tile 0 has most of every tensor, and its bytes are kept free on all.
struct tile_place {
  std::int64_t offset = -1;
  int depth = 1;
  std::int64_t stride = 0;

  friend constexpr bool operator==(tile_place const&, tile_place const&) = default;

  [[nodiscard]] constexpr bool exists() const noexcept { return offset >= 0; }
  /// Bytes of all places.
  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return exists() ? depth * stride : 0; }
  /// The place of a micro-batch.
  [[nodiscard]] constexpr std::int64_t at(std::int64_t micro_batch) const noexcept {
    return depth == 1 || offset < 0 ? offset : offset + micro_batch % depth * stride;
  }
};

/// Bytes of a tensor on the tile with most of it.
[[nodiscard]] constexpr std::int64_t bytes_on_tile(std::int64_t elements, dtype type, ipu_target const& target,
                                                   weight_mapping const* planned = nullptr) noexcept {
  return bytes_on_tile(tile_tensor{tensor_role::temporary, 0, type, elements, planned}, target);
}

/// Places rings one after the other.
class tile_ring_allocator {
 public:
  constexpr tile_place place(int depth, std::int64_t bytes) {
    tile_place const result{bytes_, depth, bytes};
    bytes_ += depth * bytes;
    return result;
  }
  [[nodiscard]] constexpr std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

/// The tensors of a call with the role `saved`, one after the other.
struct saved_on_tiles {
  static constexpr int most_tensors = lowered_step::most_saved;

  int count = 0;
  tile_tensor tensors[most_tensors]{};
  std::int64_t offset[most_tensors]{};  ///< bytes from the first tensor
  std::int64_t bytes = 0;               ///< bytes on a tile
  std::int64_t data_bytes = 0;          ///< bytes on all tiles together

  /// The offset of a tensor, or -1 if it is not saved.
  [[nodiscard]] constexpr std::int64_t offset_of(int tensor_index) const noexcept {
    for (int i = 0; i < count; ++i)
      if (tensors[i].index == tensor_index) return offset[i];
    return -1;
  }
};

constexpr void add_saved(saved_on_tiles& all, lowered_step const& step, ipu_target const& target) {
  for (int i = 0; i < step.tensor_count; ++i) {
    auto const& tensor = step.tensors[i];
    if (tensor.role != tensor_role::saved || all.offset_of(tensor.index) >= 0) continue;
    all.tensors[all.count] = tensor;
    all.offset[all.count++] = all.bytes;
    all.bytes += stagecraft::tiles::bytes_on_tile(tensor, target);
    all.data_bytes += tensor.elements * size_of(tensor.type);
  }
}

template <class Job, int Call>
constexpr saved_on_tiles find_saved() {
  saved_on_tiles result;
  constexpr auto const& call = model_plan_for<Job>.calls[Call];
  if constexpr (call.needs.saved > 0 && !call.needs.view && !Job::graph.calls[Call].is_input) {
    constexpr auto const& table = unchecked_timetable<typename Job::planned>;
    constexpr int stage = flow_of<Job>.stage[Call];
    add_saved(result, lowered_step_of<Job, table.forward_pass(stage), Call, false>, Job::machine::target);
    if constexpr (call.needs_gradient)
      add_saved(result, lowered_step_of<Job, table.backward_pass(stage), Call, true>, Job::machine::target);
  }
  return result;
}

template <class Job, int Call>
inline constexpr saved_on_tiles saved_on_tiles_of = detail::find_saved<Job, Call>();

/// The places on one IPU by calls, edges, outputs and weights of the graph. Tensors in streaming memory or on another
/// IPU have none.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs, std::size_t Weights>
struct device_tiles {
  std::array<tile_place, Weights + 1> weight{};
  std::array<tile_place, Weights + 1> state{};   ///< a ring of the optimizer's arrays of a weight
  std::array<tile_place, Calls> accumulators{};  ///< the accumulators of the call's layer, one after the other
  std::array<tile_place, Calls> value{}, saved{}, gradient{};
  std::array<tile_place, Edges> part{};
  std::array<tile_place, Outputs> target{}, scale{}, loss{};
  // Bytes, in this order.
  std::int64_t weight_bytes = 0;
  std::int64_t state_bytes = 0;
  std::int64_t accumulator_bytes = 0;
  std::int64_t ring_bytes = 0;
  std::int64_t batch_bytes = 0;  ///< targets, scales and losses

  [[nodiscard]] constexpr std::int64_t bytes() const noexcept {
    return weight_bytes + state_bytes + accumulator_bytes + ring_bytes + batch_bytes;
  }
};

/// The variables of a training that stand on the IPU, and their bytes on a tile.
template <class Job>
struct variables_on_tiles {
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr pipelining_options options = Job::options;
  static constexpr bool trains = Job::trains;
  static constexpr int replicas = Job::replicas;
  static constexpr dtype accumulator_type =
      options.gradient_accumulation_dtype == dtype::float16 && options.accumulation_steps() > 1 ? dtype::float16
                                                                                                : dtype::float32;

  /// The type that the machine keeps a weight of the graph in.
  [[nodiscard]] static constexpr dtype variable_type(parameter const& weight) {
    return variable_types_of<Job>[&weight - graph.parameters.data()];
  }
  [[nodiscard]] static constexpr bool is_remote(bool wanted, std::int64_t elements, dtype type) {
    return wanted && elements * size_of(type) >= Job::machine::config.optimizations.minimum_remote_tensor_size;
  }
  [[nodiscard]] static constexpr bool remote_weight(parameter const& weight) {
    return is_remote(options.offloads_weights(), weight.size(), variable_type(weight));
  }
  [[nodiscard]] static constexpr bool remote_state(parameter const& weight) {
    return is_remote(options.offloads_optimizer_state(), state_elements(weight), variable_type(weight));
  }
  [[nodiscard]] static constexpr bool remote_accumulator(parameter const& weight) {
    return is_remote(options.offload_gradient_accumulation_buffers == offload::remote, weight.size(), accumulator_type);
  }
  /// Elements that one replica keeps of each of the optimizer's arrays of a weight.
  [[nodiscard]] static constexpr std::int64_t state_elements(parameter const& weight) {
    return options.replicated_optimizer_state_sharding ? ceil_div(weight.size(), replicas) : weight.size();
  }

  // Bytes on a tile; `weight` is the number of a weight of the graph.
  [[nodiscard]] static constexpr std::int64_t weight_bytes(std::size_t weight) {
    return bytes_of(weight, graph.parameters[weight].size(), variable_types_of<Job>[weight]);
  }
  [[nodiscard]] static constexpr std::int64_t state_bytes(std::size_t weight) {
    return bytes_of(weight, state_elements(graph.parameters[weight]), variable_types_of<Job>[weight]);
  }
  [[nodiscard]] static constexpr std::int64_t accumulator_bytes(std::size_t weight) {
    auto const& info = graph.parameters[weight];
    return info.trainable ? bytes_of(weight, info.size(), accumulator_type) : 0;
  }
  /// The accumulators of a layer's weights for one call, those that stand in streaming memory or those that do not.
  [[nodiscard]] static constexpr std::int64_t accumulator_bytes(layer_info const& layer, bool remote) {
    return bytes_of_accumulators(layer, layer.parameter_count, remote);
  }
  /// The offset of a weight's accumulator among those of its layer.
  [[nodiscard]] static constexpr std::int64_t accumulator_offset(layer_info const& layer, int index) {
    return bytes_of_accumulators(layer, index, remote_accumulator(graph.parameters[layer.first_parameter + index]));
  }

 private:
  [[nodiscard]] static constexpr std::int64_t bytes_of(std::size_t weight, std::int64_t elements, dtype type) {
    return bytes_on_tile(elements, type, Job::machine::target, planned_weights<Job>[weight]);
  }
  /// The bytes of the accumulators of a layer's first `count` weights.
  [[nodiscard]] static constexpr std::int64_t bytes_of_accumulators(layer_info const& layer, int count, bool remote) {
    std::int64_t bytes = 0;
    for (int i = layer.first_parameter; i < layer.first_parameter + count; ++i)
      if (auto const weight = static_cast<std::size_t>(i); remote_accumulator(graph.parameters[weight]) == remote)
        bytes += accumulator_bytes(weight);
    return bytes;
  }
};

template <class Job>
inline constexpr auto all_saved_on_tiles =
    array_of_each<Job::graph.calls.size()>([]<int Call>() { return saved_on_tiles_of<Job, Call>; });

/// Bytes of a tile that the targets and the scales of an output take.
template <class Job, std::size_t Output>
constexpr std::int64_t batch_bytes_of_output(tensor_role role) {
  constexpr auto const& step = lowered_loss_of<Job, Output>;
  for (int i = 0; i < step.tensor_count; ++i)
    if (step.tensors[i].role == role) return stagecraft::tiles::bytes_on_tile(step.tensors[i], Job::machine::target);
  return 0;
}

/// Bytes of a tile that a call's value takes, or its gradient.
template <class Job>
constexpr std::int64_t value_bytes(std::size_t call) {
  return values_on_ipus<Job>[call]
             ? bytes_on_tile(std::int64_t{Job::training.batch_size} * Job::graph.calls[call].shape.size(),
                             value_types_of<Job>[call], Job::machine::target)
             : 0;
}

template <class Job, int Device>
class device_tile_planner {
  using variables = variables_on_tiles<Job>;
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr auto const& flow = flow_of<Job>;
  static constexpr auto const& table = planning_timetable<Job>;
  static constexpr auto const& rings = device_buffers_of<typename Job::planned, Device>;
  static constexpr std::size_t calls = graph.calls.size(), edges = graph.inputs.size(), outputs = graph.ends.size(),
                               weights = graph.parameters.size();

 public:
  constexpr device_tiles<calls, edges, outputs, weights> make() {
    place_variables();
    place_rings();
    if constexpr (table.device_of_stage(table.stages() - 1) == Device && !only_infers<Job::training>) place_batches();
    return result_;
  }

 private:
  static constexpr bool is_here(layer_info const& layer) {
    return layer.call_count > 0 && !layer.is_on_host && table.device_of_stage(flow.stage[layer.first_call]) == Device;
  }

  /// Calls each(weight) for the weights of the layers on this device.
  template <class Each>
  static constexpr void for_each_weight(Each each) {
    for (auto const& layer : graph.layers)
      if (is_here(layer))
        for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i) each(i);
  }
  constexpr void place_variables() {
    for_each_weight([&](std::size_t i) {
      auto const& weight = graph.parameters[i];
      if (!variables::remote_weight(weight)) result_.weight[i] = all_.place(1, variables::weight_bytes(i));
    });
    result_.weight_bytes = all_.bytes();
    if constexpr (variables::trains) place_state();
  }
  constexpr void place_state() {
    for_each_weight([&](std::size_t i) {
      auto const& weight = graph.parameters[i];
      if (weight.trainable && !variables::remote_state(weight) && slots_of<Job::training.optimizer> > 0)
        result_.state[i] = all_.place(slots_of<Job::training.optimizer>, variables::state_bytes(i));
    });
    result_.state_bytes = all_.bytes() - result_.weight_bytes;
    auto const before = all_.bytes();
    for (std::size_t i = 0; i < calls; ++i)
      if (model_plan.calls[i].needs_gradient && table.device_of_stage(flow.stage[i]) == Device)
        if (auto const bytes = variables::accumulator_bytes(graph.layer_of(static_cast<int>(i)), false); bytes > 0)
          result_.accumulators[i] = all_.place(1, bytes);
    result_.accumulator_bytes = all_.bytes() - before;
  }

  constexpr tile_place ring(buffer_place const& place, std::int64_t bytes) {
    return place.exists() ? all_.place(place.depth, bytes) : tile_place{};
  }
  constexpr void place_rings() {
    auto const before = all_.bytes();
    for (std::size_t i = 0; i < calls; ++i) {
      result_.value[i] = ring(rings.value[i], rings.value[i].exists() ? value_bytes<Job>(i) : 0);
      result_.saved[i] = ring(rings.saved[i], all_saved_on_tiles<Job>[i].bytes);
      result_.gradient[i] = ring(rings.gradient[i], rings.gradient[i].exists() ? value_bytes<Job>(i) : 0);
      for (int edge = flow.first_edge[i]; edge >= 0; edge = flow.next_edge[edge])
        result_.part[edge] = ring(rings.part[edge], rings.part[edge].exists() ? value_bytes<Job>(i) : 0);
    }
    result_.ring_bytes = all_.bytes() - before;
  }

  constexpr void place_batches() {
    auto const before = all_.bytes();
    int const depth = table.alive(0, table.forward_pass(table.stages() - 1));
    for_each_index<outputs>([&]<int Output>() {
      result_.target[Output] = all_.place(depth, batch_bytes_of_output<Job, Output>(tensor_role::target));
      result_.scale[Output] = all_.place(depth, batch_bytes_of_output<Job, Output>(tensor_role::sample_scale));
      result_.loss[Output] = all_.place(1, bytes_on_tile(1, dtype::float32, Job::machine::target));
    });
    result_.batch_bytes = all_.bytes() - before;
  }

  device_tiles<calls, edges, outputs, weights> result_;
  tile_ring_allocator all_;
};

template <class Job, int Device>
inline constexpr auto device_tiles_of = detail::device_tile_planner<Job, Device>().make();

}  // namespace stagecraft::tiles
