// SPDX-License-Identifier: BSD-3-Clause
// The plan that every execution policy carries out: which calls need a gradient, who writes it first, which tensors are
// alive when, and where each lies in one block of memory. Made by the compiler, one constant per model, batch and mode.
// Level 4.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/program/arena.hpp>
#include <stagecraft/program/call_needs.hpp>
#include <utility>
#include <vector>

namespace stagecraft {

/// The plan of one call. Offsets are floats into the program's block; -1 where there is nothing.
struct planned_call {
  call_needs needs;
  int root = 0;                       ///< the call whose memory holds the output: itself, unless it is a view
  bool needs_gradient = false;        ///< its backward step runs
  bool writes_parameter_gradient = false;  ///< first in backward order of its layer's calls: writes, the others add
  long long value = -1;
  long long gradient = -1;
  long long saved = -1;
};

/// A model's plan for one batch size. Forward steps run in the order of the calls, then the losses, then the backward
/// steps in the opposite order.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct program {
  int batch = 0;
  std::array<planned_call, Calls> calls{};
  /// For each input of each call: whether its backward step adds to a gradient that an earlier step has written.
  std::array<bool, Edges> adds_gradient{};
  /// The same for the loss of each output.
  std::array<bool, Outputs> loss_adds_gradient{};
  /// Room for a loss's gradient that must be added; -1 where it is not needed.
  long long loss_gradient = -1;
  long long floats = 0;  ///< size of the block
};

namespace detail {

/// Makes the plan of a graph whose calls' needs are known.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
class planner {
 public:
  constexpr planner(graph_view const& graph, std::span<call_needs const> needs, int batch, execution_mode mode)
      : graph_(graph), trains_(mode == execution_mode::training), count_(static_cast<int>(Calls)) {
    result_.batch = batch;
    for (std::size_t i = 0; i < Calls; ++i) result_.calls[i].needs = needs[i];
  }

  constexpr program<Calls, Edges, Outputs> make() {
    find_roots_and_gradients();
    if (trains_) find_first_writers();
    place_buffers();
    return result_;
  }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }
  constexpr planned_call& call(int index) { return result_.calls[at(index)]; }
  [[nodiscard]] constexpr int backward_step(int index) const { return 2 * count_ - index; }

  constexpr void find_roots_and_gradients() {
    for (int i = 0; i < count_; ++i) {
      auto& own = call(i);
      auto const inputs = graph_.inputs_of(i);
      own.root = own.needs.view && !inputs.empty() ? call(inputs[0]).root : i;
      if (!trains_) continue;
      for (auto const& weight : graph_.parameters_of(graph_.call(i).layer))
        own.needs_gradient = own.needs_gradient || weight.trainable;
      for (int const input : inputs) own.needs_gradient = own.needs_gradient || call(input).needs_gradient;
    }
  }

  constexpr void find_first_writers() {
    std::vector<char> written(Calls, 0), layer_written(graph_.layers.size(), 0);
    auto const outputs = graph_.outputs_of(0);
    for (std::size_t k = 0; k < Outputs; ++k) {
      auto& root = written[at(call(outputs[k]).root)];
      result_.loss_adds_gradient[k] = root != 0;
      root = 1;
    }
    for (int i = count_ - 1; i >= 0; --i) {
      if (!call(i).needs_gradient) continue;
      auto& layer = layer_written[at(graph_.call(i).layer)];
      call(i).writes_parameter_gradient = layer == 0;
      layer = 1;
      if (call(i).needs.view) continue;
      auto const& node = graph_.call(i);
      for (int k = 0; k < node.input_count; ++k) {
        auto& root = written[at(call(graph_.inputs[at(node.first_input + k)]).root)];
        result_.adds_gradient[at(node.first_input + k)] = root != 0;
        root = 1;
      }
    }
  }

  [[nodiscard]] constexpr long long floats_of(int index) const {
    return static_cast<long long>(result_.batch) * graph_.call(index).shape.size();
  }

