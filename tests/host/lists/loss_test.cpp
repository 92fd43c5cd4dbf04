// SPDX-License-Identifier: BSD-3-Clause
// Losses that are written as a `call`: the values and gradients of the library's own, or computed by hand.
#include <stagecraft/description/training.hpp>
#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/kernels/loss/loss.hpp>
#include <stagecraft/losses/regression.hpp>
#include <stagecraft/pipeline.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <doctest/doctest.h>

#include "../../session_steps.hpp"

namespace sc = stagecraft;

namespace {

struct quantile : sc::loss<quantile> {
  float q;
  constexpr explicit quantile(float q_ = 0.5F) : q(q_) {}
  constexpr auto call(auto target, auto output) const {
    auto const error = target - output;
    return maximum(error * q, error * (q - 1));
  }
};
struct own_huber : sc::loss<own_huber> {
  float delta;
  constexpr explicit own_huber(float delta_) : delta(delta_) {}
  constexpr auto call(auto target, auto output) const {
    auto const error = abs(output - target);
    return where(error <= delta, error * error * 0.5F, error * delta - 0.5F * delta * delta);
  }
};
/// No options.
struct relative : sc::loss<relative> {
  constexpr auto call(auto target, auto output) const { return square((output - target) / (square(target) + 1.0F)); }
};

/// Of a row as a whole.
struct distance : sc::loss<distance> {
  constexpr auto call(auto& ops, auto target, auto output) const {
    return sqrt(ops.sum(square(output - target), -1) + 0.01F);
  }
};

/// Of the row's Gram matrix: a product with a transposed operand, which needs a workspace of its own.
struct gram : sc::loss<gram> {
  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const error = ops.reshape(target - output, {target.length(-1), 1});
    return ops.reshape(ops.sum(ops.matmul(error, error, {.transpose_b = true}), {0, 1}), {1, 1});
  }
};

constexpr int rows = 3, columns = 5;
struct batch {
  std::array<float, rows * columns> target{}, output{};
  std::array<float, rows> scale{0.5F, 0, 2};
};
batch numbers() {
  batch drawn;
  for (int i = 0; i < rows * columns; ++i) {
    auto const at = static_cast<std::size_t>(i);
    drawn.target[at] = static_cast<float>(i % 4) - 1.5F;
    drawn.output[at] = static_cast<float>(i % 7) * 0.6F - 1.7F;
  }
  return drawn;
}

template <auto Loss>
std::pair<float, std::array<float, rows * columns>> computed(batch const& of) {
  std::array<float, rows * columns> gradient{};
  float const value = sc::kernels::loss<Loss, rows, columns>(of.target.data(), of.output.data(), of.scale.data(),
                                                             gradient.data(), nullptr);
  CHECK(sc::kernels::loss<Loss, rows, columns>(of.target.data(), of.output.data(), of.scale.data(), nullptr, nullptr) ==
        value);
  return {value, gradient};
}

}  // namespace

TEST_CASE("quantile") {
  auto const of = numbers();
  auto const [value, gradient] = computed<quantile{0.9F}>(of);
  double expected = 0;
  for (int i = 0; i < rows * columns; ++i) {
    auto const at = static_cast<std::size_t>(i);
    double const error = static_cast<double>(of.target[at]) - static_cast<double>(of.output[at]);
    double const scale = static_cast<double>(of.scale[at / columns]) / columns;
    expected += scale * (error > 0 ? 0.9 * error : -0.1 * error);
    CHECK(gradient[at] == doctest::Approx(scale * (error > 0 ? -0.9 : 0.1)).epsilon(1e-6));
  }
  CHECK(value == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("the library's Huber loss, written as a call") {
  auto const of = numbers();
  auto const [own, own_gradient] = computed<own_huber{0.8F}>(of);
  auto const [built_in, gradient] = computed<sc::losses::huber{.delta = 0.8F}>(of);
  CHECK(own == doctest::Approx(built_in).epsilon(1e-6));
  for (std::size_t i = 0; i < gradient.size(); ++i) CHECK(std::abs(own_gradient[i] - gradient[i]) < 1e-6F);
}

TEST_CASE("the distance of a row") {
  auto const of = numbers();
  auto const [value, gradient] = computed<distance{}>(of);
  double expected = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0.01;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i)
      sum += std::pow(static_cast<double>(of.output[i]) - static_cast<double>(of.target[i]), 2);
    expected += static_cast<double>(of.scale[row]) * std::sqrt(sum);
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i)
      CHECK(gradient[i] == doctest::Approx(static_cast<double>(of.scale[row]) *
                                           static_cast<double>(of.output[i] - of.target[i]) / std::sqrt(sum))
                               .epsilon(1e-5));
  }
  CHECK(value == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("the Gram matrix of a row") {
  auto const of = numbers();
  auto const [value, gradient] = computed<gram{}>(of);
  double expected = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i)
      sum += static_cast<double>(of.target[i]) - static_cast<double>(of.output[i]);
    expected += static_cast<double>(of.scale[row]) * sum * sum;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i)
      CHECK(gradient[i] == doctest::Approx(-2 * static_cast<double>(of.scale[row]) * sum).epsilon(1e-5));
  }
  CHECK(value == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("a gradient may be written over the predictions") {
  auto of = numbers();
  auto const [value, gradient] = computed<relative{}>(of);
  float const again = sc::kernels::loss<relative{}, rows, columns>(of.target.data(), of.output.data(), of.scale.data(),
                                                                   of.output.data(), nullptr);
  CHECK(again == value);
  CHECK(of.output == gradient);
}

TEST_CASE("training finds the quantile") {
  using namespace sc::layers;
  using constant = sc::sequential<input{1}, dense{1}>;
  static constexpr auto training =
      sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F}, .loss = quantile{0.8F}, .batch_size = 10};
  session_steps<constant, training, sc::host<>> session;
  for (int step = 0; step < 500; ++step) {
    for (int i = 0; i < 10; ++i) session.target<0>()[i] = static_cast<float>(i);
    std::fill_n(session.input(0), 10, 0.0F);
    std::fill_n(session.scale(0), 10, 0.1F);
    session.train_step([] {});
  }
  CHECK(session.weight(1)[0] > 6.9F);
  CHECK(session.weight(1)[0] < 8.1F);
}
