// SPDX-License-Identifier: BSD-3-Clause
// Pooling with windows, and over all positions, against plain loops; ties, NaN, and the bits of several threads.
#include <stagecraft/kernels/average_pooling.hpp>
#include <stagecraft/kernels/global_pooling.hpp>
#include <stagecraft/kernels/max_pooling.hpp>
#include <stagecraft/kernels/reference_pooling.hpp>
#include <doctest/doctest.h>

#include "share_check.hpp"

namespace {

namespace kernels = stagecraft::kernels;
using kernels::pooling_shape;
using matmul_cases::buffer;
using share_check::check_shares;
using share_check::shuffled;

/// Calls test.operator()<Batch, Shape>() for windows that overlap, touch or leave gaps, with and without padding, and
/// channels around the registers' sizes.
template <class Test>
void for_each_pooling(Test const& test) {
  test.template operator()<1, pooling_shape{}>();
  test.template operator()<2, pooling_shape{4, 4, 16, 2, 2, 2, 2}>();
  test.template operator()<3, pooling_shape{5, 7, 17, 2, 2, 2, 2}>();
  test.template operator()<2, pooling_shape{5, 7, 15, 2, 2, 2, 2, 0, 0, 1, 1}>();
  test.template operator()<2, pooling_shape{6, 5, 33, 3, 3, 2, 2, 1, 1, 0, 1}>();
  test.template operator()<1, pooling_shape{7, 7, 8, 3, 3, 1, 1, 1, 1, 1, 1}>();
  test.template operator()<2, pooling_shape{9, 8, 3, 2, 3, 3, 4}>();
  test.template operator()<2, pooling_shape{1, 13, 5, 1, 4, 1, 3, 0, 1, 0, 1}>();
  test.template operator()<2, pooling_shape{8, 3, 1, 5, 1, 1, 2, 2, 0, 2, 0}>();
  test.template operator()<1, pooling_shape{17, 18, 19, 17, 17, 1, 1}>();     // positions of two bytes
  test.template operator()<1, pooling_shape{300, 301, 2, 300, 300, 1, 1}>();  // of four bytes
}

/// One register of positions is readable behind them.
template <pooling_shape Shape, int Batch>
struct positions {
  static constexpr int count = Batch * Shape.output_size();
  std::vector<kernels::pooling_position<Shape>> values =
      std::vector<kernels::pooling_position<Shape>>(static_cast<std::size_t>(count) + 16, 77);
  bool guard_is_intact() const {
    for (std::size_t i = 0; i < 16; ++i)
      if (values[static_cast<std::size_t>(count) + i] != 77) return false;
    return true;
  }
};

template <int Batch, pooling_shape Shape, class Arch>
void check_max(void (*fill)(buffer&, unsigned)) {
  CAPTURE(Shape.height);
  CAPTURE(Shape.width);
  CAPTURE(Shape.channels);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int inputs = Batch * Shape.input_size(), outputs = Batch * Shape.output_size();
  buffer x(inputs), y(outputs), trained(outputs), expected(outputs), dy(outputs), dx(inputs, -1), expected_dx(inputs);
  positions<Shape, Batch> kept;
  std::vector<int> winners(static_cast<std::size_t>(outputs));
  fill(x, 1);
  dy.fill(2);
  kernels::reference::max_pooling(Batch, Shape, x.data(), expected.data(), winners.data());
  for (int i = 0; i < outputs; ++i) expected_dx.data()[winners[static_cast<std::size_t>(i)]] += dy.data()[i];

  kernels::max_pooling<Batch, Shape, Arch>(x.data(), y.data());
  CHECK(std::memcmp(y.data(), expected.data(), sizeof(float) * outputs) == 0);
  CHECK(y.guard_is_intact());
  kernels::max_pooling<Batch, Shape, Arch>(x.data(), trained.data(), kept.values.data());
  CHECK(std::memcmp(trained.data(), expected.data(), sizeof(float) * outputs) == 0);
  CHECK(kept.guard_is_intact());

  kernels::max_pooling_gradient<Batch, Shape, false, Arch>(kept.values.data(), dy.data(), dx.data());
  CHECK(matmul_cases::first_difference(dx.data(), expected_dx.data(), inputs) == -1);
  kernels::max_pooling_gradient<Batch, Shape, true, Arch>(kept.values.data(), dy.data(), dx.data());
  for (int i = 0; i < inputs; ++i) expected_dx.data()[i] *= 2;
  CHECK(matmul_cases::first_difference(dx.data(), expected_dx.data(), inputs) == -1);
  CHECK(dx.guard_is_intact());
}

void with_ties_and_nan(buffer& values, unsigned seed) {
  values.fill(seed);
  float const special[] = {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
  for (int i = 0; i < values.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    if ((seed >> 16U) % 3U == 0) values.data()[i] = special[(seed >> 20U) % 4U];
  }
}

template <int Batch, pooling_shape Shape, class Arch>
void check_average() {
  CAPTURE(Shape.height);
  CAPTURE(Shape.width);
  CAPTURE(Shape.channels);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int inputs = Batch * Shape.input_size(), outputs = Batch * Shape.output_size();
  buffer x(inputs), y(outputs), dy(outputs), dx(inputs, -1);
  std::vector<double> expected(static_cast<std::size_t>(outputs)), expected_dx(static_cast<std::size_t>(inputs));
  std::vector<int> counts(static_cast<std::size_t>(outputs));
  shuffled(x, 1);
  shuffled(dy, 2);
  kernels::reference::average_pooling(Batch, Shape, x.data(), expected.data(), counts.data());
  kernels::reference::for_each_pooled_cell(Batch, Shape, [&](int output, int, int input) {
    expected_dx[static_cast<std::size_t>(input)] +=
        static_cast<double>(dy.data()[output]) / counts[static_cast<std::size_t>(output)];
  });
  kernels::average_pooling<Batch, Shape, Arch>(x.data(), y.data());
  CHECK(share_check::deviation(y.data(), expected) < 1e-6);
  CHECK(y.guard_is_intact());
  share_check::check_gradient(dx, expected_dx, 1e-6, [&](auto accumulate, kernels::share part) {
    kernels::average_pooling_gradient<Batch, Shape, accumulate(), Arch>(dy.data(), dx.data(), part);
  });
}

template <int Batch, pooling_shape Shape>
void check_bits() {
  CAPTURE(Shape.height);
  buffer x(Batch * Shape.input_size()), y(Batch * Shape.output_size()), dy(Batch * Shape.output_size()),
      dx(Batch * Shape.input_size());
  positions<Shape, Batch> kept;
  shuffled(x, 1);
  shuffled(dy, 2);
  check_shares(y, [&](kernels::share part) {
    kernels::max_pooling<Batch, Shape>(x.data(), y.data(), kept.values.data(), part);
  });
  check_shares(dx, [&](kernels::share part) {
    kernels::max_pooling_gradient<Batch, Shape>(kept.values.data(), dy.data(), dx.data(), part);
  });
  check_shares(y, [&](kernels::share part) { kernels::average_pooling<Batch, Shape>(x.data(), y.data(), part); });
  check_shares(
      dx, [&](kernels::share part) { kernels::average_pooling_gradient<Batch, Shape>(dy.data(), dx.data(), part); });
}

template <int Batch, int Positions, int Channels, class Arch>
void check_global() {
  CAPTURE(Positions);
  CAPTURE(Channels);
  CAPTURE(kernels::lanes<Arch>);
  constexpr pooling_shape whole{1, Positions, Channels, 1, Positions};
  constexpr int inputs = Batch * Positions * Channels, outputs = Batch * Channels;
  buffer x(inputs), y(outputs), dy(outputs), dx(inputs, -1), expected(inputs);
  shuffled(x, 3);
  dy.fill(4);
  std::vector<double> mean(outputs);
  std::vector<int> counts(outputs);
  kernels::reference::average_pooling(Batch, whole, x.data(), mean.data(), counts.data());
  kernels::global_average_pooling<Batch, Positions, Channels, Arch>(x.data(), y.data());
  double worst = 0;
  for (int i = 0; i < outputs; ++i)
    worst = std::fmax(worst, std::fabs(static_cast<double>(y.data()[i]) - mean[static_cast<std::size_t>(i)]));
  CHECK(worst < 1e-6);
  CHECK(y.guard_is_intact());
  kernels::global_average_pooling_gradient<Batch, Positions, Channels, false, Arch>(dy.data(), dx.data());
  kernels::global_average_pooling_gradient<Batch, Positions, Channels, true, Arch>(dy.data(), dx.data());
  for (int i = 0; i < inputs; ++i)
    expected.data()[i] =
        2 * (dy.data()[i / (Positions * Channels) * Channels + i % Channels] * (1.0F / static_cast<float>(Positions)));
  CHECK(matmul_cases::first_difference(dx.data(), expected.data(), inputs) == -1);
  CHECK(dx.guard_is_intact());

  x.fill(5);  // with ties
  kernels::global_max_pooling<Batch, Positions, Channels, Arch>(x.data(), y.data());
  kernels::reference::max_pooling(Batch, whole, x.data(), expected.data(), counts.data());
  CHECK(matmul_cases::first_difference(y.data(), expected.data(), outputs) == -1);
  for (int& count : counts) count = 0;
  auto const output_of = [](int i) { return i / (Positions * Channels) * Channels + i % Channels; };
  for (int i = 0; i < inputs; ++i)
    counts[static_cast<std::size_t>(output_of(i))] += x.data()[i] == y.data()[output_of(i)];
  kernels::global_max_pooling_gradient<Batch, Positions, Channels, false, Arch>(x.data(), y.data(), dy.data(),
                                                                                dx.data());
  kernels::global_max_pooling_gradient<Batch, Positions, Channels, true, Arch>(x.data(), y.data(), dy.data(),
                                                                               dx.data());
  for (int i = 0; i < inputs; ++i) {
    int const output = output_of(i);
    float const part = 1.0F / static_cast<float>(counts[static_cast<std::size_t>(output)]) * dy.data()[output];
    expected.data()[i] = x.data()[i] == y.data()[output] ? 2 * part : 0;
  }
  CHECK(matmul_cases::first_difference(dx.data(), expected.data(), inputs) == -1);

  check_shares(y, [&](kernels::share part) {
    kernels::global_max_pooling<Batch, Positions, Channels, Arch>(x.data(), y.data(), part);
  });
  check_shares(dx, [&](kernels::share part) {
    kernels::global_max_pooling_gradient<Batch, Positions, Channels, false, Arch>(x.data(), y.data(), dy.data(),
                                                                                  dx.data(), part);
  });
  check_shares(dx, [&](kernels::share part) {
    kernels::global_average_pooling_gradient<Batch, Positions, Channels, false, Arch>(dy.data(), dx.data(), part);
  });
}

template <int Batch, int Positions, int Channels, class... Arch>
void check_globals() {
  (check_global<Batch, Positions, Channels, Arch>(), ...);
}
template <int Batch, pooling_shape Shape, class... Arch>
void check_maxima() {
  (check_max<Batch, Shape, Arch>(&shuffled), ...);
  (check_max<Batch, Shape, Arch>(&with_ties_and_nan), ...);
}
template <int Batch, pooling_shape Shape, class... Arch>
void check_averages() {
  (check_average<Batch, Shape, Arch>(), ...);
}

}  // namespace

TEST_CASE("the largest value of a window, and the way back to it") {
  for_each_pooling([]<int Batch, pooling_shape Shape>() { check_maxima<Batch, Shape, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("the mean of a window, and the way back to its cells") {
  for_each_pooling([]<int Batch, pooling_shape Shape>() { check_averages<Batch, Shape, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("the bits of pooling do not depend on the number of threads") {
  for_each_pooling([]<int Batch, pooling_shape Shape>() { check_bits<Batch, Shape>(); });
}

TEST_CASE("over all positions of a sample") {
  check_globals<1, 1, 1, MATMUL_ARCHITECTURES>();
  check_globals<3, 7, 5, MATMUL_ARCHITECTURES>();
  check_globals<2, 49, 16, MATMUL_ARCHITECTURES>();
  check_globals<2, 10, 33, MATMUL_ARCHITECTURES>();
  check_globals<2, 6, 79, MATMUL_ARCHITECTURES>();
  check_globals<1, 5, 130, MATMUL_ARCHITECTURES>();
}

TEST_CASE("NaN over all positions of a sample") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  float const x[] = {1, nan, 3, 2, 5, 2, 3, 4, nan, 1, 3, 7};  // four channels
  float y[4], dx[12];
  float const dy[] = {1, 1, 1, 1};
  kernels::global_max_pooling<1, 3, 4>(x, y);
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[1]));
  CHECK(y[2] == 3);
  CHECK(y[3] == 7);
  kernels::global_max_pooling_gradient<1, 3, 4>(x, y, dy, dx);
  for (int i = 0; i < 12; ++i) CHECK(std::isnan(dx[i]) == (i % 4 < 2));
  CHECK(dx[2] == 1.0F / 3);
  CHECK(dx[7] == 0);
  CHECK(dx[11] == 1);
}
