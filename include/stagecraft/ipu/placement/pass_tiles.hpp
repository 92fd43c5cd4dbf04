// SPDX-License-Identifier: BSD-3-Clause
// The memory of every tile that a pass or the update of a weight uses beside device_tiles: tensors of the pass alone,
// and variables that are fetched from streaming memory.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/placement/device_tiles.hpp>
#include <stagecraft/plan/passes.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// The places of a pass's tensors by calls, edges, outputs and weights of the graph.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs, std::size_t Weights, std::size_t Steps>
struct pass_tiles {
  std::array<tile_place, Calls> value{}, saved{}, gradient{};
  std::array<tile_place, Edges> input_gradient{};
  std::array<tile_place, Outputs> loss_gradient{};
  std::array<tile_place, Weights + 1> weight{};
  std::array<tile_place, Calls> accumulators{};          ///< accumulators that lie on the IPU all the time
  std::array<tile_place, Calls> fetched_accumulators{};  ///< accumulators that the pass fetches and stores
  /// The end of the memory that is in use before the steps, in each step, and after them.
  std::array<std::int64_t, Steps + 2> end{};

  /// The begin of a step's temporary tensors; `Steps` stands for losses, which follow the steps.
  [[nodiscard]] constexpr std::int64_t end_of(int step) const noexcept { return end[step + 1]; }
};

template <class Job, int Pass>
class pass_tile_planner {
  using variables = variables_on_tiles<Job>;
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr auto const& flow = flow_of<Job>;
  static constexpr auto const& table = planning_timetable<Job>;
  static constexpr auto const& pass = pass_plan_of<typename Job::planned, Pass>;
  static constexpr auto const& device = device_tiles_of<Job, table.device_of_pass(Pass)>;
  static constexpr std::size_t calls = graph.calls.size(), edges = graph.inputs.size(), outputs = graph.ends.size(),
                               weights = graph.parameters.size(), steps = pass.steps.size();
  using result = pass_tiles<calls, edges, outputs, weights, steps>;

 public:
  constexpr result make() {
    // Begins with the tensors that lie there all the time; those of the pass alone are put over them.
    result_.value = device.value;
    result_.saved = device.saved;
    result_.gradient = device.gradient;
    result_.weight = device.weight;
    result_.accumulators = device.accumulators;
    for (auto const& scratch : pass.scratch) request(place_of(scratch), scratch.first, scratch.last, bytes_of(scratch));
    request_variables();
    auto const base = device.bytes();
    place(requests_, 8);
    result_.end.fill(base);
    for (std::size_t k = 0; k < requests_.size(); ++k) {
      auto const& own = requests_[k];
      *owners_[k] = {base + own.offset, 1, own.size};
      for (int step = own.first; step <= own.last; ++step)
        if (auto& end = result_.end[step + 1]; end < base + own.offset + own.size) end = base + own.offset + own.size;
    }
    place_gradients();
    return result_;
  }

 private:
  static constexpr int root(int call) { return model_plan.calls[call].root; }

  constexpr void request(tile_place* owner, int first, int last, std::int64_t bytes) {
    requests_.push_back({first, last, bytes});
    owners_.push_back(owner);
  }
  constexpr tile_place* place_of(pass_scratch const& scratch) {
    switch (scratch.kind) {
      case scratch_kind::value: return &result_.value[scratch.index];
      case scratch_kind::saved: return &result_.saved[scratch.index];
      case scratch_kind::gradient: return &result_.gradient[scratch.index];
      case scratch_kind::input_gradient: return &result_.input_gradient[scratch.index];
      case scratch_kind::loss_gradient: return &loss_gradient_[scratch.index];
      default: return &nowhere_;
    }
  }
  static constexpr std::int64_t bytes_of(pass_scratch const& scratch) {
    auto const index = scratch.index;
    switch (scratch.kind) {
      case scratch_kind::saved: return all_saved_on_tiles<Job>[index].bytes;
      case scratch_kind::input_gradient: return value_bytes<Job>(root(graph.inputs[index]));
      case scratch_kind::loss_scratch: return 0;  // a loss's step has a temporary tensor for it
      default: return value_bytes<Job>(index);
    }
  }

