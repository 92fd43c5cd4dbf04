// SPDX-License-Identifier: BSD-3-Clause
// A gradient inside of a layer's call trains: the gradient of a gradient that the host finds, against differences of
// the losses that it finds.
#include <stagecraft/stagecraft.hpp>
#include <cmath>
#include <doctest/doctest.h>
#include <random>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// The loss is the gradient penalty of WGAN-GP on a critic, added to its scores.
struct critic : sc::layer<critic> {
  static constexpr std::string_view class_name = "Critic";
  constexpr auto call(auto& ops, auto x) const {
    auto const kernel = ops.weight({.name = "kernel", .shape = {3, 4}});
    auto const last = ops.weight({.name = "last", .shape = {8, 1}});
    auto const h = sc::gelu(ops.matmul(x, kernel));
    auto const pooled = ops.max_pool(ops.concatenate({h, square(h)}, 1), {sc::operations::window{2, 2}});
    auto const score = ops.matmul(ops.reshape(pooled, {x.length(0), 8}), last);
    auto const slope = ops.reshape(ops.gradient(score, x), {x.length(0), 6});
    ops.add_loss(square(sqrt(ops.sum(square(slope), -1) + 1e-12F) - 1));
    return score;
  }
};
/// The gradient goes through a layer that is a scan.
struct recurrent : sc::layer<recurrent> {
  static constexpr std::string_view class_name = "Recurrent";
  constexpr auto call(auto& ops, auto x) const {
    auto const y = lstm{2}.call(ops, x);
    auto const slope = ops.gradient(y, x);
    ops.add_loss(square(slope) * 10);
    return ops.sum(y, -1);
  }
};

template <auto Layer>
void check() {
  using network = sc::sequential<input{2, 3}, Layer>;
  static constexpr auto training = sc::training{
      .optimizer = sc::optimizers::sgd{.learning_rate = 1}, .loss = sc::losses::mean_squared_error{}, .batch_size = 4};
  sc::trainer<network, training, sc::host<1>> model(3);
  std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  xt::xtensor<float, 3> x = xt::zeros<float>({4, 2, 3});
  for (float& number : x) number = normal(engine);
  xt::xtensor<float, 2> const y = xt::zeros<float>({4, 1});
  auto const before = model.get_weights();
  auto const loss_of = [&](auto const& weights) {
    model.set_weights(weights);
    return static_cast<double>(model.test_on_batch(x, y)[0]);
  };
  double const loss = loss_of(before);
  REQUIRE(std::isfinite(loss));
  CHECK(model.train_on_batch(x, y)[0] == doctest::Approx(loss));
  auto const after = model.get_weights();
  for (std::size_t w = 0; w < before.size(); ++w) {
    double size = 0, difference = 0;
    for (std::size_t i = 0; i < before[w].values.size(); ++i) {
      auto up = before, down = before;
      up[w].values[i] += 0.01F;
      down[w].values[i] -= 0.01F;
      double const expected = (loss_of(up) - loss_of(down)) / 0.02;
      double const found = static_cast<double>(before[w].values[i]) - static_cast<double>(after[w].values[i]);
      size += expected * expected;
      difference += (expected - found) * (expected - found);
    }
    CAPTURE(w);
    CHECK(size > 1e-6);
    CHECK(std::sqrt(difference / size) < 0.01);
  }
}

}  // namespace

TEST_CASE("a gradient penalty through an activation and a pooling") { check<critic{}>(); }
TEST_CASE("a gradient penalty through a loop") { check<recurrent{}>(); }
