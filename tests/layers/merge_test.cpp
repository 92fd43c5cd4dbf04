// SPDX-License-Identifier: BSD-3-Clause
// Add, subtract, multiply, average, maximum: inputs of one shape, or of shapes that are repeated.
#include "layer_rules.hpp"

#include <stagecraft/layers/merging/merge.hpp>
#include <concepts>
#include <doctest/doctest.h>

using namespace layer_rules;
using namespace sc::layers;

template <class L>
constexpr bool merges() {
  constexpr sc::shape in(4, 5);
  constexpr int operations = std::same_as<L, average> ? 2 : 1;  // for each element
  static_assert(sc::Layer<L>);
  static_assert(rules_of(L{}, in, in).gives(in));
  static_assert(rules_of(L{}, in, in).weights.count == 0);
  static_assert(rules_of(L{}, in, in).flops == 20 * operations);
  static_assert(rules_of(L{}, in, sc::shape(5)).gives(in) && rules_of(L{}, sc::shape(1), in).gives(in));
  static_assert(rules_of(L{}, sc::shape(4, 1), sc::shape(3, 1, 5)).gives({3, 4, 5}));
  static_assert(rules_of(L{}, sc::shape(4, 1), sc::shape(3, 1, 5)).flops == 60 * operations);
  static_assert(rules_of(L{}, in).problem.code == 1001);
  static_assert(rules_of(L{}, in, sc::shape(5, 4)).problem.code == 1014);
  static_assert(rules_of(L{}, in, sc::shape(4, 5, 1)).problem.code == 1014);
  return true;
}
static_assert(merges<add>() && merges<subtract>() && merges<multiply>() && merges<average>() && merges<maximum>());

static_assert(rules_of(add{}, sc::shape(3), sc::shape(3), sc::shape(3)).gives({3}));
static_assert(rules_of(add{}, sc::shape(3), sc::shape(3), sc::shape(3)).flops == 6);
static_assert(
    rules_of(add{}, sc::shape(3), sc::shape(3), sc::shape(4))
        .says("layer 'the_layer' expects inputs whose shapes fit, but input 0 has (3,) and input 2 has (4,); axes are "
              "compared from the last one, and are equal or one of them is 1 [E1014]"));
static_assert(rules_of(subtract{}, sc::shape(3), sc::shape(3), sc::shape(3))
                  .says("layer 'the_layer' takes 2 inputs, but is called with 3 [E1001]"));
static_assert(
    rules_of(maximum{}, sc::shape(3)).says("layer 'the_layer' takes at least 2 inputs, but is called with 1 [E1001]"));

TEST_CASE("class names are Keras's") {
  CHECK(add::class_name == "Add");
  CHECK(subtract::class_name == "Subtract");
  CHECK(multiply::class_name == "Multiply");
  CHECK(average::class_name == "Average");
  CHECK(maximum::class_name == "Maximum");
}
