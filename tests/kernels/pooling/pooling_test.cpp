// SPDX-License-Identifier: BSD-3-Clause
// Pooling with windows, and over all positions, against plain loops; ties, NaN, and the bits of several threads.
#include <stagecraft/kernels/pooling/average_pooling.hpp>
#include <stagecraft/kernels/pooling/global_pooling.hpp>
#include <stagecraft/kernels/pooling/max_pooling.hpp>
#include <doctest/doctest.h>

#include "../share_check.hpp"
#include "reference_pooling.hpp"

namespace {

namespace kernels = stagecraft::kernels;
using kernels::pooling_shape;
using matmul_cases::buffer;
using share_check::check_shares;
using share_check::shuffled;

/// The kernels of one batch size, shape and instruction set. The checks get to know these at run time only, so that a
/// shape costs no more compile time than its kernels.
struct pooling_kernels {
  int batch;
  pooling_shape shape;
  int lanes;
  void (*max)(float const* x, float* y, void* positions, kernels::share part);
  void (*max_gradient)(bool accumulate, void const* positions, float const* dy, float* dx, kernels::share part);
  void (*average)(float const* x, float* y, kernels::share part);
  void (*average_gradient)(bool accumulate, float const* dy, float* dx, kernels::share part);

  int inputs() const { return batch * shape.input_size(); }
  int outputs() const { return batch * shape.output_size(); }
};

template <int Batch, pooling_shape Shape, class Arch>
constexpr pooling_kernels pooling_of = {
    Batch,
    Shape,
    kernels::lanes<Arch>,
    [](float const* x, float* y, void* positions, kernels::share part) {
      kernels::max_pooling<Batch, Shape, Arch>(x, y, static_cast<kernels::pooling_position<Shape>*>(positions), part);
    },
    [](bool accumulate, void const* positions, float const* dy, float* dx, kernels::share part) {
      auto const* const kept = static_cast<kernels::pooling_position<Shape> const*>(positions);
      if (accumulate)
        kernels::max_pooling_gradient<Batch, Shape, true, Arch>(kept, dy, dx, part);
      else
        kernels::max_pooling_gradient<Batch, Shape, false, Arch>(kept, dy, dx, part);
    },
    [](float const* x, float* y, kernels::share part) { kernels::average_pooling<Batch, Shape, Arch>(x, y, part); },
    [](bool accumulate, float const* dy, float* dx, kernels::share part) {
      if (accumulate)
        kernels::average_pooling_gradient<Batch, Shape, true, Arch>(dy, dx, part);
      else
        kernels::average_pooling_gradient<Batch, Shape, false, Arch>(dy, dx, part);
    }};

template <int Batch, pooling_shape Shape, class... Arch>
void on_architectures(void (*check)(pooling_kernels const&)) {
  (check(pooling_of<Batch, Shape, Arch>), ...);
}

/// Calls `check` for windows that overlap, touch or leave gaps, with and without padding, and channels around the
/// registers' sizes, with each instruction set.
void for_each_pooling(void (*check)(pooling_kernels const&)) {
  on_architectures<1, pooling_shape{}, MATMUL_ARCHITECTURES>(check);
  // Windows that touch: they cover the input; leave its last column; cover it with padding at the end.
  on_architectures<2, pooling_shape{4, 4, 16, 2, 2, 2, 2}, MATMUL_ARCHITECTURES>(check);
  on_architectures<3, pooling_shape{5, 7, 17, 2, 2, 2, 2}, MATMUL_ARCHITECTURES>(check);
  on_architectures<2, pooling_shape{5, 7, 15, 2, 2, 2, 2, 0, 0, 1, 1}, MATMUL_ARCHITECTURES>(check);
  // Windows that overlap, with padding on some sides and on all.
  on_architectures<2, pooling_shape{6, 5, 33, 3, 3, 2, 2, 1, 1, 0, 1}, MATMUL_ARCHITECTURES>(check);
  on_architectures<1, pooling_shape{7, 7, 8, 3, 3, 1, 1, 1, 1, 1, 1}, MATMUL_ARCHITECTURES>(check);
  // Gaps between windows along both axes; a sequence; overlaps along one axis and gaps along the other.
  on_architectures<2, pooling_shape{9, 8, 3, 2, 3, 3, 4}, MATMUL_ARCHITECTURES>(check);
  on_architectures<2, pooling_shape{1, 13, 5, 1, 4, 1, 3, 0, 1, 0, 1}, MATMUL_ARCHITECTURES>(check);
  on_architectures<2, pooling_shape{8, 3, 1, 5, 1, 1, 2, 2, 0, 2, 0}, MATMUL_ARCHITECTURES>(check);
  // Positions of two bytes, and of four.
  on_architectures<1, pooling_shape{17, 18, 19, 17, 17, 1, 1}, MATMUL_ARCHITECTURES>(check);
  on_architectures<1, pooling_shape{300, 301, 2, 300, 300, 1, 1}, MATMUL_ARCHITECTURES>(check);
}

/// One register of positions is readable behind them.
class positions {
 public:
  explicit positions(pooling_kernels const& of)
      : size_(static_cast<std::size_t>(of.outputs() * of.shape.position_bytes())),
        bytes_(size_ + static_cast<std::size_t>(16 * of.shape.position_bytes()), 77) {}

