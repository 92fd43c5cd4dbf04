// SPDX-License-Identifier: BSD-3-Clause
// The plan that every execution policy carries out: which calls need a gradient, who writes it first, which tensors are
// alive when, and where each lies in one block of memory. Made by the compiler, one constant per model, batch and mode.
#pragma once

#include <stagecraft/description/types_of_calls.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/layers/core/embedding.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/plan/arena.hpp>
#include <stagecraft/plan/call_needs.hpp>
#include <stagecraft/plan/left_out_calls.hpp>
#include <stagecraft/plan/logits.hpp>
#include <stagecraft/plan/planned_call.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace stagecraft::plan {

/// A model's plan for one batch size. Forward steps run in the order of the calls, then the losses, then the backward
/// steps in the opposite order.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct program {
  int batch = 0;
  std::array<planned_call, Calls> calls{};
  /// For each input of each call: whether its backward step adds to a gradient that an earlier step has written.
  std::array<bool, Edges> adds_gradient{};
  /// Where the backward step writes the gradient of that input instead, to be added afterwards: its sum must not depend
  /// on how the step adds up. -1 where it writes or adds to the gradient itself.
  std::array<long long, Edges> own_gradient{};
  /// The same for the loss of each output.
  std::array<bool, Outputs> loss_adds_gradient{};
  /// Room for a loss's gradient that must be added; -1 where it is not needed.
  long long loss_gradient = -1;
  long long floats = 0;  ///< size of the block
};

}  // namespace stagecraft::plan

namespace stagecraft::detail {

/// A plan whose buffers have no place yet, but lifetimes. Slots are indices of `buffers`, or -1.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct program_draft {
  program<Calls, Edges, Outputs> result;
  std::array<buffer_request, 3 * Calls + Edges + 1> buffers{};
  int buffer_count = 0;
  std::array<int, Calls> value{}, gradient{}, saved{};
  std::array<int, Edges> own_gradient{};
  int loss_gradient = -1;
};

/// Makes the plan of a graph whose calls' needs are known, up to the places of buffers.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
class planner {
 public:
  constexpr planner(graph_view const& graph, std::span<call_needs const> needs, int batch, execution_mode mode,
                    std::uint64_t logits, stored_types stored, bool leaves_out_penalties)
      : graph_(graph), trains_(mode == execution_mode::training), stored_(stored), count_(static_cast<int>(Calls)) {
    result_.batch = batch;
    if (leaves_out_penalties) {
      auto const left_out = find_left_out_calls(graph);
      for (int i = 0; i < count_; ++i) call(i).is_left_out = left_out[i] != 0;
    }
    for (std::size_t i = 0; i < Calls; ++i) {
      result_.calls[i].needs = needs[i];
      result_.calls[i].activation_in_loss = leaves_activation_to_loss(graph, static_cast<int>(i), logits);
      // Each term of a gradient is rounded by itself: its sum must not depend on where the terms come from.
      if (is_half(stored.narrow)) result_.calls[i].needs.adds_exactly = false;
    }
  }

  constexpr program_draft<Calls, Edges, Outputs> const& make() {
    result_.own_gradient.fill(-1);
    find_roots_and_gradients();
    find_exact_numbers();
    if (is_half(stored_.narrow)) find_stored_types();
    if (trains_) {
      find_first_writers();
      find_activations_in_consumers();
    }
    if (!is_half(stored_.narrow)) find_epilogues();  // what is in between would have to be rounded
    find_lifetimes();
    return draft_;
  }

 private:
  constexpr planned_call& call(int index) { return result_.calls[index]; }
  [[nodiscard]] constexpr int backward_step(int index) const { return 2 * count_ - index; }

  /// A call that no loss depends on, such as an output of a nested model that nobody uses, has no gradient.
  constexpr void find_roots_and_gradients() {
    growing_array<char> reaches_loss(Calls, 0);
    for (int const output : graph_.ends) reaches_loss[output] = 1;
    for (int i = count_; i-- > 0;)
      for (int const input : graph_.inputs_of(i))
        if (reaches_loss[i] != 0) reaches_loss[input] = 1;
    for (int i = 0; i < count_; ++i) {
      auto& own = call(i);
      auto const inputs = graph_.inputs_of(i);
      own.root = own.needs.view && !inputs.empty() ? call(inputs[0]).root : i;
      if (!trains_ || reaches_loss[i] == 0) continue;
      for (auto const& weight : graph_.parameters_of(graph_.call(i).layer))
        own.needs_gradient = own.needs_gradient || weight.trainable;
      for (int const input : inputs) own.needs_gradient = own.needs_gradient || call(input).needs_gradient;
    }
  }

