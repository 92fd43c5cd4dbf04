// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

namespace {

template <auto Layer>
void check_between() {
  laws::check_gradients<sc::sequential<input{5}, dense{4}, Layer, dense{2}>>();
}

/// Two layers read the same tensor, so that one of them adds to its gradient.
template <auto Layer>
struct beside : sc::functional<beside<Layer>> {
  static constexpr auto build(auto& model) {
    auto x = dense(3)(model.input(2, 3));
    auto layer = Layer;
    return add()(x, layer(x), layer(x));
  }
};

}  // namespace

TEST_CASE("rectifiers and exponential units") {
  check_between<re_lu{}>();
  check_between<re_lu{{.max_value = 1, .negative_slope = 0.1F, .threshold = 0.1F}}>();
  check_between<leaky_re_lu{}>();
  check_between<elu_layer{0.7}>();
  check_between<thresholded_re_lu{0}>();
  laws::check_gradients<beside<elu_layer{}>>();
}

TEST_CASE("softmax along an axis") {
  laws::check_gradients<sc::sequential<input{3, 2}, dense{4}, softmax_layer{1}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{3, 2}, dense{4}, softmax_layer{}>>();
  laws::check_gradients<beside<softmax_layer{-2}>>();
}

TEST_CASE("rectifiers that learn their slopes") {
  laws::check_gradients<sc::sequential<input{3, 4}, prelu{}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{2, 3, 2}, prelu{{.shared_axes = {1, 2}}}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{2, 3, 2}, prelu{{.shared_axes = {1, 3}}}>>();
  laws::check_gradients<sc::sequential<input{2, 3, 2}, prelu{{.shared_axes = {1, 2, 3}}}>>();
  laws::check_gradients<beside<prelu{{.shared_axes = 2}}>>();
}
