// SPDX-License-Identifier: BSD-3-Clause
// Gradients as arrays: `gradients` and `apply_gradients` have the bits of `train_on_batch`; gradients agree with
// differences of the loss, and may come from anywhere.
#include <stagecraft/steps.hpp>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// Images, a layer with two calls, moving means, dropout, a weight on which nothing depends and a constraint.
struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto x = model.input({6, 6, 2});
    auto twice = conv2d(2, 3, sc::tanh, {.padding = sc::padding::same});
    x = batch_normalization()(twice(twice(x)));
    x = dropout(0.25F)(flatten()(x));
    return dense(3, {.kernel_constraint = sc::constraints::max_norm{1.0F}})(x);
  }
};
inline constexpr auto clipped =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.02F, .clipnorm = 0.5F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 8};

using words = sc::sequential<input{4}, embedding{10, 3}, flatten{}, dense{8, sc::relu}, dense{2}>;
inline constexpr auto plain = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.5F},
                                           .loss = sc::losses::mean_squared_error{},
                                           .batch_size = 8};

/// No value depends on its weight.
struct with_unused_weight : sc::layer<with_unused_weight> {
  static constexpr std::string_view class_name = "WithUnusedWeight";
  constexpr auto call(auto& ops, auto x) const {
    ops.weight({.name = "unused", .shape = {5}});
    return x;
  }
};
struct stops_gradients : sc::layer<stops_gradients> {
  static constexpr std::string_view class_name = "StopsGradients";
  constexpr auto call(auto& ops, auto x) const { return ops.stop_gradient(x); }
};

template <class Array>
Array fill(Array values, float number) {
  for (float& value : values) value = number = number * 3.7F * (1 - number);
  return values;
}
template <class M, auto Training, int Threads>
void compare(auto const& x, auto const& y) {
  sc::trainer<M, Training, sc::host<Threads>> expected;
  sc::trainer<M, Training, sc::with_gradients<sc::host<Threads>>> model, same_trainer;
  auto const before = model.get_weights();
  for (int step = 0; step < 4; ++step) {
    auto const values = expected.train_on_batch(x, y);
    auto const [loss, gradients] = model.gradients(x, y);
    CHECK(loss == values[0]);
    model.apply_gradients(gradients);
    CHECK(same_trainer.train_on_batch(x, y) == values);
  }
  CHECK(model.get_weights() == expected.get_weights());
  CHECK(same_trainer.get_weights() == expected.get_weights());
  CHECK(model.get_optimizer_weights() == expected.get_optimizer_weights());
  CHECK(model.progress().updates == 4);
  CHECK(model.progress().steps == expected.progress().steps);
  CHECK_FALSE(model.get_weights() == before);
}

}  // namespace

TEST_CASE("the bits of train_on_batch") {
  auto const images = fill(xt::xtensor<float, 4>(xt::zeros<float>({8, 6, 6, 2})), 0.1F);
  xt::xtensor<int, 1> const labels{0, 1, 2, 0, 1, 2, 0, 1};
  SUBCASE("one thread") { compare<network, clipped, 1>(images, labels); }
  SUBCASE("two threads") { compare<network, clipped, 2>(images, labels); }
  SUBCASE("weights that backward steps update at once") {
    xt::xtensor<float, 2> const tokens{{0, 1, 2, 3}, {4, 5, 6, 7}, {1, 1, 1, 1}, {2, 3, 2, 3}, {9, 8, 7, 6}};
    compare<words, plain, 1>(tokens, fill(xt::xtensor<float, 2>(xt::zeros<float>({5, 2})), 0.3F));
  }
}

TEST_CASE("gradients are the differences of the loss, and are the caller's to change") {
  using line = sc::sequential<input{3}, dense{4, sc::tanh}, dense{2}>;
  sc::trainer<line, plain, sc::with_gradients<>> model;
  auto const x = fill(xt::xtensor<float, 2>(xt::zeros<float>({8, 3})), 0.2F);
  auto const y = fill(xt::xtensor<float, 2>(xt::zeros<float>({8, 2})), 0.4F);
  auto const weights = model.get_weights();
  auto [loss, gradients] = model.gradients(x, y);
  CHECK(model.get_weights() == weights);
  REQUIRE(gradients.size() == 4);
  CHECK(gradients[0].name == "dense/kernel:0");
  CHECK(gradients[0].shape == std::vector<int>{3, 4});
  auto const found = gradients;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    bool any = false;
    for (std::size_t k = 0; k < weights[i].values.size(); ++k) {
      double losses[2];
      for (int side = 0; side < 2; ++side) {
        auto moved = weights;
        moved[i].values[k] += side == 0 ? 1e-2F : -1e-2F;
        model.set_weights(moved);
        losses[side] = model.test_on_batch(x, y)[0];
      }
      CHECK(static_cast<double>(found[i].values[k]) == doctest::Approx((losses[0] - losses[1]) / 2e-2).epsilon(2e-3));
      any = any || found[i].values[k] != 0;
    }
    CHECK(any);
  }
  model.set_weights(weights);

  for (auto& each : gradients)
    for (float& value : each.values) value = 1;
  gradients[1].values.assign(4, 0);
  model.apply_gradients(gradients);
  auto const after = model.get_weights();
  for (std::size_t k = 0; k < 12; ++k)
    CHECK(after[0].values[k] == doctest::Approx(weights[0].values[k] - 0.1F).epsilon(1e-5));
  CHECK(after[1] == weights[1]);

  auto wrong = gradients;
  wrong[0].shape = {4, 3};
  CHECK_THROWS_WITH_AS(model.apply_gradients(wrong),
                       "apply_gradients: expected 'dense/kernel:0' of shape (3, 4), found 'dense/kernel:0' of shape "
                       "(4, 3), 12 values [E4009]",
                       sc::data_error);
  wrong.pop_back();
  CHECK_THROWS_WITH_AS(model.apply_gradients(wrong), "apply_gradients: expected 4 gradients, found 3 [E4009]",
                       sc::data_error);
  CHECK(model.get_weights() == after);
}

TEST_CASE("a weight on which no loss depends has a gradient of zeros, also after the caller has changed it") {
  using network = sc::sequential<input{3}, dense{4}, stops_gradients{}, with_unused_weight{}, dense{2}>;
  sc::trainer<network, plain, sc::with_gradients<>> model;
  auto const x = fill(xt::xtensor<float, 2>(xt::zeros<float>({8, 3})), 0.2F);
  auto const y = fill(xt::xtensor<float, 2>(xt::zeros<float>({8, 2})), 0.4F);
  auto& gradients = model.gradients(x, y).gradients;
  REQUIRE(gradients.size() == 5);  // the first dense layer's, the unused one, the last layer's
  for (std::size_t i = 0; i < 3; ++i) gradients[i].values.assign(gradients[i].values.size(), 1);
  model.apply_gradients(gradients);
  model.gradients(x, y);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(gradients[i].name);
    CHECK((gradients[i].values == std::vector<float>(gradients[i].values.size(), 0.0F)) == (i < 3));
  }
}
