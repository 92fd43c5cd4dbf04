// SPDX-License-Identifier: BSD-3-Clause
// Whether an optimizer leaves a weight with gradient 0 unchanged, so that rows of a table that nothing has read need no
// update. This follows from its `update`.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>
#include <array>

namespace stagecraft::optimizers::detail {

/// Follows the steps of an optimizer with a gradient of 0.
class resting_formula {
 public:
  constexpr explicit resting_formula(operations::formula_view const& of) {
    for (std::size_t i = 0; i < of.steps.size() && i < known_.size(); ++i) known_[i] = find(of.steps[i]);
    rests_ = of.steps.size() <= known_.size();
    int place = update_tracer::weight;
    for (int const result : of.results) {
      rests_ = rests_ && known_[result] == place;
      place = place == update_tracer::weight ? update_tracer::first_slot : place + 1;
    }
  }
  /// True if the weight and all of its slots stay unchanged.
  [[nodiscard]] constexpr bool rests() const { return rests_; }

 private:
  static constexpr int zero = -1, unknown = -2;  // or the number of an argument at each place

  [[nodiscard]] constexpr int operand(operations::formula_step const& step, int index) const {
    return known_[step.operands[index]];
  }
  /// The result of a step, if it is 0 or an unchanged argument. Numbers that are the same for all weights are finite.
  [[nodiscard]] constexpr int find(operations::formula_step const& step) const {
    using operations::formula_source, operations::function;
    if (step.from == formula_source::place) return step.index == update_tracer::gradient ? zero : step.index;
    if (step.from == formula_source::constant) return step.value == 0 ? zero : unknown;
    if (step.from == formula_source::everywhere) return unknown;
    bool const has_zero_factor = operand(step, 0) == zero || operand(step, 1) == zero;
    switch (step.apply) {
      case function::identity: return operand(step, 0);
      case function::multiply: return has_zero_factor ? zero : unknown;
      case function::multiply_add:
      case function::negative_multiply_add: return has_zero_factor ? operand(step, 2) : unknown;
      case function::add: return operand(step, 0) == zero ? operand(step, 1) : without_zero(step);
      case function::subtract: return without_zero(step);
      default: return unknown;
    }
  }
  [[nodiscard]] constexpr int without_zero(operations::formula_step const& step) const {
    return operand(step, 1) == zero ? operand(step, 0) : unknown;
  }

  std::array<int, operations::formula_view::most_steps> known_{};
  bool rests_ = false;
};

/// True if an update with a gradient of 0 changes nothing.
template <auto Optimizer>
inline constexpr bool rests_without_gradient = resting_formula(view_of_optimizer<Optimizer>).rests();

}  // namespace stagecraft::optimizers::detail
