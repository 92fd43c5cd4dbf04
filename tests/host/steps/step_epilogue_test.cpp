// SPDX-License-Identifier: BSD-3-Clause
// A step that is done as the epilogue of the step before it has the bits that it has alone; so has a convolution that
// reads an image without the zeros that a layer puts around it.
#include "../../engine/session_data.hpp"
#include "../../session_steps.hpp"

#include <array>

namespace {

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{}, .batch_size = 5};

/// What is between the steps is an output, too, if `Shown`: then no step is an epilogue.
template <bool Shown>
struct image_block : sc::functional<image_block<Shown>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(5, 4, 6);
    auto a = conv2d(6, 3, {.padding = sc::padding::same, .use_bias = false})(x);
    auto b = batch_normalization()(a);
    auto c = add()(b, x);
    auto d = activation(sc::relu)(c);
    auto e = depthwise_conv2d(3)(d);
    auto f = batch_normalization()(e);
    auto g = leaky_re_lu(0.2F)(f);
    auto y = dense(3)(flatten()(g));
    if constexpr (Shown)
      return sc::outputs(y, a, b, c, e, f);
    else
      return y;
  }
};
template <bool Shown>
struct dense_block : sc::functional<dense_block<Shown>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(9);
    auto a = dense(33)(x);
    auto b = dense(33)(x);
    auto c = dropout(0.25F)(b);
    auto d = multiply()(a, c);
    auto e = d + a;
    auto f = activation(sc::swish)(e);
    auto g = dense(7, sc::tanh)(f);
    auto h = re_lu(0.5F)(g);
    auto y = dense(3)(h);
    if constexpr (Shown)
      return sc::outputs(y, b, c, d, e, g);
    else
      return y;
  }
};
/// Zeros around the model's input, for two readers, on top of each other, and before each kind of convolution.
template <bool Shown>
struct bordered_block : sc::functional<bordered_block<Shown>> {
  static constexpr auto build(auto& model) {
    auto a = zero_padding2d{{{0, 1}, {2, 1}}}(model.input(7, 8, 3));
    auto b = conv2d(18, 3, {.strides = 2})(a);
    auto c = activation(sc::relu)(conv2d(18, {4, 3}, {.strides = 2})(a));
    auto d = zero_padding2d{1}(b + c);
    auto e = zero_padding2d{{{1, 0}, {0, 1}}}(d);
    auto f = depthwise_conv2d(3, {.strides = 2})(e);
    auto g = zero_padding2d{1}(f);
    auto h = separable_conv2d(5, 3, {.depth_multiplier = 2})(g);
    auto y = dense(3)(flatten()(h));
    if constexpr (Shown)
      return sc::outputs(y, a, d, e, g);
    else
      return y;
  }
};

template <class M>
constexpr int epilogues(sc::execution_mode mode) {
  int count = 0;
  auto const add = [&](auto const& model_plan) {
    for (auto const& call : model_plan.calls) count += call.epilogue >= 0;
  };
  if (mode == sc::execution_mode::training)
    add(sc::plan::model_plan_for<sc::jobs::job<M, training, sc::execution_mode::training>>);
  else
    add(sc::plan::model_plan_for<sc::jobs::job<M, training, sc::execution_mode::inference>>);
  return count;
}
constexpr auto train = sc::execution_mode::training, infer = sc::execution_mode::inference;
// Training: the sum and its activation behind the normalization, the slope behind the other one.
static_assert(epilogues<image_block<false>>(train) == 3 && epilogues<image_block<true>>(train) == 0);
static_assert(epilogues<image_block<false>>(infer) == 5 && epilogues<image_block<true>>(infer) == 0);
// Dropout behind dense, the sum behind its first operand; what swish and tanh give, and what is before swish, is read
// by backward steps.
static_assert(epilogues<dense_block<false>>(train) == 2 && epilogues<dense_block<true>>(train) == 0);
static_assert(epilogues<dense_block<false>>(infer) == 3 && epilogues<dense_block<true>>(infer) == 0);

template <class M>
using predicting = typename sc::jobs::job<M, training>::in_inference;
template <class M>
constexpr std::size_t steps = sc::plan::whole_pass_of<predicting<M>, false>.steps.size();
static_assert(steps<bordered_block<true>> - steps<bordered_block<false>> == 4);

template <template <bool> class Block, int Threads>
void check_bits() {
  session_steps<Block<false>, training, sc::host<Threads>> joined(3);
  session_steps<Block<true>, training, sc::host<Threads>> apart(3);
  for (int k = 0; k < 3; ++k) {
    data::step(joined, 5 * k);
    data::step(apart, 5 * k);
    CHECK(joined.loss(0) == apart.loss(0));
  }
  CHECK(data::weights(joined) == data::weights(apart));
  data::fill(joined, 20);
  data::fill(apart, 20);
  joined.predict_step();
  apart.predict_step();
  for (int i = 0; i < 5 * 3; ++i) CHECK(joined.prediction(0)[i] == apart.prediction(0)[i]);
}

}  // namespace

TEST_CASE("steps as epilogues of convolutions, normalizations and sums") { check_bits<image_block, 1>(); }
TEST_CASE("the same on two threads") { check_bits<image_block, 2>(); }
TEST_CASE("steps as epilogues of products, with random numbers") { check_bits<dense_block, 1>(); }
TEST_CASE("zeros around images") {
  check_bits<bordered_block, 1>();
  check_bits<bordered_block, 2>();
}
