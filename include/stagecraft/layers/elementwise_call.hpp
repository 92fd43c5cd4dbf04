// SPDX-License-Identifier: BSD-3-Clause
// Whether a layer's call is elementwise, and its formulas, with which a machine computes it in a loop of another layer
// or in its own.
#pragma once

#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/operations/elementwise.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::layers::detail {

/// The layer without members that do not change its result, so that equal layers share compiled code.
template <class L>
constexpr L anonymous(L layer) {
  layer.layer_name = {};
  if constexpr (requires { layer.options.name; }) layer.options.name = {};
  layer.pipeline_stage = unassigned;
  layer.layer_id = -1;
  return layer;
}

/// Asks whether a value may be a template argument. A layer may not if it holds a pointer to a text, as slices do to
/// the user's file, or private members; then it is equal to no other layer.
template <auto>
struct template_argument {};
template <class Call>
concept LayerIsArgument = requires { typename template_argument<anonymous(Call::layer)>; };

/// Facts about an elementwise call of `Inputs` inputs. Leaves are the inputs, then the weights.
template <int Inputs>
struct elementwise_facts {
  static constexpr int most_leaves = Inputs + 4;

  bool holds = false;       ///< true if the call is elementwise
  int weights = 0;          ///< number of weights that it reads
  bool repeats = false;     ///< true if a leaf or the random numbers are repeated along axes
  bool draws = false;       ///< true if uniform random numbers are drawn
  std::uint64_t seed = 0;   ///< their seed; 0: the trainer's
  bool is_dropout = false;  ///< true if the call is a dropout by these numbers, and nothing else
  float rate = 0;           ///< the rate of the dropout
  stagecraft::activation function =
      linear;     ///< the activation, if the call is nothing else; softmax, too, which is not elementwise
  int axis = -1;  ///< the axis of softmax
  /// Aligned extents of each leaf, then of the random numbers.
  std::array<operations::extents, most_leaves + 1> aligned{};
  /// The leaves that the gradient of each leaf reads, a bit for each, and a bit for the result.
  std::array<unsigned, most_leaves> gradient_reads{};
  std::array<bool, most_leaves> gradient_reads_output{};
  std::size_t value_steps = 0;  ///< steps of the formula, if the call is no activation
  std::array<std::size_t, most_leaves> gradient_steps{};
  /// Short formulas, for which the layer is not traced again.
  struct short_formula {
    static constexpr std::size_t most_steps = 6;
    std::array<operations::formula_step, most_steps> steps{};
    std::array<int, 1> results{};

    constexpr void keep(operations::formula const& from) {
      if (from.steps.size() > most_steps) return;
      for (std::size_t i = 0; i < from.steps.size(); ++i) steps[i] = from.steps[i];
      results[0] = from.results[0];
    }
  };
  short_formula value{};
  std::array<short_formula, most_leaves> gradients{};
};

/// A call of a layer on a batch of inputs of these shapes (see `anonymous`). Softmax, for example, is not elementwise.
///
///     using call = elementwise_call<anonymous(layer), batch, trains, shape(4, 5), shape(4, 5)>;
///     if constexpr (call::facts.holds && !call::facts.repeats) ... formula_of_layer<call> ... gradient_of_layer<call,
///     0>
template <auto Layer, int Batch, bool Trains, shape... Inputs>
class elementwise_call {
  static constexpr int count = sizeof...(Inputs);