  /// Whole numbers, and those that an embedding looks up.
  constexpr void find_exact_numbers() {
    for (int i = 0; i < count_; ++i) {
      if (graph_.call(i).type != dtype::float32) call(i).is_exact = true;
      if (same_type(graph_.layer_of(i).type, tag_of<layers::embedding>))
        for (int const input : graph_.inputs_of(i)) call(call(input).root).is_exact = true;
    }
    for (int i = 0; i < count_; ++i) call(i).is_exact = call(call(i).root).is_exact;
  }
  constexpr void find_stored_types() {
    for (int i = 0; i < count_; ++i)
      call(i).stored = call(i).is_exact ? dtype::float32 : computed_type(graph_, call(i).root, stored_.by_default);
  }

  constexpr void find_first_writers() {
    growing_array<char> written(Calls, 0), layer_written(graph_.layers.size(), 0);
    auto const outputs = graph_.ends;
    for (std::size_t k = 0; k < Outputs; ++k) {
      auto& root = written[call(outputs[k]).root];
      result_.loss_adds_gradient[k] = root != 0;
      root = 1;
    }
    for (int i = count_ - 1; i >= 0; --i) {
      if (!call(i).needs_gradient) continue;
      auto& layer = layer_written[graph_.call(i).layer];
      call(i).writes_parameter_gradient = layer == 0;
      layer = 1;
      if (call(i).needs.view) continue;
      auto const& node = graph_.call(i);
      for (int k = 0; k < node.input_count; ++k) {
        auto const edge = node.first_input + k;
        auto const input = graph_.inputs[edge];
        auto& root = written[call(input).root];
        bool const adds = root != 0 && call(input).needs_gradient;
        result_.adds_gradient[edge] = adds && call(i).needs.adds_exactly;
        result_.own_gradient[edge] = adds && !call(i).needs.adds_exactly ? 0 : -1;
        root = 1;
      }
    }
  }

  /// The call that alone reads an output, once and inside the model; -1 where there is none.
  [[nodiscard]] constexpr growing_array<int> only_readers() const {
    constexpr int several = -2;
    growing_array<int> readers(Calls, -1);
    for (int i = 0; i < count_; ++i)
      for (int const input : graph_.inputs_of(i))
        if (!result_.calls[i].is_left_out) readers[input] = readers[input] == -1 ? i : several;
    for (int const output : graph_.ends) readers[output] = several;
    for (int& reader : readers)
      if (reader == several) reader = -1;
    return readers;
  }

  constexpr void find_activations_in_consumers() {
    auto const readers = only_readers();
    for (int i = 0; i < count_; ++i) {
      if (call(i).needs.output_activation == linear || !call(i).needs_gradient || readers[i] < 0) continue;
      auto& consumer = call(readers[i]);
      if (!consumer.needs.applies_activation || call(i).stored != consumer.stored) continue;
      call(i).activation_in_consumer = true;
      call(i).needs.output = false;
      consumer.needs.output = consumer.needs.output || consumer.needs.applies_activation_to_output;
    }
  }

  /// A call becomes the epilogue of the one before it if that can do it, no backward step reads what is in between, and
  /// the other inputs are there by then.
  constexpr void find_epilogues() {
    auto const readers = only_readers();
    for (int i = 0; i < count_; ++i) {
      int const next = readers[i];
      if (next < 0 || call(i).root != i || call(next).needs.view || keeps_output_for_backward(i, next)) continue;
      int const first = call(i).epilogue_of >= 0 ? call(i).epilogue_of : i;
      auto const kind = call(next).needs.is_epilogue;
      if (kind == epilogue_kind::none || kind > call(first).needs.takes_epilogue || call(next).activation_in_loss)
        continue;
      bool are_there = true;
      for (int const input : graph_.inputs_of(next)) {
        int const source = call(input).root;
        if (input != i)
          are_there = are_there && (call(source).epilogue_of < 0 ? source : call(source).epilogue_of) < first;
      }
      if (!are_there) continue;
      call(i).epilogue = next;
      call(next).epilogue_of = first;
    }
  }
  /// Whether the backward step of a call, or that of the one which reads its output, reads it, too.
  [[nodiscard]] constexpr bool keeps_output_for_backward(int index, int reader) const {
    auto const &own = result_.calls[index], &next = result_.calls[reader];
    return (own.needs_gradient && own.needs.output) || own.activation_in_consumer || own.activation_in_loss ||
           (next.needs_gradient && next.needs.input);
  }

  [[nodiscard]] constexpr long long floats_of(int index) const {
    return stored_floats(static_cast<long long>(result_.batch) * graph_.call(index).shape.size(),
                         result_.calls[index].stored);
  }

