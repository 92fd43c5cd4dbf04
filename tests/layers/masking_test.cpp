// SPDX-License-Identifier: BSD-3-Clause
// Which tensors have a mask, and who looks at it. What masked layers compute is compared with Keras in
// training/golden_masking_test.cpp.
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/models/sequential.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

// The first option may stand in front, as in Keras, before options in braces.
static_assert(masking{-1.0F}.options.mask_value == -1 && masking{-1}.options.mask_value == -1);
static_assert(masking{-1.0, {.name = "m"}}.layer_name == "m" && masking{{.mask_value = -2}}.options.mask_value == -2);
static_assert(unit_normalization{1}.options.axis == sc::axis_list{1} &&
              normalization{1}.options.axis == sc::axis_list{1});
static_assert(activity_regularization{0.5F, {.l2 = 0.25F}}.options.l1 == 0.5F &&
              activity_regularization{0.5F, {.l2 = 0.25F}}.options.l2 == 0.25F);
static_assert(instance_normalization{1}.options.axis == 1 && attention{true}.options.use_scale);
static_assert(random_flip{sc::flip_mode::horizontal}.options.mode == sc::flip_mode::horizontal);

namespace {

template <class M>
constexpr bool has_mask(int call) {
  return sc::graph_of<M>.call(call).mask != 0;
}

using words = sc::sequential<input{9}, embedding{50, 8, {.mask_zero = true}}, dropout{0.1}, dense{4},
                             lstm{8, {.return_sequences = true}}, gru{3}, dense{2}>;

/// Two masks meet; the sum behind them has both, a product of one's own has none.
struct two : sc::functional<two> {
  static constexpr auto build(auto& model) {
    auto a = masking()(model.input(9, 4));
    auto b = masking({.mask_value = -1})(model.input(9, 4));
    auto sum = add()(a, b, a);
    return sc::outputs(simple_rnn(2)(sum), lambda{[](auto x) { return x * 2.0F; }}(sum));
  }
};

}  // namespace

// A mask goes along until the steps are gone.
static_assert(!has_mask<words>(0) && has_mask<words>(1) && has_mask<words>(3) && has_mask<words>(4));
static_assert(!has_mask<words>(5) && !has_mask<words>(6));

// A recurrent layer reads what the mask is made of; users do not see it.
static_assert(sc::graph_of<words>.inputs_of(4).size() == 2 && sc::graph_of<words>.inputs_of(4)[1] == 0);
static_assert(sc::graph_of<words>.own_inputs_of(4).size() == 1);
static_assert(sc::graph_of<words>.inputs_of(5)[1] == 0);
static_assert(sc::graph_of<words>.parameters.size() == 1 + 2 + 3 + 3 + 2);

static_assert(sc::graph_of<two>.inputs_of(5).size() == 3 && sc::graph_of<two>.call(5).mask_inputs == 2);
static_assert(has_mask<two>(4) && !has_mask<two>(5) && !has_mask<two>(6));

// Without mask_zero there is none.
static_assert(!has_mask<sc::sequential<input{9}, embedding{50, 8}, lstm{2}>>(1));
static_assert(sc::graph_of<sc::sequential<input{9}, embedding{50, 8}, lstm{2}>>.inputs_of(2).size() == 1);

TEST_CASE("masks") {}
