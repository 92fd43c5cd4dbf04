// SPDX-License-Identifier: BSD-3-Clause
// The place of every tensor of a plan in the memories of the tiles: the counterpart of the addresses that Poplar's
// linker assigns.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/placement/device_tiles.hpp>
#include <stagecraft/ipu/placement/pass_tiles.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// Offsets are bytes from the begin of a tile's memory, the same on all tiles of an IPU and in all replicas; those of
/// vertices and their code are not counted. Tensors that lie there all the time come first (device_tiles), then those
/// that a pass needs from one of its steps to another (pass_tiles), then the temporary tensors of one step
/// (step_layout). -1 stands for a tensor that the step does not have, or that is temporary.
template <class Job>
struct tile_places {
  /// A tensor of step number `step` of a pass.
  template <int Pass>
  [[nodiscard]] static constexpr std::int64_t of_step(int step, tile_tensor const& tensor,
                                                      std::int64_t micro_batch = 0) {
    auto const& all = pass_tiles_of<Job, Pass>;
    int const call = pass_plan_of<typename Job::planned, Pass>.steps[step].call;
    auto const& node = graph.calls[call];
    auto const& layer = graph.layer_of(call);
    switch (tensor.role) {
      case tensor_role::input: return all.value[root(graph.inputs[node.first_input + tensor.index])].at(micro_batch);
      case tensor_role::output: return all.value[root(call)].at(micro_batch);
      case tensor_role::weight: return all.weight[layer.first_parameter + tensor.index].at(0);
      case tensor_role::saved: {
        auto const offset = all_saved_on_tiles<Job>[call].offset_of(tensor.index);
        return all.saved[call].exists() && offset >= 0 ? all.saved[call].at(micro_batch) + offset : -1;
      }
      case tensor_role::output_gradient: return all.gradient[root(call)].at(micro_batch);
      case tensor_role::input_gradient: return all.input_gradient[node.first_input + tensor.index].at(micro_batch);
      case tensor_role::accumulator: {
        auto const& place = variables::remote_accumulator(graph.parameters[layer.first_parameter + tensor.index])
                                ? all.fetched_accumulators[call]
                                : all.accumulators[call];
        return place.exists() ? place.offset + variables::accumulator_offset(layer, tensor.index) : -1;
      }
      default: return -1;
    }
  }
  /// The begin of the temporary tensors of a step of a pass.
  template <int Pass>
  [[nodiscard]] static constexpr std::int64_t end_of_step(int step) {
    return pass_tiles_of<Job, Pass>.end_of(step);
  }

  /// A tensor of the step that computes the loss of an output, and its gradient.
  template <std::size_t Output>
  [[nodiscard]] static constexpr std::int64_t of_loss(tile_tensor const& tensor, std::int64_t micro_batch = 0) {
    constexpr int pass = last_forward_pass;
    auto const& all = pass_tiles_of<Job, pass>;
    auto const& device = device_tiles_of<Job, table.device_of_pass(pass)>;
    switch (tensor.role) {
      case tensor_role::input:
      case tensor_role::output: return all.value[root(graph.ends[Output])].at(micro_batch);
      case tensor_role::output_gradient:
      case tensor_role::input_gradient: return all.loss_gradient[Output].at(micro_batch);
      case tensor_role::target: return device.target[Output].at(micro_batch);
      case tensor_role::sample_scale: return device.scale[Output].at(micro_batch);
      case tensor_role::loss: return device.loss[Output].at(0);
      default: return -1;
    }
  }
  /// The begin of the temporary tensors of losses.
  [[nodiscard]] static constexpr std::int64_t end_of_losses() {
    constexpr int pass = last_forward_pass;
    return end_of_step<pass>(static_cast<int>(pass_plan_of<typename Job::planned, pass>.steps.size()));
  }

  /// A tensor of the update of a weight; accumulators by the calls of its layer, in their order.
  template <std::size_t Weight>
  [[nodiscard]] static constexpr std::int64_t of_update(tile_tensor const& tensor) {
    auto const& all = update_tiles_of<Job, Weight>;
    switch (tensor.role) {
      case tensor_role::weight: return all.weight.offset;
      case tensor_role::optimizer_state: return all.state.at(tensor.index);
      case tensor_role::norm: return all.norms.at(tensor.index);
      case tensor_role::accumulator: return tensor.index < all.accumulator_count ? all.accumulators[tensor.index] : -1;
      default: return -1;
    }
  }
  /// The begin of the temporary tensors of a weight's update.
  template <std::size_t Weight>
  [[nodiscard]] static constexpr std::int64_t end_of_update() {
    return update_tiles_of<Job, Weight>.end;
  }

 private:
  using variables = variables_on_tiles<Job>;
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& table = planning_timetable<Job>;
  static constexpr int last_forward_pass = table.stages() - 1;

  static constexpr int root(int call) { return model_plan_for<Job>.calls[call].root; }
};

}  // namespace stagecraft::tiles
