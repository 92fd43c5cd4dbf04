// SPDX-License-Identifier: BSD-3-Clause
// What a device of a pipeline needs in its own memory and in remote memory: answers of the plan, known to the compiler.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/plan/passes.hpp>
#include <cstddef>

namespace stagecraft::plan {

/// Bytes of one kind of data: in the device's own memory, all the time or while it is worked on, and in remote memory.
struct memory_bytes {
  long long on_device = 0;  ///< bytes in the device's own memory
  long long remote = 0;     ///< bytes in remote memory, of what is offloaded
};

}  // namespace stagecraft::plan

namespace stagecraft {

/// The memory of one device of one replica while it trains, or predicts, in bytes of float32 (accumulators may be
/// halves). Offloaded data stand in remote memory, and have a copy on the device while a pass, or the weight update,
/// works on them.
struct device_memory {
  plan::memory_bytes weights;                ///< the weights of the device's stages
  plan::memory_bytes optimizer_state;        ///< the slots of the optimizer
  plan::memory_bytes gradient_accumulators;  ///< sums of their gradients over micro-batches
  /// Rings: what passes keep for later passes, and what is on its way between stages; for all micro-batches that are
  /// alive at once.
  plan::memory_bytes activations;
  /// The largest scratch memory that one pass needs.
  plan::memory_bytes working;

  /// All of it in the device's own memory.
  [[nodiscard]] constexpr long long on_device() const {
    return weights.on_device + optimizer_state.on_device + gradient_accumulators.on_device + activations.on_device +
           working.on_device;
  }
  /// All of it in remote memory.
  [[nodiscard]] constexpr long long remote() const {
    return weights.remote + optimizer_state.remote + gradient_accumulators.remote + activations.remote + working.remote;
  }
};

}  // namespace stagecraft

namespace stagecraft::plan {

template <class Job, int Device>
class device_memory_finder {
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr auto const& flow = flow_of<Job>;
  static constexpr auto const& table = planning_timetable<Job>;
  static constexpr pipelining_options options = Job::options;
  static constexpr long long float_bytes = sizeof(float);

 public:
  constexpr explicit device_memory_finder(int replicas) : replicas_(replicas) {}

  constexpr device_memory find() {
    for (auto const& layer : graph.layers) {
      if (layer.call_count == 0 || table.device_of_stage(flow.stage[layer.first_call]) != Device) continue;
      for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i)
        add_weight(graph.parameters[i], gradients_of(layer));
    }
    result_.activations.on_device = device_buffers_of<Job, Device>.floats * float_bytes;
    for_each_index<table.passes()>([this]<int Pass>() { this->template add_pass<Pass>(); });
    return result_;
  }

 private:
  /// Calls of a layer whose weights have gradients: each accumulates its own.
  static constexpr int gradients_of(layer_info const& layer) {
    int count = 0;
    for (std::size_t i = 0; i < graph.calls.size(); ++i)
      count += &graph.layer_of(static_cast<int>(i)) == &layer && model_plan.calls[i].needs_gradient ? 1 : 0;
    return count;
  }

  /// The share of one replica.
  [[nodiscard]] constexpr long long part(bool shares, long long all) const {
    return shares ? (all + replicas_ - 1) / replicas_ : all;
  }

  constexpr void add_weight(parameter const& weight, int gradients) {
    long long const bytes = weight.size() * float_bytes;
    result_.weights.on_device += bytes;
    if (options.offloads_weights())
      result_.weights.remote += part(options.replicated_weight_sharding && weight.trainable, bytes);
    if constexpr (Job::trains)
      if (weight.trainable) add_state(weight, gradients);
  }

  constexpr void add_state(parameter const& weight, int gradients) {
    long long const bytes = weight.size() * float_bytes;
    long long const state =
        part(options.replicated_optimizer_state_sharding, bytes) * slots_of<Job::training.optimizer>;
    auto& place = result_.optimizer_state;
    if (options.offloads_optimizer_state()) {
      place.remote += state;
      if (state > place.on_device) place.on_device = state;
    } else {
      place.on_device += state;
    }
    bool const halves = options.gradient_accumulation_dtype == dtype::float16 && options.accumulation_steps() > 1;
    long long const accumulators = gradients * (halves ? bytes / 2 : bytes);
    result_.gradient_accumulators.on_device += accumulators;
    if (options.offload_gradient_accumulation_buffers == offload::remote)
      result_.gradient_accumulators.remote += accumulators;
  }

  template <int Pass>
  constexpr void add_pass() {
    if (table.device_of_pass(Pass) != Device) return;
    auto const& places = pass_plan_of<Job, Pass>.places;
    if (places.scratch_floats * float_bytes > result_.working.on_device)
      result_.working.on_device = places.scratch_floats * float_bytes;
    if (!table.is_backward(Pass)) result_.activations.remote += places.remote_floats * float_bytes;
  }

  device_memory result_;
  int replicas_;
};

}  // namespace stagecraft::plan

namespace stagecraft {

/// The memory of a device while a model is trained; or predicts, with a description of an inference.
///
///     static_assert(sc::device_memory_of<two_stages, training, 0>.on_device() < 624 * 1024);
template <Model M, auto Training, int Device, class Machine = detail::machine_without_limit>
  requires(Device >= 0 && Device < timetable_of<M, Training>.devices())
inline constexpr device_memory device_memory_of =
    detail::device_memory_finder<jobs::job<M, Training>, Device>(replicas_of<M, Training, Machine>).find();

/// Forward steps that a stage carries out again in its backward pass.
template <Model M, auto Training, int Stage>
  requires(Stage >= 0 && Stage < timetable_of<M, Training>.stages())
inline constexpr int recomputed_steps = [] {
  int count = 0;
  for (bool const again : detail::recomputation_of<jobs::job<M, Training>, Stage>.again) count += again ? 1 : 0;
  return count;
}();

/// Bytes that a stage's pass over a micro-batch sends to other devices.
template <Model M, auto Training, int Pass, execution_mode Mode = detail::mode_of<Training>>
  requires(Pass >= 0 && Pass < timetable_of<M, Training, Mode>.passes())
inline constexpr long long bytes_sent = [] {
  long long bytes = 0;
  for (auto const& transfer : plan::pass_plan_of<jobs::job<M, Training, Mode>, Pass>.transfers)
    if (transfer.device >= 0) bytes += transfer.floats * static_cast<long long>(sizeof(float));
  return bytes;
}();

}  // namespace stagecraft
