// SPDX-License-Identifier: BSD-3-Clause
// Bilinear up-sampling against plain loops, and the bits of several threads.
#include <stagecraft/kernels/pooling/up_sampling.hpp>
#include <doctest/doctest.h>

#include "../share_check.hpp"

namespace {

using namespace share_check;
using kernels::up_sampling_shape;

/// Each output is the sum of inputs times weights, along both axes: calls visit(output, input, weight).
template <class Visit>
void for_each_weight(up_sampling_shape const& shape, Visit const& visit) {
  auto const along = [&](int output, int factor, int length, auto const& each) {
    double const place = (output + 0.5) / factor - 0.5;
    int const below = static_cast<int>(std::floor(place));
    double const weight = place - below;
    auto const clamp = [&](int i) { return i < 0 ? 0 : i < length ? i : length - 1; };
    each(clamp(below), 1 - weight);
    each(clamp(below + 1), weight);
  };
  for (int row = 0; row < shape.output_height(); ++row)
    for (int column = 0; column < shape.output_width(); ++column)
      along(row, shape.factor_height, shape.height, [&](int y, double down) {
        along(column, shape.factor_width, shape.width, [&](int x, double across) {
          for (int channel = 0; channel < shape.channels; ++channel)
            visit((row * shape.output_width() + column) * shape.channels + channel,
                  (y * shape.width + x) * shape.channels + channel, down * across);
        });
      });
}

/// The kernels of one batch size, shape and instruction set. The checks get to know these at run time only, so that a
/// shape costs no more compile time than its kernels.
struct up_sampling_kernels {
  int batch;
  up_sampling_shape shape;
  int lanes;
  void (*forward)(float const* x, float* y, kernels::share part);
  void (*gradient)(bool accumulate, float const* dy, float* dx, kernels::share part);
};

template <int Batch, up_sampling_shape Shape, class Arch>
constexpr up_sampling_kernels up_sampling_of = {
    Batch, Shape, kernels::lanes<Arch>,
    [](float const* x, float* y, kernels::share part) {
      kernels::up_sampling_bilinear<Batch, Shape, Arch>(x, y, part);
    },
    [](bool accumulate, float const* dy, float* dx, kernels::share part) {
      if (accumulate)
        kernels::up_sampling_bilinear_gradient<Batch, Shape, true, Arch>(dy, dx, part);
      else
        kernels::up_sampling_bilinear_gradient<Batch, Shape, false, Arch>(dy, dx, part);
    }};

void check_up_sampling(up_sampling_kernels const& tested) {
  auto const& shape = tested.shape;
  CAPTURE(shape.height);
  CAPTURE(shape.width);
  CAPTURE(shape.channels);
  CAPTURE(tested.lanes);
  int const inputs = tested.batch * shape.input_size(), outputs = tested.batch * shape.output_size();
  buffer x(inputs), y(outputs), dy(outputs), dx(inputs);
  shuffled(x, 1);
  shuffled(dy, 2);
  // Weights are computed in float32, as in TensorFlow: up to 1e-6 from the exact ones in the largest case.
  std::vector<double> expected(static_cast<std::size_t>(outputs)), expected_dx(static_cast<std::size_t>(inputs));
  for (int sample = 0; sample < tested.batch; ++sample)
    for_each_weight(shape, [&](int output, int input, double weight) {
      auto const to = static_cast<std::size_t>(sample * shape.output_size() + output);
      auto const from = static_cast<std::size_t>(sample * shape.input_size() + input);
      expected[to] += weight * static_cast<double>(x.data()[from]);
      expected_dx[from] += weight * static_cast<double>(dy.data()[to]);
    });
  check_shares(y, [&](kernels::share part) { tested.forward(x.data(), y.data(), part); });
  CHECK(deviation(y.data(), expected) < 3e-6);
  check_gradient(dx, expected_dx, 1e-5, [&](bool accumulate, kernels::share part) {
    tested.gradient(accumulate, dy.data(), dx.data(), part);
  });
}

template <int Batch, up_sampling_shape Shape, class... Arch>
void check_up_samplings() {
  (check_up_sampling(up_sampling_of<Batch, Shape, Arch>), ...);
}

}  // namespace

TEST_CASE("images become larger") {
  check_up_samplings<1, up_sampling_shape{}, MATMUL_ARCHITECTURES>();
  check_up_samplings<2, up_sampling_shape{3, 4, 16, 2, 2}, MATMUL_ARCHITECTURES>();
  check_up_samplings<2, up_sampling_shape{3, 5, 7, 3, 1}, MATMUL_ARCHITECTURES>();
  check_up_samplings<1, up_sampling_shape{5, 1, 33, 1, 4}, MATMUL_ARCHITECTURES>();
  check_up_samplings<3, up_sampling_shape{1, 6, 3, 5, 3}, MATMUL_ARCHITECTURES>();
  check_up_samplings<1, up_sampling_shape{2, 2, 70, 2, 2}, MATMUL_ARCHITECTURES>();
  check_up_samplings<1, up_sampling_shape{10, 9, 1, 7, 6}, MATMUL_ARCHITECTURES>();
}
