// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

namespace {

/// Two layers read the same tensor, so that one of them adds to its gradient.
template <auto Layer, auto Back>
struct there_and_back : sc::functional<there_and_back<Layer, Back>> {
  static constexpr auto build(auto& model) {
    auto x = dense(2)(model.input(4, 3, 1));
    auto layer = Layer;
    auto back = Back;
    return add()(x, back(layer(x)), back(layer(x)));
  }
};

}  // namespace

TEST_CASE("global pooling") {
  laws::check_gradients<sc::sequential<input{4, 3, 1}, dense{3}, global_average_pooling2d{}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{4, 3, 1}, dense{3}, global_max_pooling2d{{.keepdims = true}}>>();
  laws::check_gradients<sc::sequential<input{5, 1}, dense{3}, global_average_pooling1d{{.keepdims = true}}>>();
  laws::check_gradients<sc::sequential<input{5, 1}, dense{3}, global_max_pooling1d{}, dense{2}>>();
}

TEST_CASE("zero padding and cropping") {
  laws::check_gradients<sc::sequential<input{2, 3, 1}, dense{2}, zero_padding2d{{{1, 0}, {2, 1}}}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{4, 5, 1}, dense{2}, cropping2d{{{1, 0}, {2, 1}}}, flatten{}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{5, 2}, dense{2}, zero_padding1d{}, cropping1d{{0, 3}}, dense{2}>>();
  laws::check_gradients<there_and_back<zero_padding2d{{1, 2}}, cropping2d{{1, 2}}>>();
}

TEST_CASE("up-sampling") {
  constexpr auto bilinear = sc::interpolation::bilinear;
  laws::check_gradients<sc::sequential<input{2, 3, 1}, dense{2}, up_sampling2d{{2, 3}}, dense{2}>>();
  laws::check_gradients<
      sc::sequential<input{2, 3, 1}, dense{2}, up_sampling2d{{2, 3}, {.interpolation = bilinear}}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{4, 2}, dense{3}, up_sampling1d{3}, dense{2}>>();
  laws::check_gradients<there_and_back<up_sampling2d{}, average_pooling2d{}>>();
  laws::check_gradients<there_and_back<up_sampling2d{2, {.interpolation = bilinear}}, average_pooling2d{}>>();
}

TEST_CASE("spatial dropout with one mask") {
  laws::check_gradients<sc::sequential<input{3, 2, 1}, dense{6}, spatial_dropout2d{0.4}, dense{2}>>();
  laws::check_gradients<sc::sequential<input{3, 1}, dense{6}, spatial_dropout1d{0.4F, 9}, spatial_dropout1d{0}>>();
  laws::check_gradients<there_and_back<spatial_dropout2d{0.3}, spatial_dropout2d{0.5}>>();
}