  // Variables of streaming memory are on the IPU as long as the pass lasts.
  constexpr void request_variables() {
    if (!variables::options.offloads_weights() &&
        (!variables::trains || variables::options.offload_gradient_accumulation_buffers != offload::remote))
      return;
    std::array<bool, weights + 1> fetched{};
    int const end = static_cast<int>(steps);
    for (auto const& step : pass.steps) {
      auto const& layer = graph.layer_of(step.call);
      for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i) {
        if (!variables::remote_weight(graph.parameters[i]) || fetched[i]) continue;
        fetched[i] = true;
        request(&result_.weight[i], -1, end, variables::weight_bytes(i));
      }
      if (!step.backward) continue;
      if (auto const bytes = variables::accumulator_bytes(layer, true); bytes > 0)
        request(&result_.fetched_accumulators[step.call], -1, end, bytes);
    }
  }

  constexpr void place_gradients() {
    if constexpr (table.is_backward(Pass)) {
      for (std::size_t edge = 0; edge < edges; ++edge) {
        auto& to = result_.input_gradient[edge];
        if (to.exists() || flow.role[edge] == gradient_role::none) continue;
        to = flow.role[edge] == gradient_role::part ? device.part[edge] : result_.gradient[root(graph.inputs[edge])];
      }
    } else if constexpr (Job::trains && Pass + 1 == table.stages()) {
      for (std::size_t k = 0; k < outputs; ++k) {
        if (flow.loss_role[k] == gradient_role::none) continue;
        auto const i = root(graph.ends[k]);
        result_.loss_gradient[k] = loss_gradient_[i].exists() ? loss_gradient_[i] : device.gradient[i];
      }
    }
  }

  result result_;
  std::array<tile_place, calls> loss_gradient_{};
  tile_place nowhere_;
  growing_array<buffer_request> requests_;
  growing_array<tile_place*> owners_;
};

template <class Job, int Pass>
inline constexpr auto pass_tiles_of = detail::pass_tile_planner<Job, Pass>().make();

/// The places of a weight, its gradients and the optimizer's arrays while the weight is updated. Tensors of streaming
/// memory follow all others during the update of their weight.
template <std::size_t CallsOfLayer>
struct update_tiles {
  int device = 0;
  tile_place weight;
  tile_place state;  ///< a ring of the optimizer's arrays
  /// The sums of gradients of each call of the layer, in the order of the calls.
  std::array<std::int64_t, CallsOfLayer> accumulators{};
  int accumulator_count = 0;
  tile_place norms;  ///< a ring of the weight's parts of norms over all weights
  /// The end of the memory that is in use.
  std::int64_t end = 0;
};

template <class M, std::size_t Weight>
inline constexpr layer_info const& layer_info_of_weight =
    graph_of<M>.layers[graph_of<M>.layer_of_parameter(static_cast<int>(Weight))];

template <class Job, std::size_t Weight>
constexpr auto place_update() {
  using variables = variables_on_tiles<typename Job::in_training>;
  constexpr auto const& graph = Job::graph;
  constexpr auto const& layer = layer_info_of_weight<typename Job::model, Weight>;
  constexpr auto const& weight = graph.parameters[Weight];
  constexpr int device =
      planning_timetable<typename Job::in_training>.device_of_stage(flow_of<Job>.stage[layer.first_call]);
  constexpr auto const& own = device_tiles_of<typename Job::in_training, device>;
  update_tiles<layer.call_count> result;
  result.device = device;
  result.end = own.bytes();
  auto const fetch = [&](int depth, std::int64_t bytes) {
    tile_place const place{result.end, depth, bytes};
    result.end += depth * bytes;
    return place;
  };
  result.weight = variables::remote_weight(weight) ? fetch(1, variables::weight_bytes(Weight)) : own.weight[Weight];
  result.state = variables::remote_state(weight) && slots_of<Job::training.optimizer> > 0
                     ? fetch(slots_of<Job::training.optimizer>, variables::state_bytes(Weight))
                     : own.state[Weight];
  auto const offset = variables::accumulator_offset(layer, static_cast<int>(Weight) - layer.first_parameter);
  int calls = 0;
  for (auto i = static_cast<std::size_t>(layer.first_call); calls < layer.call_count; ++i) {
    if (!graph.layers[graph.calls[i].layer].has_parameter(static_cast<int>(Weight))) continue;
    ++calls;
    if (!variables::model_plan.calls[i].needs_gradient) continue;
    result.accumulators[result.accumulator_count++] = variables::remote_accumulator(weight)
                                                          ? fetch(1, variables::accumulator_bytes(Weight)).offset
                                                          : own.accumulators[i].offset + offset;
  }
  if (constexpr auto const& norms = norms_of<Job::training.optimizer>; norms.has_global())
    result.norms = fetch(norms.count, rounded_bytes(size_of(dtype::float32)));
  return result;
}

template <class Job, std::size_t Weight>
inline constexpr auto update_tiles_of = detail::place_update<Job, Weight>();

}  // namespace stagecraft::tiles
