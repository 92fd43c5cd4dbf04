// SPDX-License-Identifier: BSD-3-Clause
// The plan of a model, which every execution policy carries out: which calls need a gradient, which step writes it
// first, and what each step does. Plans of passes say where tensors lie. The compiler makes one constant for each
// model, batch size and mode.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/types_of_calls.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/plan/call_needs.hpp>
#include <stagecraft/plan/logits.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::plan {

/// The floats that `numbers` numbers of a type take.
[[nodiscard]] constexpr long long stored_floats(long long numbers, dtype type) noexcept {
  return is_half(type) ? (numbers + 1) / 2 : numbers;
}

/// The plan of one call.
struct planned_call {
  call_needs needs;
  int root = 0;                            ///< the call whose memory holds the output: itself, unless it is a view
  bool needs_gradient = false;             ///< true if its backward step runs
  bool writes_parameter_gradient = false;  ///< first in backward order of its layer's calls: writes, the others add
  /// The gradient of its activation is applied by the only call that reads its output, which writes the gradient and
  /// has it in registers.
  bool activation_in_consumer = false;
  /// Its steps leave out the activation: the loss takes the logits, and afterwards they become the model's output.
  bool activation_in_loss = false;
  /// The call whose forward step the host does as this one's epilogue: it is the only one that reads the output, which
  /// is never stored. -1: none.
  int epilogue = -1;
  /// The type in which its output and the gradient of it are stored.
  dtype stored = dtype::float32;
  /// True if the numbers of its output count something, such as words: they are not rounded, whatever others compute
  /// in.
  bool is_exact = false;
  /// True if it is the model's only input, and only products read it, in inference: their kernel on the host reads
  /// samples where the caller has them, if these are floats in their order, and no further.
  bool stays_in_place = false;
  /// True if nothing but a penalty needs it, in a plan of predictions, which have no loss: it is not carried out.
  bool is_left_out = false;
  /// The call whose forward step does this one's, directly or after other epilogues. -1: it has a step of its own.
  int epilogue_of = -1;
  /// True if convolutions alone read its output, which is its input with zeros around: where one pass has all calls,
  /// they read the input in its place, and this call has no step and no memory.
  bool is_border = false;

  friend constexpr bool operator==(planned_call const&, planned_call const&) = default;
};

/// True if a job's plan is one of predictions, whose model has penalties.
template <class Job>
inline constexpr bool leaves_out_penalties = only_infers<Job::training> &&
                                             Job::graph.ends.size() > Job::graph.outputs_of(0).size();

/// One number for each call: 1 if no output depends on it. Inputs, which the host brings, have 0.
constexpr growing_array<char> find_left_out_calls(graph_view const& graph) {
  growing_array<char> left_out(graph.calls.size(), 1);
  for (int const output : graph.outputs_of(0)) left_out[output] = 0;
  for (int i = static_cast<int>(graph.calls.size()); i-- > 0;) {
    if (graph.call(i).is_input) left_out[i] = 0;
    for (int const input : graph.inputs_of(i))
      if (left_out[i] == 0) left_out[input] = 0;
  }
  return left_out;
}

/// A model's plan for one batch size. Forward steps run in the order of the calls, then the losses, then the backward
/// steps in the opposite order.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct model_plan {
  int batch = 0;
  std::array<planned_call, Calls> calls{};
  /// For each input of each call: true if its backward step adds to a gradient that an earlier step has written.
  std::array<bool, Edges> adds_gradient{};
  /// True if it writes a gradient of its own instead, which is added afterwards: the sum must not depend on the order
  /// in which the step adds.
  std::array<bool, Edges> writes_own_gradient{};
  /// True if the loss of each output adds to a gradient.
  std::array<bool, Outputs> loss_adds_gradient{};

  /// The call that has the output of a call in memory, where one pass has all calls.
  [[nodiscard]] constexpr int root_without_borders(int call, graph_view const& graph) const {
    int root = calls[call].root;
    while (calls[root].is_border) root = calls[graph.inputs_of(root)[0]].root;
    return root;
  }

  friend constexpr bool operator==(model_plan const&, model_plan const&) = default;
};

/// Makes the plan of a graph whose calls' needs are known.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
class planner {
 public:
  constexpr planner(graph_view const& graph, tracing::array_view<call_needs const> needs, int batch,
                    execution_mode mode, std::uint64_t logits, stored_types stored, bool leaves_out_penalties)
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

  constexpr model_plan<Calls, Edges, Outputs> const& make() {
    find_roots_and_gradients();
    find_exact_numbers();
    if (is_half(stored_.narrow)) find_stored_types();
    if (trains_) {
      find_first_writers();
      find_activations_in_consumers();
    }
    if (!is_half(stored_.narrow)) find_epilogues();  // what is in between would have to be rounded
    if (!is_half(stored_.narrow) && !trains_) find_borders();
    if (!is_half(stored_.narrow) && !trains_) find_samples_in_place();
    return result_;
  }

 private:
  constexpr planned_call& call(int index) { return result_.calls[index]; }

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