  constexpr void place_buffers() {
    std::vector<buffer_request> buffers;
    std::vector<int> value(Calls, -1), gradient(Calls, -1), saved(Calls, -1);
    auto const request = [&](int& slot, int first, int last, long long size) {
      slot = static_cast<int>(buffers.size());
      buffers.push_back({first, last, size});
    };
    auto const extend = [&](int slot, int step) {
      if (buffers[at(slot)].last < step) buffers[at(slot)].last = step;
      if (buffers[at(slot)].first > step) buffers[at(slot)].first = step;
    };
    for (int i = 0; i < count_; ++i) {
      auto const& own = call(i);
      if (own.root == i) {
        int const filled = graph_.call(i).is_input ? -1 : i;
        request(value[at(i)], filled, i, floats_of(i));
        if (own.needs_gradient) request(gradient[at(i)], backward_step(i), backward_step(i), floats_of(i));
      }
      // A layer keeps its values while training, even if no backward step will read them.
      if (trains_ && own.needs.saved > 0)
        request(saved[at(i)], i, own.needs_gradient ? backward_step(i) : i, own.needs.saved);
      if (own.needs_gradient && own.needs.output && !own.needs.view) extend(value[at(own.root)], backward_step(i));
      for (int const input : graph_.inputs_of(i)) {
        int const root = call(input).root;
        extend(value[at(root)], i);
        if (!own.needs_gradient || own.needs.view) continue;
        if (own.needs.input) extend(value[at(root)], backward_step(i));
        if (gradient[at(root)] >= 0) extend(gradient[at(root)], backward_step(i));
      }
    }
    int const loss_step = count_;
    int largest_added_loss = -1;
    auto const outputs = graph_.outputs_of(0);
    for (std::size_t k = 0; k < Outputs; ++k) {
      int const root = call(outputs[k]).root;
      extend(value[at(root)], loss_step);
      if (gradient[at(root)] >= 0) extend(gradient[at(root)], loss_step);
      if (result_.loss_adds_gradient[k] && (largest_added_loss < 0 || floats_of(root) > floats_of(largest_added_loss)))
        largest_added_loss = root;
    }
    int loss_gradient = -1;
    if (largest_added_loss >= 0) request(loss_gradient, loss_step, loss_step, floats_of(largest_added_loss));

    result_.floats = place(buffers);
    auto const offset = [&](int slot) { return slot < 0 ? -1 : buffers[at(slot)].offset; };
    for (int i = 0; i < count_; ++i) {
      auto& own = call(i);
      own.value = offset(value[at(own.root)]);
      own.gradient = offset(gradient[at(own.root)]);
      own.saved = offset(saved[at(i)]);
    }
    result_.loss_gradient = offset(loss_gradient);
  }

  graph_view const& graph_;
  bool trains_;
  int count_;
  program<Calls, Edges, Outputs> result_;
};

template <class M, int Call>
constexpr call_needs needs_of_call(int batch, execution_mode mode) {
  constexpr auto const& graph = graph_of<M>;
  diagnostic problem;
  shape shapes[64]{};
  auto const inputs = graph.inputs_of(Call);
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes[i] = graph.call(inputs[i]).shape;
  layer_inputs const in(shapes, static_cast<int>(inputs.size()), {}, problem);
  return needs_of(layer_of<M, Call>, in, batch, mode);
}

template <class M, int Batch, execution_mode Mode, std::size_t... Call>
constexpr auto plan_program(std::index_sequence<Call...>) {
  call_needs const needs[]{needs_of_call<M, static_cast<int>(Call)>(Batch, Mode)...};
  constexpr auto const& graph = graph_of<M>;
  return planner<graph.calls.size(), graph.inputs.size(), graph.outputs_of(0).size()>(graph, needs, Batch, Mode).make();
}

}  // namespace detail

/// The plan of a model.
template <Model M, int Batch, execution_mode Mode>
inline constexpr auto program_of =
    detail::plan_program<M, Batch, Mode>(std::make_index_sequence<graph_of<M>.calls.size()>{});

}  // namespace stagecraft