  constexpr void find_lifetimes() {
    auto& buffers = draft_.buffers;
    auto &value = draft_.value, &gradient = draft_.gradient, &saved = draft_.saved;
    value.fill(-1);
    gradient.fill(-1);
    saved.fill(-1);
    draft_.own_gradient.fill(-1);
    auto const request = [&](int& slot, int first, int last, long long size) {
      slot = draft_.buffer_count++;
      buffers[slot] = {first, last, size};
    };
    auto const extend = [&](int slot, int step) {
      if (slot < 0) return;  // what is never stored
      if (buffers[slot].last < step) buffers[slot].last = step;
      if (buffers[slot].first > step) buffers[slot].first = step;
    };
    for (int i = 0; i < count_; ++i) {
      auto const& own = call(i);
      if (own.is_left_out) continue;
      if (own.root == i) {
        int const filled = graph_.call(i).is_input ? -1 : own.epilogue_of >= 0 ? own.epilogue_of : i;
        if (own.epilogue < 0) request(value[i], filled, i, floats_of(i));
        if (own.needs_gradient) request(gradient[i], backward_step(i), backward_step(i), floats_of(i));
      }
      // A layer keeps its values while training, even if no backward step will read them.
      if (own.needs.saved > 0) request(saved[i], i, own.needs_gradient ? backward_step(i) : i, own.needs.saved);
      if (own.needs_gradient && own.needs.output && !own.needs.view) extend(value[own.root], backward_step(i));
      for (int const input : graph_.inputs_of(i)) {
        int const root = call(input).root;
        extend(value[root], i);
        if (!own.needs_gradient || own.needs.view) continue;
        if (own.needs.input) extend(value[root], backward_step(i));
        if (gradient[root] >= 0) extend(gradient[root], backward_step(i));
      }
      auto const& node = graph_.call(i);
      for (int edge = node.first_input; edge < node.first_input + node.input_count; ++edge)
        if (result_.own_gradient[edge] >= 0)
          request(draft_.own_gradient[edge], backward_step(i), backward_step(i),
                  floats_of(call(graph_.inputs[edge]).root));
    }
    int const loss_step = count_;
    int largest_added_loss = -1;
    auto const outputs = graph_.ends;
    for (std::size_t k = 0; k < Outputs; ++k) {
      int const root = call(outputs[k]).root;
      if (call(outputs[k]).is_left_out) continue;
      extend(value[root], loss_step);
      if (gradient[root] >= 0) extend(gradient[root], loss_step);
      if (result_.loss_adds_gradient[k] && (largest_added_loss < 0 || floats_of(root) > floats_of(largest_added_loss)))
        largest_added_loss = root;
    }
    if (largest_added_loss >= 0) request(draft_.loss_gradient, loss_step, loss_step, floats_of(largest_added_loss));
  }

  graph_view const& graph_;
  bool trains_;
  stored_types stored_;
  int count_;
  program_draft<Calls, Edges, Outputs> draft_;
  program<Calls, Edges, Outputs>& result_ = draft_.result;
};

template <class M, int Call, bool LeavesActivation>
concept PlannedLayerIsArgument =
    requires { typename template_argument<anonymous(planned_layer<M, Call, LeavesActivation>)>; };

/// A call on inputs of these shapes, once for all that are alike.
template <auto Layer, int Batch, execution_mode Mode, shape... Inputs>
constexpr call_needs find_needs_of_layer() {
  shape const shapes[sizeof...(Inputs) + 1]{Inputs...};
  diagnostic problem;
  auto needs = needs_of(Layer, layer_inputs(shapes, sizeof...(Inputs), {}, problem), Batch, Mode);
  if constexpr (HasCall<std::remove_cvref_t<decltype(Layer)>> && !requires { Layer.has_kernel; } &&
                sizeof...(Inputs) > 0) {
    constexpr bool trains = Mode == execution_mode::training;
    using call = elementwise_call<Layer, Batch, trains, Inputs...>;
    if (call::facts.holds && !call::facts.repeats) {
      needs.is_epilogue = epilogue_kind::elements;
      if (call::facts.function == linear) needs.takes_epilogue = epilogue_kind::elements;
    }
  }
  return needs;
}
template <auto Layer, int Batch, execution_mode Mode, shape... Inputs>
inline constexpr call_needs needs_of_layer = find_needs_of_layer<Layer, Batch, Mode, Inputs...>();