  static constexpr operations::trace trace_it() {
    shape const shapes[]{Inputs...};
    auto traced = trace_layer(Layer, shapes, Batch, Trains);
    if (traced.outputs.empty()) traced.list.problem.report(1001, "");
    return traced;
  }
  static constexpr operations::elementwise analyse() { return operations::elementwise(trace_it()); }
  static constexpr void find_softmax(operations::trace const& of, elementwise_facts<count>& result) {
    if (of.list.problem.failed() || of.outputs[0] != of.list.size() - 1) return;
    auto const* group = of.list.node_of(of.outputs[0]).what.if_is<operations::composite>();
    if (group == nullptr || group->name != "softmax" || group->first != of.inputs[0] + 1) return;
    result.function = stagecraft::softmax;
    result.axis = static_cast<int>(group->numbers[0]) - 1;
  }
  /// True if a loop can draw the random numbers: one for each element or, for dropout, one that rows share.
  static constexpr bool can_draw(operations::elementwise const& found, operations::trace const& traced) {
    auto const result = traced.list.node_of(traced.outputs[0]).shape;
    if (!found.draws || found.aligned.back().size() == result.size()) return true;
    if (auto const* group = found.group(); group == nullptr || group->name != "dropout") return false;
    int axis = result.rank - 1;
    while (axis > 0 && result[axis] == 1) --axis;
    return found.aligned.back()[axis] == result[axis];
  }
  static constexpr elementwise_facts<count> find_facts() {
    elementwise_facts<count> result;
    if constexpr (HasCall<std::remove_cvref_t<decltype(Layer)>>) {
      auto const traced = trace_it();
      operations::elementwise const found(traced);
      if (!found.holds) {
        find_softmax(traced, result);
        return result;
      }
      result.weights = static_cast<int>(traced.weights.size());
      int const leaves = count + result.weights;
      if (leaves > result.most_leaves || !can_draw(found, traced)) return {};
      result.holds = true;
      result.repeats = found.repeats || result.weights > 0;
      result.draws = found.draws;
      result.seed = found.seed;
      for (std::size_t i = 0; i < found.aligned.size(); ++i) result.aligned[i] = found.aligned[i];
      if (auto const* group = found.group(); group != nullptr) {
        result.function = activation_of(*group);
        result.is_dropout = group->name == "dropout";
        result.rate = group->numbers[0];
      }
      if (result.function != linear) {
        result.gradient_reads[0] = result.function.gradient_needs_input() ? 1 : 0;
        result.gradient_reads_output[0] = !result.function.gradient_needs_input();
        return result;
      }
      auto const value = found.value();
      result.value_steps = value.steps.size();
      result.value.keep(value);
      for (int i = 0; i < leaves; ++i) {
        auto const index = static_cast<std::size_t>(i);
        auto const gradient = found.gradient(i);
        result.gradient_steps[index] = gradient.steps.size();
        result.gradients[index].keep(gradient);
        for (auto const& step : gradient.steps) {
          if (step.from != operations::formula_source::place) continue;
          if (step.index < leaves) result.gradient_reads[index] |= 1U << step.index;
          if (step.index == leaves) result.gradient_reads_output[index] = true;
        }
      }
      // Longer formulas take compilers long, and more registers than there are.
      bool fits = result.value_steps <= operations::formula_view::most_steps;
      for (std::size_t const steps : result.gradient_steps)
        fits = fits && steps <= operations::formula_view::most_steps;
      if (!fits) return {};
    }
    return result;
  }

 public:
  static constexpr elementwise_facts<count> facts = find_facts();

  static constexpr auto make_value() {
    if constexpr (is_short(facts.value_steps))
      return operations::frozen_formula<operations::formula_sizes{facts.value_steps, 1}>(facts.value);
    else if constexpr (facts.value_steps > 0)
      return operations::frozen_formula<operations::formula_sizes{facts.value_steps, 1}>(value_maker{}());
    else
      return frozen_draft<value_maker>;
  }
  template <int Input>
  static constexpr auto make_gradient() {
    if constexpr (is_short(facts.gradient_steps[Input]))
      return operations::frozen_formula<operations::formula_sizes{facts.gradient_steps[Input], 1}>(
          facts.gradients[Input]);
    else if constexpr (facts.gradient_steps[Input] > 0)
      return operations::frozen_formula<operations::formula_sizes{facts.gradient_steps[Input], 1}>(
          gradient_maker<Input>{}());
    else
      return frozen_draft<gradient_maker<Input>>;
  }

 private:
  static constexpr bool is_short(std::size_t steps) {
    return steps > 0 && steps <= elementwise_facts<count>::short_formula::most_steps;
  }
  struct value_maker {
    constexpr operations::formula operator()() const { return analyse().value(); }
  };
  template <int Input>
  struct gradient_maker {
    constexpr operations::formula operator()() const { return analyse().gradient(Input); }
  };
};

/// The result of an elementwise call as an operations::frozen_formula: number i at each place is leaf i; the random
/// numbers follow.
template <class Call>
inline constexpr auto formula_of_layer = Call::make_value();
/// The gradient of a leaf at each place of the result; for a repeated leaf, the terms of its sum. Number i at each
/// place is leaf i; the result, its gradient and the random numbers follow.
template <class Call, int Input>
inline constexpr auto gradient_of_layer = Call::template make_gradient<Input>();

/// Nothing is known about a layer that is no template argument.
template <int Inputs>
struct unknown_call {
  static constexpr elementwise_facts<Inputs> facts{};
};
template <class Call, bool Trains, std::size_t... Input>
unknown_call<Call::input_count> elementwise_call_type(std::index_sequence<Input...>);
template <LayerIsArgument Call, bool Trains, std::size_t... Input>
elementwise_call<anonymous(Call::layer), Call::batch, Trains, Call::input_shape(Input)...> elementwise_call_type(
    std::index_sequence<Input...>);

/// The facts of elementwise_call about a host_call, a lowered_call, or a type with their interface.
template <class Call, bool Trains>
using elementwise_call_of =
    decltype(elementwise_call_type<Call, Trains>(std::make_index_sequence<Call::input_count>{}));

}  // namespace stagecraft::layers::detail
