// SPDX-License-Identifier: BSD-3-Clause
// A function of a few numbers at each place of an array, as a constant: the step of an optimizer, for example.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/operation_list.hpp>
#include <array>
#include <utility>

namespace stagecraft::operations {

/// The origin of a number in a formula.
enum class formula_source : unsigned char {
  place,       ///< an argument that differs from place to place
  everywhere,  ///< an argument that is the same at all places
  constant,
  function  ///< a function of earlier numbers
};

/// A number of a formula.
struct formula_step {
  formula_source from = formula_source::constant;
  function apply = function::identity;
  bool is_uniform = true;  ///< true if it is the same at all places
  int operands[3]{};       ///< earlier numbers
  int index = 0;           ///< number of the argument
  float value = 0;         ///< value of a constant
};

struct formula_sizes {
  std::size_t steps = 0, results = 0;
};

template <formula_sizes Sizes>
struct frozen_formula;

/// A formula while the compiler writes it down; `frozen_formula` is its constant.
///
/// It is traced as a list of maps of numbers, in groups or not: an `input` differs from place to place, a `weight` is
/// the same at all places. Only numbers that results need are kept. A product that is used once, by a sum or a
/// difference, becomes one step with it, which rounds once, so that all compilers and machines compute the same.
class formula {
 public:
  static constexpr formula_sizes usual_sizes{24, 4};
  template <formula_sizes Sizes>
  using frozen = frozen_formula<Sizes>;

  tracing::growing_array<formula_step> steps;
  tracing::growing_array<int> results;
  diagnostics::diagnostic problem;

  /// A number of the list that is an argument at each place, like the inputs.
  struct given_number {
    int id, index;
  };

  constexpr formula(operation_list const& list, tracing::growing_array<int> const& wanted,
                    given_number const& given = {-1, 0})
      : problem(list.problem), given_{source_of(list, given.id), given.index} {
    tracing::growing_array<int> uses(list.nodes.size(), 0), numbers(list.nodes.size(), -1);
    for (int const id : wanted) ++uses[source_of(list, id)];
    for (int id = list.size(); id-- > 0;)
      if (uses[id] > 0)
        for (int i = 0; i < operands_of(list, id); ++i) ++uses[operand(list, id, i)];

    tracing::growing_array<char> is_uniform(list.nodes.size(), 0);
    for (int id = 0; id < list.size(); ++id) {
      bool same = !list.node_of(id).what.is<input>() && id != given_.id;
      for (int i = 0; i < operands_of(list, id); ++i) same = same && is_uniform[operand(list, id, i)];
      is_uniform[id] = same;
    }
    // The operand of a sum or difference that is computed together with it, or -1.
    tracing::growing_array<char> is_part(list.nodes.size(), 0);
    tracing::growing_array<int> product_of(list.nodes.size(), -1);
    for (int id = 0; id < list.size(); ++id) {
      auto const* what = list.node_of(id).what.if_is<map>();
      if (uses[id] == 0 || is_uniform[id] || what == nullptr || id == given_.id ||
          (what->apply != function::add && what->apply != function::subtract))
        continue;
      for (int const side : {1, 0}) {
        int const factors = operand(list, id, side);
        auto const* product = list.node_of(factors).what.if_is<map>();
        if (product == nullptr || product->apply != function::multiply || uses[factors] != 1 || is_uniform[factors] ||
            factors == given_.id)
          continue;
        product_of[id] = side;
        is_part[factors] = 1;
        break;
      }
    }
    for (int id = 0; id < list.size(); ++id) {
      if (uses[id] == 0 || is_part[id]) continue;
      formula_step step{.is_uniform = is_uniform[id] != 0};
      node const& here = list.node_of(id);
      if (id == given_.id) {
        step.from = formula_source::place;
        step.index = given_.index;
      } else if (auto const* from_outside = here.what.if_is<input>()) {
        step.from = formula_source::place;
        step.index = from_outside->index;
      } else if (auto const* same = here.what.if_is<weight>()) {
        step.from = formula_source::everywhere;
        step.index = same->index;
      } else if (auto const* value = here.what.if_is<constant>()) {
        step.value = value->value;
      } else {
        step.from = formula_source::function;
        step.apply = here.what.as<map>().apply;
        for (int i = 0; i < here.operand_count; ++i) step.operands[i] = numbers[operand(list, id, i)];
        if (int const side = product_of[id]; side >= 0) {
          int const product = operand(list, id, side), other = operand(list, id, 1 - side);
          step.apply = step.apply == function::add ? function::multiply_add
                       : side == 1                 ? function::negative_multiply_add
                                                   : function::multiply_subtract;
          step.operands[0] = numbers[operand(list, product, 0)];
          step.operands[1] = numbers[operand(list, product, 1)];
          step.operands[2] = numbers[other];
        }
      }
      numbers[id] = static_cast<int>(steps.size());
      steps.push_back(step);
    }
    for (int const id : wanted) results.push_back(numbers[source_of(list, id)]);
  }

  [[nodiscard]] constexpr formula_sizes sizes() const { return {steps.size(), results.size()}; }

 private:
  /// The operation that computes a number; for groups and copies that of their first operand.
  static constexpr int source_of(operation_list const& list, int id) {
    while (id >= 0 && (is_alias(list.node_of(id).what) || list.node_of(id).what.is<broadcast>()))
      id = list.operand(id, 0);
    return id;
  }
  static constexpr int operand(operation_list const& list, int id, int index) {
    return source_of(list, list.operand(id, index));
  }
  [[nodiscard]] constexpr int operands_of(operation_list const& list, int id) const {
    return id == given_.id ? 0 : list.node_of(id).operand_count;
  }

  given_number given_;
};

/// A formula as a constant.
template <formula_sizes Sizes>
struct frozen_formula {
  std::array<formula_step, Sizes.steps> steps;
  std::array<int, Sizes.results> results;

  /// Copies a type with `steps` and `results`: a formula, or a frozen one of other lengths.
  constexpr explicit frozen_formula(auto const& from)
      : steps(stagecraft::detail::array_of<Sizes.steps>(from.steps)),
        results(stagecraft::detail::array_of<Sizes.results>(from.results)) {}
};

/// A view of a formula, whose type does not depend on lengths.
struct formula_view {
  static constexpr std::size_t most_steps = 128;

  tracing::array_view<formula_step const> steps;
  tracing::array_view<int const> results;
};

}  // namespace stagecraft::operations
