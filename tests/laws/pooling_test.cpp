// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

namespace {

/// Windows that overlap, touch or leave gaps, with and without padding. The inputs have one channel, so that a small
/// change of a weight does not change which cell of a window is the largest.
template <class Layer>
void check_2d() {
  CAPTURE(Layer::class_name);
  laws::check_gradients<sc::sequential<input{4, 4, 1}, dense{3}, Layer{}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{5, 6, 1}, dense{2}, Layer{{2, 3}}, flatten{}, dense{2}>>();
  laws::check_gradients<
      sc::sequential<input{5, 4, 1}, dense{2}, Layer{3, 2, {.padding = sc::padding::same}}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{5, 5, 1}, dense{2}, Layer{2, {.strides = {1, 3}}}, dense{2}>>();
}

template <class Layer>
void check_1d() {
  CAPTURE(Layer::class_name);
  laws::check_gradients<sc::sequential<input{7, 1}, dense{3}, Layer{}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{7, 1}, dense{3}, Layer{3, 1, {.padding = sc::padding::same}}>>();
}

/// Two layers read the same tensor, so that one of them adds to its gradient.
template <class Layer>
struct pooled_twice : sc::functional<pooled_twice<Layer>> {
  static constexpr auto build(auto& model) {
    auto x = dense(2)(model.input(4, 4, 1));
    return add()(Layer(3, 1, {.padding = sc::padding::same})(x), x, Layer(1)(x));
  }
};

}  // namespace

TEST_CASE("max pooling") {
  check_2d<max_pooling2d>();
  check_1d<max_pooling1d>();
  laws::check_gradients<pooled_twice<max_pooling2d>>();
}

TEST_CASE("average pooling") {
  check_2d<average_pooling2d>();
  check_1d<average_pooling1d>();
  laws::check_gradients<pooled_twice<average_pooling2d>>();
}

TEST_CASE("max pooling applies the gradient of the activation before it") {
  laws::check_gradients<sc::sequential<input{4, 4, 1}, dense{3, sc::elu}, max_pooling2d{}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{5, 5, 1}, dense{3, sc::tanh}, max_pooling2d{3, 1}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{7, 1}, dense{3, sc::sigmoid}, max_pooling1d{}, dense{2}>>();
}