  void* data() { return bytes_.data(); }
  bool guard_is_intact() const {
    for (std::size_t i = size_; i < bytes_.size(); ++i)
      if (bytes_[i] != 77) return false;
    return true;
  }

 private:
  std::size_t size_;
  std::vector<unsigned char> bytes_;
};

/// The same bits, or NaN in both, of which there are several.
bool same_bits(buffer& a, buffer& b) {
  for (int i = 0; i < a.size(); ++i) {
    bool const are_nan = a.data()[i] != a.data()[i] && b.data()[i] != b.data()[i];
    if (!are_nan && std::memcmp(a.data() + i, b.data() + i, sizeof(float)) != 0) return false;
  }
  return true;
}

void check_max(pooling_kernels const& tested, void (*fill)(buffer&, unsigned)) {
  CAPTURE(tested.shape.height);
  CAPTURE(tested.shape.width);
  CAPTURE(tested.shape.channels);
  CAPTURE(tested.lanes);
  int const inputs = tested.inputs(), outputs = tested.outputs();
  buffer x(inputs), y(outputs), trained(outputs), expected(outputs), dy(outputs), dx(inputs, -1), expected_dx(inputs);
  positions kept(tested);
  std::vector<int> winners(static_cast<std::size_t>(outputs));
  fill(x, 1);
  dy.fill(2);
  kernels::reference::max_pooling(tested.batch, tested.shape, x.data(), expected.data(), winners.data());
  for (int i = 0; i < outputs; ++i) expected_dx.data()[winners[static_cast<std::size_t>(i)]] += dy.data()[i];

  tested.max(x.data(), y.data(), nullptr, {});
  CHECK(same_bits(y, expected));
  CHECK(y.guard_is_intact());
  tested.max(x.data(), trained.data(), kept.data(), {});
  CHECK(same_bits(trained, expected));
  CHECK(kept.guard_is_intact());

  tested.max_gradient(false, kept.data(), dy.data(), dx.data(), {});
  CHECK(matmul_cases::first_difference(dx.data(), expected_dx.data(), inputs) == -1);
  tested.max_gradient(true, kept.data(), dy.data(), dx.data(), {});
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

void check_average(pooling_kernels const& tested) {
  CAPTURE(tested.shape.height);
  CAPTURE(tested.shape.width);
  CAPTURE(tested.shape.channels);
  CAPTURE(tested.lanes);
  int const inputs = tested.inputs(), outputs = tested.outputs();
  buffer x(inputs), y(outputs), dy(outputs), dx(inputs, -1);
  std::vector<double> expected(static_cast<std::size_t>(outputs)), expected_dx(static_cast<std::size_t>(inputs));
  std::vector<int> counts(static_cast<std::size_t>(outputs));
  shuffled(x, 1);
  shuffled(dy, 2);
  kernels::reference::average_pooling(tested.batch, tested.shape, x.data(), expected.data(), counts.data());
  kernels::reference::for_each_pooled_cell(tested.batch, tested.shape, [&](int output, int, int input) {
    expected_dx[static_cast<std::size_t>(input)] +=
        static_cast<double>(dy.data()[output]) / counts[static_cast<std::size_t>(output)];
  });
  tested.average(x.data(), y.data(), {});
  CHECK(share_check::deviation(y.data(), expected) < 1e-6);
  CHECK(y.guard_is_intact());
  share_check::check_gradient(dx, expected_dx, 1e-6, [&](bool accumulate, kernels::share part) {
    tested.average_gradient(accumulate, dy.data(), dx.data(), part);
  });
}

void check_bits(pooling_kernels const& tested) {
  CAPTURE(tested.shape.height);
  CAPTURE(tested.lanes);
  buffer x(tested.inputs()), y(tested.outputs()), dy(tested.outputs()), dx(tested.inputs());
  positions kept(tested);
  shuffled(x, 1);
  shuffled(dy, 2);
  check_shares(y, [&](kernels::share part) { tested.max(x.data(), y.data(), kept.data(), part); });
  check_shares(dx, [&](kernels::share part) { tested.max_gradient(false, kept.data(), dy.data(), dx.data(), part); });
  check_shares(y, [&](kernels::share part) { tested.average(x.data(), y.data(), part); });
  check_shares(dx, [&](kernels::share part) { tested.average_gradient(false, dy.data(), dx.data(), part); });
}

/// The same for windows that hold all positions of a sample.
struct global_kernels {
  int batch;
  int positions;
  int channels;
  int lanes;
  void (*max)(float const* x, float* y, kernels::share part);
  void (*max_gradient)(bool accumulate, float const* x, float const* y, float const* dy, float* dx,
                       kernels::share part);
};

template <int Batch, int Positions, int Channels, class Arch>
constexpr global_kernels global_of = {
    Batch,
    Positions,
    Channels,
    kernels::lanes<Arch>,
    [](float const* x, float* y, kernels::share part) {
      kernels::global_max_pooling<Batch, Positions, Channels, Arch>(x, y, part);
    },
    [](bool accumulate, float const* x, float const* y, float const* dy, float* dx, kernels::share part) {
      if (accumulate)
        kernels::global_max_pooling_gradient<Batch, Positions, Channels, true, Arch>(x, y, dy, dx, part);
      else
        kernels::global_max_pooling_gradient<Batch, Positions, Channels, false, Arch>(x, y, dy, dx, part);
    }};

void check_global(global_kernels const& tested) {
  CAPTURE(tested.positions);
  CAPTURE(tested.channels);
  CAPTURE(tested.lanes);
  pooling_shape const whole{1, tested.positions, tested.channels, 1, tested.positions};
  int const sample = tested.positions * tested.channels;
  int const inputs = tested.batch * sample, outputs = tested.batch * tested.channels;
  buffer x(inputs), y(outputs), dy(outputs), dx(inputs, -1), expected(inputs);
  dy.fill(4);
  std::vector<int> counts(static_cast<std::size_t>(outputs));
  auto const output_of = [&](int i) { return i / sample * tested.channels + i % tested.channels; };
  x.fill(5);  // with ties
  tested.max(x.data(), y.data(), {});
  kernels::reference::max_pooling(tested.batch, whole, x.data(), expected.data(), counts.data());
  CHECK(matmul_cases::first_difference(y.data(), expected.data(), outputs) == -1);
  for (int& count : counts) count = 0;
  for (int i = 0; i < inputs; ++i)
    counts[static_cast<std::size_t>(output_of(i))] += x.data()[i] == y.data()[output_of(i)];
  tested.max_gradient(false, x.data(), y.data(), dy.data(), dx.data(), {});
  tested.max_gradient(true, x.data(), y.data(), dy.data(), dx.data(), {});
  for (int i = 0; i < inputs; ++i) {
    int const output = output_of(i);
    float const part = 1.0F / static_cast<float>(counts[static_cast<std::size_t>(output)]) * dy.data()[output];
    expected.data()[i] = x.data()[i] == y.data()[output] ? 2 * part : 0;
  }
  CHECK(matmul_cases::first_difference(dx.data(), expected.data(), inputs) == -1);

  check_shares(y, [&](kernels::share part) { tested.max(x.data(), y.data(), part); });
  check_shares(
      dx, [&](kernels::share part) { tested.max_gradient(false, x.data(), y.data(), dy.data(), dx.data(), part); });
}

template <int Batch, int Positions, int Channels, class... Arch>
void check_globals() {
  (check_global(global_of<Batch, Positions, Channels, Arch>), ...);
}

}  // namespace

TEST_CASE("the largest value of a window, and the way back to it") {
  for_each_pooling([](pooling_kernels const& tested) {
    check_max(tested, &shuffled);
    check_max(tested, &with_ties_and_nan);
  });
}

TEST_CASE("the mean of a window, and the way back to its cells") { for_each_pooling(&check_average); }

TEST_CASE("the bits of pooling do not depend on the number of threads") { for_each_pooling(&check_bits); }

TEST_CASE("over all positions of a sample") {
  // Fewer positions than partial sums, and as many or more with a rest; one channel to more than four registers' worth.
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
