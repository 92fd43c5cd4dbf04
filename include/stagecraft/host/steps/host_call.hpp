// SPDX-License-Identifier: BSD-3-Clause
// One call of a layer, as its forward and backward steps on the host see it: shapes as constants, tensors as pointers.
#pragma once

#include <stagecraft/description/update_of_weight.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/kernels/random/random.hpp>
#include <stagecraft/plan/logits.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stagecraft::cpu {

/// True if a call that computes in 16 bits reads an input that has more of them: then its steps find a rounded copy.
/// Numbers that count something stay as they are.
template <class Plan, int Call>
constexpr bool casts_input(int input) {
  if constexpr (!has_own_types<typename Plan::job>) {
    return false;
  } else if constexpr (!is_half(computed_type_of<typename Plan::job, Call>) ||
                       Plan::model_plan.calls[Call].needs.view) {
    return false;
  } else {
    return !Plan::model_plan.calls[input].is_exact && !is_half(value_types_of<typename Plan::job>[input]);
  }
}

/// The steps of one call; offsets are floats from the beginning of the room. `Call` counts as in graph_of<M>.calls.
template <class Plan, int Call>
struct widened_step {
  static constexpr auto const& node = Plan::graph.call(Call);

  /// Floats of a batch, in whole cache lines.
  [[nodiscard]] static constexpr long long floats_of(int call) {
    return (static_cast<long long>(Plan::model_plan.batch) * Plan::graph.call(call).shape.size() + 15) / 16 * 16;
  }
  [[nodiscard]] static constexpr int input_call(int index) { return Plan::graph.inputs[node.first_input + index]; }
  [[nodiscard]] static constexpr long long input(int index) {
    long long offset = 0;
    for (int i = 0; i < index; ++i) offset += floats_of(input_call(i));
    return offset;
  }
  static constexpr long long output = input(node.input_count);
  static constexpr long long output_gradient = output + floats_of(Call);
  [[nodiscard]] static constexpr long long input_gradient(int index) {
    return output_gradient + floats_of(Call) + input(index);
  }
  /// Floats that the forward and, while training, the backward step need.
  static constexpr long long floats = Plan::trains ? input_gradient(node.input_count) : output_gradient;
};

/// The zeros above, left, below and right of an image for the calls that read `Source`, which are put there by that
/// call and those before it.
template <class Plan, int Source>
constexpr std::array<int, 4> zeros_around() {
  if constexpr (Plan::is_border(Source)) {
    auto around = planned_layer<typename Plan::model, Source, false>.zeros_around();
    auto const more = zeros_around<Plan, Plan::graph.inputs_of(Source)[0]>();
    for (std::size_t side = 0; side < 4; ++side) around[side] += more[side];
    return around;
  } else {
    return {};
  }
}

/// Tensors are (batch, shape...) row by row. `Call` counts as in graph_of<M>.calls.
template <class Plan, int Call>
struct host_call {
  using model = typename Plan::model;
  using plan = Plan;
  using architecture = typename Plan::architecture;

  static constexpr auto const& planned = Plan::model_plan.calls[Call];
  /// The layer; its activation is left out if the loss applies it.
  static constexpr auto const& layer = planned_layer<model, Call, planned.activation_in_loss>;
  static constexpr int call = Call;
  static constexpr int batch = Plan::model_plan.batch;
  static constexpr int input_count = Plan::graph.call(Call).input_count;
  static constexpr bool trains = Plan::trains && planned.needs_gradient;

  /// The call whose output an input is; if zeros are put around it for this call and its like alone, what they
  /// surround.
  [[nodiscard]] static constexpr int input_call(int index) {
    int source = Plan::graph.inputs[Plan::graph.call(Call).first_input + index];
    while (Plan::is_border(source)) source = Plan::graph.inputs_of(source)[0];
    return source;
  }
  [[nodiscard]] static constexpr shape const& input_shape(int index) {
    return Plan::graph.call(input_call(index)).shape;
  }
  /// The zeros above, left, below and right of an input.
  template <int Index>
  static constexpr auto zeros_around_input = zeros_around<Plan, Plan::graph.inputs_of(Call)[Index]>();
  [[nodiscard]] static constexpr shape const& output_shape() { return Plan::graph.call(Call).shape; }
  /// Elements of one sample of the output.
  static constexpr int size = Plan::graph.call(Call).shape.size();

  /// True if the gradient of an input is wanted at all.
  [[nodiscard]] static constexpr bool wants_input_gradient(int index) {
    return Plan::model_plan.calls[input_call(index)].needs_gradient;
  }
  /// True if it is to be added to what is there; else what is there is not defined.
  [[nodiscard]] static constexpr bool adds_input_gradient(int index) {
    return Plan::adds_input_gradient(Plan::graph.call(Call).first_input + index);
  }
  /// The activation that made an input, if the backward step of this call multiplies the gradient of the input by its
  /// derivative; else `linear`. Such an input's gradient is written, not added to.
  [[nodiscard]] static constexpr activation applied_activation(int index) {
    auto const& source = Plan::model_plan.calls[input_call(index)];
    return source.activation_in_consumer ? source.needs.output_activation : linear;
  }
  /// True if the gradients of the weights are added to the memory's contents.
  static constexpr bool adds_parameter_gradient = Plan::adds_parameter_gradients;
  static constexpr int first_parameter = Plan::graph.layer_of(Call).first_parameter;
  static constexpr int parameter_count = Plan::graph.layer_of(Call).parameter_count;
  [[nodiscard]] static constexpr parameter const& parameter_info(int index) {
    return Plan::graph.parameters[first_parameter + index];
  }

