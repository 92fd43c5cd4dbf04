// SPDX-License-Identifier: BSD-3-Clause
// Lowering of calls that are one formula of their inputs at each place, such as an activation, dropout or softmax: each
// step is one task.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/rows.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::tiles {

/// The numbers at each place that a formula reads, and whether it reads the random number, which is number `Drawn`.
template <auto const& Formula, int Drawn>
struct places_of_formula {
  int count = 0;
  int places[Formula.steps.size() + 1]{};
  bool draws = false;

  constexpr places_of_formula() {
    for (auto const& step : Formula.steps) {
      if (step.from != operations::formula_source::place) continue;
      if (step.index == Drawn)
        draws = true;
      else
        places[count++] = step.index;
    }
  }
  [[nodiscard]] constexpr bool fit() const { return count + (draws ? 1 : 0) <= task::most_inputs; }
  [[nodiscard]] constexpr int operand(int place) const {
    int index = 0;
    while (index < count && places[index] != place) ++index;
    return index;
  }
};
template <auto const& Formula, int Drawn>
inline constexpr places_of_formula<Formula, Drawn> places_read;

/// The formula of its operands, which are the places that it reads.
template <auto const& Formula, int Drawn>
inline constexpr auto formula_of_operands = [] {
  auto result = Formula;
  for (auto& step : result.steps)
    if (step.from == operations::formula_source::place) step.index = places_read<Formula, Drawn>.operand(step.index);
  return result;
}();
template <auto const& Formula, int Drawn>
inline constexpr operations::formula_view view_of_operands{formula_of_operands<Formula, Drawn>.steps,
                                                           formula_of_operands<Formula, Drawn>.results};

/// Appends the task of a formula: a copy, a fill, one of popops' operations, or several of them in one vertex.
/// `tensor_at(place)` names the tensors that it reads.
template <auto const& Formula, int Drawn, class TensorAt>
constexpr void append_formula_of_places(lowered_step& step, int result, TensorAt const& tensor_at, std::uint64_t seed) {
  using operations::formula_source;
  using operations::function;
  constexpr auto const& read = places_read<Formula, Drawn>;
  constexpr auto const& last = Formula.steps[Formula.results[0]];
  if (last.from == formula_source::constant) {
    append_map(step, map_function::fill, result, {}, {last.value});
  } else if (last.from == formula_source::place && !read.draws) {
    append_map(step, map_function::copy, result, {{tensor_at(last.index)}});
  } else if (last.from == formula_source::function && operations::arity(last.apply) < 3 && !read.draws &&
             Formula.steps.size() == static_cast<std::size_t>(operations::arity(last.apply)) + 1) {
    bool const is_negative = last.apply == function::negative;
    auto& task = append_map(step, map_function_of(is_negative ? function::multiply : last.apply), result, {});
    auto& what = task.what.template as<map_task>();
    for (int i = 0; i < operations::arity(last.apply); ++i) {
      auto const& of = Formula.steps[last.operands[i]];
      if (of.from == formula_source::place) {
        task.inputs[task.input_count++] = tensor_at(of.index);
        continue;
      }
      bool const divides = last.apply == function::divide && i == 1;
      if (divides) what.function = map_function_of(function::multiply);
      what.scalars[i] = divides ? 1 / of.value : of.value;
      what.numbers |= 1 << i;
    }
    if (is_negative) {
      what.scalars[1] = -1;
      what.numbers = 2;
    }
  } else {
    auto& task = append_formula(step, view_of_operands<Formula, Drawn>, result, {}, read.draws, seed);
    for (int i = 0; i < read.count; ++i) task.inputs[task.input_count++] = tensor_at(read.places[i]);
  }
}

/// Lowers such a call. `holds` is true if no input is repeated, and no formula reads more tensors than a task has.
template <class Call>
class elementwise_lowering {
  using call = elementwise_call_of<Call, Call::trains>;
  static constexpr auto const& facts = call::facts;
  static constexpr activation function = facts.function;
  static constexpr int inputs = Call::input_count;

  template <std::size_t... Input>
  static constexpr bool formulas_fit(std::index_sequence<Input...>) {
    if constexpr (!facts.holds || facts.repeats)
      return false;
    else if constexpr (function != linear || facts.is_dropout)
      return true;
    else
      return places_read<formula_of_layer<call>, inputs>.fit() &&
             (... && (!Call::trains || places_read<gradient_of_layer<call, Input>, inputs + 2>.fit()));
  }

 public:
  static constexpr bool holds =
      Call::planned.activation_in_loss || function == softmax || formulas_fit(std::make_index_sequence<inputs>{});

  static constexpr void forward(lowered_step& step) {
    if constexpr (Call::planned.activation_in_loss) {  // the loss takes the logits, which are its value
      append_map(step, map_function::copy, Call::output(step), {{Call::input(step)}});
    } else if constexpr (function == softmax) {
      append_softmax(step, Call::input(step), Call::output(step), outer, length, inner);
    } else if constexpr (function != linear) {
      append_activation_map(step, function, Call::input(step), Call::output(step));
    } else if constexpr (facts.is_dropout) {
      append_dropout(step, Call::input(step), Call::output(step), facts.rate, facts.seed);
    } else {
      append_formula_of_places<formula_of_layer<call>, inputs>(
          step, Call::output(step), [&](int place) { return Call::input(step, place); }, facts.seed);
    }
  }

  static constexpr void backward(lowered_step& step) {
    for_each_index<inputs>([&]<int Input>() { append_gradient<Input>(step); });
  }

 private:
  template <int Input>
  static constexpr void append_gradient(lowered_step& step) {
    if (!Call::wants_input_gradient(Input)) return;
    int const result = Call::input_gradient(step, Input);
    if constexpr (Call::planned.activation_in_loss) {
      append_map(step, map_function::copy, result, {{Call::output_gradient(step)}});
    } else if constexpr (function == softmax) {
      append_softmax_gradient(step, Call::output_gradient(step), Call::output(step), result, outer, length, inner);
    } else if constexpr (function != linear) {
      int const known = function.gradient_needs_input() ? Call::input(step) : Call::output(step);
      append_activation_gradient_map(step, function, Call::output_gradient(step), known, result);
    } else if constexpr (facts.is_dropout) {
      append_dropout(step, Call::output_gradient(step), result, facts.rate, facts.seed, true);
    } else {
      append_formula_of_places<gradient_of_layer<call, Input>, inputs + 2>(
          step, result,
          [&](int place) {
            if (place < inputs) return Call::input(step, place);
            return place == inputs ? Call::output(step) : Call::output_gradient(step);
          },
          facts.seed);
    }
  }

  static constexpr int axis = function == softmax ? facts.axis : 0;
  static constexpr std::int64_t outer = std::int64_t{Call::batch} * Call::output_shape().size(0, axis),
                                length = Call::output_shape().rank() > 0 ? Call::output_shape()[axis] : 1,
                                inner = Call::output_shape().rank() > 0
                                            ? Call::output_shape().size(axis + 1, Call::output_shape().rank())
                                            : 1;
};

}  // namespace stagecraft::tiles
