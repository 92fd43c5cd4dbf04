// SPDX-License-Identifier: BSD-3-Clause
// Pooling, padding, up-sampling, spatial dropout and the activation layers give the same bits on any number of threads.
#include "../engine/session_data.hpp"
#include "../session_steps.hpp"

namespace {

struct images : sc::functional<images> {
  static constexpr auto build(auto& builder) {
    auto const same = sc::padding::same;
    auto x = conv2d(6, 3, sc::relu, {.padding = same})(builder.input(9, 8, 3));
    auto a = max_pooling2d(2)(x), b = average_pooling2d(3, 2, {.padding = same})(zero_padding2d({{0, 1}, {0, 2}})(x));
    auto c = spatial_dropout2d(0.3)(prelu({.shared_axes = {1, 2}})(max_pooling2d(3, 1, {.padding = same})(a)));
    auto d = cropping2d({{1, 0}, {0, 1}})(leaky_re_lu()(b));
    auto e = up_sampling2d({1, 2}, {.interpolation = sc::interpolation::bilinear})(softmax_layer(2)(d));
    auto f = up_sampling2d({2, 1})(elu_layer(0.5)(c));
    auto wide = concatenate()(global_max_pooling2d()(e), global_average_pooling2d()(f), global_max_pooling2d()(c));
    return dense(3)(thresholded_re_lu(0.1)(re_lu(6)(wide)));
  }
};

struct sequences : sc::functional<sequences> {
  static constexpr auto build(auto& builder) {
    auto x = spatial_dropout1d(0.25)(dense(5)(builder.input(12, 3)));
    auto a = max_pooling1d(3, 1)(zero_padding1d(1)(prelu()(x)));
    auto b = up_sampling1d(2)(average_pooling1d(2)(softmax_layer(1)(x)));
    auto c = cropping1d({1, 2})(add()(a, b));
    return dense(2)(concatenate()(global_average_pooling1d()(c), global_max_pooling1d()(c)));
  }
};

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{}, .loss = sc::losses::mean_squared_error{}, .batch_size = 5};

template <class Model, int Threads>
std::vector<float> train() {
  session_steps<Model, training, sc::host<Threads>> s(5);
  for (int k = 0; k < 6; ++k) data::step(s, 7 * k);
  auto result = data::weights(s);
  result.push_back(s.total_loss());
  data::fill(s, 3);
  s.test_step();
  result.push_back(s.total_loss());
  return result;
}

template <class Model>
void check_bits() {
  auto const expected = train<Model, 1>();
  for (float const value : expected) REQUIRE(value == value);
#ifndef STAGECRAFT_TEST_FEWER_MACHINES  // each number of threads is 5 s of compiling
  CHECK(train<Model, 2>() == expected);
#endif
  CHECK(train<Model, 3>() == expected);
}

}  // namespace

TEST_CASE("images") { check_bits<images>(); }
TEST_CASE("sequences") { check_bits<sequences>(); }