  /// True if the gradient of a weight is wanted: not of a frozen layer's.
  [[nodiscard]] static constexpr bool wants_parameter_gradient(int index) { return parameter_info(index).trainable; }

  [[nodiscard]] float const* input(int index) const {
    if (Plan::stays_in_place(input_call(index))) return memory.samples;
    if constexpr (Plan::lone_input >= 0)
      if (Plan::is_sample(input_call(index)) && memory.samples != nullptr) return memory.samples;
    if (casts_input<Plan, Call>(input_call(index))) return memory.widened + widened::input(index);
    return address(Plan::value(input_call(index)), input_call(index), widened::input(index));
  }
  /// An input as it is stored in 16 bits.
  [[nodiscard]] std::uint16_t const* stored_input(int index) const {
    return reinterpret_cast<std::uint16_t const*>(Plan::address(memory, Plan::value(input_call(index))));
  }
  [[nodiscard]] float* input_gradient(int index) const {
    return address(Plan::input_gradient(Plan::graph.call(Call).first_input + index), input_call(index),
                   widened::input_gradient(index));
  }
  /// The place where the forward step writes the result of its epilogues.
  [[nodiscard]] float* output() const {
    if constexpr (Plan::lone_output >= 0)
      if (Plan::is_result(last_epilogue) && memory.result != nullptr) return memory.result;
    return address(Plan::value(last_epilogue), Call, widened::output);
  }
  [[nodiscard]] float* output_gradient() const { return address(Plan::gradient(Call), Call, widened::output_gradient); }
  /// True if there is room for something that the forward step keeps for the backward step.
  static constexpr bool has_saved = Plan::exists(Plan::saved(Call));
  [[nodiscard]] float* saved() const { return Plan::address(memory, Plan::saved(Call)); }
  [[nodiscard]] float const* weight(int index) const { return memory.weights + weight_offset(index); }
  /// The memory of a weight that is not trained, such as a moving mean: its layer may change it in a forward step of
  /// training.
  [[nodiscard]] float* mutable_weight(int index) const { return memory.weights + weight_offset(index); }
  [[nodiscard]] float* parameter_gradient(int index) const {
    return memory.gradients + weight_offset(index) + Plan::gradients.shift[Call];
  }
  /// Floats that a weight takes in its layout.
  [[nodiscard]] static constexpr long long stored_floats(int index) {
    return parameter_info(index).layout == parameter_layout::plain ? parameter_info(index).size()
                                                                   : Plan::weights.size[first_parameter + index];
  }
  /// The optimizer that updates a weight of the layer.
  template <int Index>
  static constexpr auto optimizer =
      optimizer_of_weight<typename Plan::job::described, static_cast<std::size_t>(first_parameter + Index)>;
  [[nodiscard]] static constexpr long long weight_offset(int index) {
    return Plan::weights.offset[first_parameter + index];
  }

  /// The samples of this step, which come first in the batch. The rest of a partial batch repeats one of them and has
  /// no part in the loss, so no gradient comes from there.
  [[nodiscard]] int valid_samples() const { return memory.valid_samples; }

  /// The part of the work that this call is for: all of it, but for the parts of `divide` and in operations that are
  /// divided as a whole.
  [[nodiscard]] kernels::share share() const {
    if constexpr (Plan::threads > 1)
      return memory.share;
    else
      return {};
  }
  /// This part of `floats` floats, in whole cache lines.
  [[nodiscard]] kernels::share::range elements(long long floats) const { return share().of(floats, 16); }
  /// Calls `work(part)` for each part of the work, on any thread, and waits until all are done: `part` is this call
  /// with a share of its own. What is in the workspace does not last until the next one.
  template <class Work>
  void divide(Work const& work) const {
    if constexpr (Plan::threads > 1)
      divide_work(memory, [&](pass_memory const& own) { work(host_call{own}); });
    else
      work(*this);
  }

  pass_memory const& memory;

 private:
  static constexpr int last_epilogue = [] {
    int last = Call;
    while (Plan::epilogue(last) >= 0) last = Plan::epilogue(last);
    return last;
  }();
  using widened = widened_step<Plan, Call>;
  /// The address of a tensor of a call of the graph: where it is stored, or where it has been widened to floats.
  template <class Place>
  [[nodiscard]] float* address(Place const& place, [[maybe_unused]] int of, [[maybe_unused]] long long room) const {
    if constexpr (is_half(Plan::stored))
      if (is_half(Plan::model_plan.calls[of].stored)) return memory.widened + room;
    return Plan::address(memory, place);
  }
};

template <class L>
struct layer_steps;
struct call_steps;
struct view_steps;

/// The steps of a call, which may be a view where other calls of its layer are none (host/steps/layer_steps.hpp).
template <class Call>
using layer_steps_of = std::conditional_t<Call::planned.needs.view, view_steps,
                                          std::conditional_t<runs_by_operations(Call::layer), call_steps,
                                                             layer_steps<std::remove_cvref_t<decltype(Call::layer)>>>>;

/// Each call of each step draws from a sequence of its own, which is none of the weights' first values either.
template <class Call>
constexpr std::uint64_t stream_of_call(Call const& call) {
  return ~((call.memory.step << 16U) + static_cast<std::uint64_t>(Call::call));
}
/// `seed`: of the layer, or 0: that of the trainer.
template <class Call>
constexpr kernels::random_key random_key_of_call(Call const& call, std::uint64_t seed) {
  return {seed != 0 ? seed : call.memory.seed, stream_of_call(call)};
}

}  // namespace stagecraft::cpu
