// SPDX-License-Identifier: BSD-3-Clause
// Whether a layer's call is elementwise, and then its formulas: what a machine needs to compute it in a loop of another
// layer, or in one of its own.
#pragma once

#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/operations/elementwise.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::layers::detail {

/// The layer without what makes no difference to what it computes: so that equal layers share what is compiled.
template <class L>
constexpr L anonymous(L layer) {
  layer.layer_name = {};
  if constexpr (requires { layer.options.name; }) layer.options.name = {};
  layer.pipeline_stage = unassigned;
  layer.layer_id = -1;
  return layer;
}

/// What asks whether a value may be a template argument. A layer may not be one that holds a pointer to a text, as
/// slices do to the user's file, or members that are private: then it is alike to no other.
template <auto>
struct template_argument {};
template <class Call>
concept LayerIsArgument = requires { typename template_argument<anonymous(Call::layer)>; };

/// What is known of an elementwise call of `Inputs` inputs. Leaves are the inputs, then the weights.
template <int Inputs>
struct elementwise_facts {
  static constexpr int most_leaves = Inputs + 4;

  bool holds = false;       ///< whether it is one
  int weights = 0;          ///< of how many it is a function
  bool repeats = false;     ///< whether a leaf or what is drawn is repeated along axes
  bool draws = false;       ///< whether uniform random numbers are drawn
  std::uint64_t seed = 0;   ///< of it; 0: the program's
  bool is_dropout = false;  ///< whether it drops elements by these numbers, and that is all of it
  float rate = 0;           ///< of dropout
  stagecraft::activation function =
      linear;     ///< the activation that is all of it, if it is one: softmax, too, which `holds` not
  int axis = -1;  ///< of softmax
  std::array<operations::extents, most_leaves + 1> aligned{};  ///< of each leaf; then of what is drawn
  /// For the gradient of each leaf: which leaves it reads, a bit for each, and whether it reads the result.
  std::array<unsigned, most_leaves> gradient_reads{};
  std::array<bool, most_leaves> gradient_reads_output{};
  std::size_t value_steps = 0;  ///< of the formulas, if it is no activation
  std::array<std::size_t, most_leaves> gradient_steps{};
  /// The formulas that are short: the layer is not traced again for them.
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
  /// Whether a loop can draw what is drawn: a number for each element, or, of dropout, one that rows have in common.
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
      // Longer ones take compilers long, and more registers than there are.
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
      return frozen<value_maker>;
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
      return frozen<gradient_maker<Input>>;
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

/// The result of an elementwise call as an operations::frozen_formula: number i at each place is leaf i; then comes
/// what is drawn.
template <class Call>
inline constexpr auto formula_of_layer = Call::make_value();
/// The gradient of a leaf at each place of the result: of one that is repeated, what is to be summed. Number i at each
/// place is leaf i; then come the result, its gradient, and what is drawn.
template <class Call, int Input>
inline constexpr auto gradient_of_layer = Call::template make_gradient<Input>();

/// Of a layer that is no template argument nothing is known.
template <int Inputs>
struct unknown_call {
  static constexpr elementwise_facts<Inputs> facts{};
};
template <class Call, bool Trains, std::size_t... Input>
unknown_call<Call::input_count> elementwise_call_type(std::index_sequence<Input...>);
template <LayerIsArgument Call, bool Trains, std::size_t... Input>
elementwise_call<anonymous(Call::layer), Call::batch, Trains, Call::input_shape(Input)...> elementwise_call_type(
    std::index_sequence<Input...>);

/// What elementwise_call says of a host_call, a lowered_call, or what has their interface.
template <class Call, bool Trains>
using elementwise_call_of =
    decltype(elementwise_call_type<Call, Trains>(std::make_index_sequence<Call::input_count>{}));

}  // namespace stagecraft::layers::detail