template <class M, int Call, int Batch, execution_mode Mode, bool LeavesActivation, std::size_t... Input>
constexpr call_needs find_needs(std::index_sequence<Input...>) {
  constexpr auto const& graph = graph_of<M>;
  constexpr auto const& layer = planned_layer<M, Call, LeavesActivation>;
  // A layer that is nothing but its activation hands the logits on.
  if constexpr (LeavesActivation && is_activation_alone<layer_t<M, Call>>) {
    return {.input = false, .output = false, .adds_exactly = true};
  } else if constexpr (PlannedLayerIsArgument<M, Call, LeavesActivation>) {
    return needs_of_layer<anonymous(layer), Batch, Mode, graph.call(graph.inputs_of(Call)[Input]).shape...>;
  } else {
    shape const shapes[sizeof...(Input) + 1]{graph.call(graph.inputs_of(Call)[Input]).shape...};
    diagnostic problem;
    return needs_of(layer, layer_inputs(shapes, sizeof...(Input), {}, problem), Batch, Mode);
  }
}

// One constant for each call and for each part of the plan: compilers limit the steps of each.
template <class M, int Call, int Batch, execution_mode Mode, bool LeavesActivation>
inline constexpr call_needs needs_of_call =
    find_needs<M, Call, Batch, Mode, LeavesActivation>(std::make_index_sequence<graph_of<M>.call(Call).input_count>{});

template <class M, int Batch, execution_mode Mode, std::uint64_t Logits, stored_types Stored, bool LeavesPenalties,
          std::size_t... Call>
constexpr auto draft_program(std::index_sequence<Call...>) {
  constexpr auto const& graph = graph_of<M>;
  call_needs const needs[]{needs_of_call<M, static_cast<int>(Call), Batch, Mode,
                                         leaves_activation_to_loss(graph, static_cast<int>(Call), Logits)>...};
  return planner<graph.calls.size(), graph.inputs.size(), graph.ends.size()>(graph, needs, Batch, Mode, Logits, Stored,
                                                                             LeavesPenalties)
      .make();
}

template <class M, int Batch, execution_mode Mode, std::uint64_t Logits, stored_types Stored, bool LeavesPenalties>
inline constexpr auto draft_of = draft_program<M, Batch, Mode, Logits, Stored, LeavesPenalties>(
    std::make_index_sequence<graph_of<M>.calls.size()>{});

template <std::size_t Count>
struct placed_buffers {
  std::array<buffer_request, Count> buffers{};
  long long floats = 0;

  constexpr explicit placed_buffers(buffer_request const* requests) {
    for (std::size_t i = 0; i < Count; ++i) buffers[i] = requests[i];
    floats = place(buffers);
  }
};

template <class M, int Batch, execution_mode Mode, std::uint64_t Logits, stored_types Stored, bool LeavesPenalties>
inline constexpr placed_buffers<draft_of<M, Batch, Mode, Logits, Stored, LeavesPenalties>.buffer_count> placed_of{
    draft_of<M, Batch, Mode, Logits, Stored, LeavesPenalties>.buffers.data()};

template <class M, int Batch, execution_mode Mode, std::uint64_t Logits, stored_types Stored, bool LeavesPenalties>
constexpr auto plan_program() {
  constexpr auto const& draft = draft_of<M, Batch, Mode, Logits, Stored, LeavesPenalties>;
  constexpr auto const& placed = placed_of<M, Batch, Mode, Logits, Stored, LeavesPenalties>;
  auto result = draft.result;
  auto const offset = [&](int slot) { return slot < 0 ? -1 : placed.buffers[slot].offset; };
  result.floats = placed.floats;
  for (std::size_t i = 0; i < result.calls.size(); ++i) {
    auto& own = result.calls[i];
    auto const root = static_cast<std::size_t>(own.root);
    own.value = offset(draft.value[root]);
    own.gradient = offset(draft.gradient[root]);
    own.saved = offset(draft.saved[i]);
  }
  for (std::size_t edge = 0; edge < result.own_gradient.size(); ++edge)
    result.own_gradient[edge] = offset(draft.own_gradient[edge]);
  result.loss_gradient = offset(draft.loss_gradient);
  return result;
}

}  // namespace stagecraft::detail

namespace stagecraft::plan {

/// The plan of a model. `Logits` has a bit for each output whose loss takes logits; `Stored` is the type of values;
/// `LeavesPenalties`: what only penalties need has no step.
template <Model M, int Batch, execution_mode Mode, std::uint64_t Logits = 0, stored_types Stored = {},
          bool LeavesPenalties = false>
inline constexpr auto program_of = detail::plan_program<M, Batch, Mode, Logits, Stored, LeavesPenalties>();

/// The program of a job.
template <class Job>
inline constexpr auto const& program_for = program_of<typename Job::model, Job::training.batch_size, Job::mode,
                                                      detail::outputs_with_logits<typename Job::described>,
                                                      detail::stored_types_of<Job>, detail::leaves_out_penalties<Job>>;

}  // namespace stagecraft::plan