  /// Finds the values that are never rounded: whole numbers, and those that a call looks up in a table.
  constexpr void find_exact_numbers() {
    for (int i = 0; i < count_; ++i) {
      if (graph_.call(i).type != dtype::float32) call(i).is_exact = true;
      auto const inputs = graph_.inputs_of(i);
      for (std::size_t k = 0; k < inputs.size() && k < 32; ++k)
        if ((call(i).needs.looked_up_inputs >> k & 1U) != 0) call(call(inputs[k]).root).is_exact = true;
    }
    for (int i = 0; i < count_; ++i) call(i).is_exact = call(call(i).root).is_exact;
  }
  constexpr void find_stored_types() {
    for (int i = 0; i < count_; ++i)
      call(i).stored = call(i).is_exact ? dtype::float32 : computed_type(graph_, call(i).root, stored_.by_default);
  }

  /// The kernels of convolutions leave zeros around an image out, which is less work than to copy it between them.
  constexpr void find_borders() {
    for (int i = 0; i < count_; ++i)
      call(i).is_border = call(i).needs.is_border && !call(i).is_exact && !call(i).is_left_out;
    for (int const output : graph_.ends) call(call(output).root).is_border = false;
    for (int i = count_; i-- > 0;)
      for (int const input : graph_.inputs_of(i))
        if (auto& read = call(call(input).root);
            &read != &call(input) || !(call(i).is_border || call(i).needs.takes_border))
          read.is_border = false;
  }

  constexpr void find_samples_in_place() {
    int input = -1;
    for (int i = 0; i < count_; ++i) {
      if (!graph_.call(i).is_input) continue;
      if (input >= 0) return;
      input = i;
    }
    if (input < 0) return;
    for (int const output : graph_.ends)  // who masks an output's steps reads them in the block
      if (call(output).root == input || graph_.mask_of(output) != nullptr) return;
    for (int i = 0; i < count_; ++i)
      for (int const source : graph_.inputs_of(i))
        if (call(source).root == input && !call(i).needs.view && graph_.layer_of(i).kernel != layer_kernel::product)
          return;
    call(input).stays_in_place = true;
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
        result_.writes_own_gradient[edge] = adds && !call(i).needs.adds_exactly;
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
  /// True if the backward step of a call, or that of its reader, reads the call's output.
  [[nodiscard]] constexpr bool keeps_output_for_backward(int index, int reader) const {
    auto const &own = result_.calls[index], &next = result_.calls[reader];
    return (own.needs_gradient && own.needs.output) || own.activation_in_consumer || own.activation_in_loss ||
           (next.needs_gradient && next.needs.input);
  }

  graph_view const& graph_;
  bool trains_;
  stored_types stored_;
  int count_;
  model_plan<Calls, Edges, Outputs> result_;
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
  if constexpr (HasCall<std::remove_cvref_t<decltype(Layer)>> &&
                kernel_of<std::remove_cvref_t<decltype(Layer)>> == layer_kernel::none && sizeof...(Inputs) > 0) {
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
  if constexpr (graph.call(Call).is_input) return {.input = false, .output = false};
  // A layer that is nothing but its activation hands the logits on.
  else if constexpr (LeavesActivation && is_activation_alone<layer_t<M, Call>>) {
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
constexpr auto make_model_plan(std::index_sequence<Call...>) {
  constexpr auto const& graph = graph_of<M>;
  call_needs const needs[]{needs_of_call<M, static_cast<int>(Call), Batch, Mode,
                                         leaves_activation_to_loss(graph, static_cast<int>(Call), Logits)>...};
  return planner<graph.calls.size(), graph.inputs.size(), graph.ends.size()>(graph, needs, Batch, Mode, Logits, Stored,
                                                                             LeavesPenalties)
      .make();
}

/// The plan of a model. `Logits` has a bit for each output whose loss takes logits; `Stored` is the type of values;
/// `LeavesPenalties`: what only penalties need has no step.
template <Model M, int Batch, execution_mode Mode, std::uint64_t Logits = 0, stored_types Stored = {},
          bool LeavesPenalties = false>
inline constexpr auto model_plan_of = make_model_plan<M, Batch, Mode, Logits, Stored, LeavesPenalties>(
    std::make_index_sequence<graph_of<M>.calls.size()>{});

/// The plan of a job's model.
template <class Job>
inline constexpr auto const& model_plan_for =
    model_plan_of<typename Job::model, Job::training.batch_size, Job::mode,
                  outputs_with_logits<typename Job::described>, stored_types_of<Job>, leaves_out_penalties<Job>>;

/// Number of calls with a gradient of a weight: those of its layer, if any loss depends on them.
template <class ModelPlan>
constexpr int gradients_of_weight(graph_view const& graph, ModelPlan const& model_plan, int weight) {
  int count = 0;
  for (std::size_t call = 0; call < graph.calls.size(); ++call)
    count +=
        model_plan.calls[call].needs_gradient && graph.layers[graph.calls[call].layer].has_parameter(weight) ? 1 : 0;
  return count;
}
/// Floats of a call's value, or of its gradient.
template <class Job>
constexpr long long stored_floats_of(int call) {
  constexpr auto const& model_plan = model_plan_for<Job>;
  return stored_floats(static_cast<long long>(model_plan.batch) * Job::graph.call(call).shape.size(),
                       model_plan.calls[call].stored);
}

}  // namespace stagecraft::plan
