// SPDX-License-Identifier: BSD-3-Clause
// Borders and up-sampling against plain loops, and the bits of several threads.
#include <stagecraft/kernels/borders.hpp>
#include <stagecraft/kernels/up_sampling.hpp>
#include <doctest/doctest.h>

#include "share_check.hpp"

namespace {

using namespace share_check;
using kernels::border_shape;
using kernels::up_sampling_shape;

template <int Batch, border_shape Shape, class Arch>
void check_border() {
  CAPTURE(Shape.height);
  CAPTURE(Shape.channels);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int inner = Batch * Shape.size(), outer = Batch * Shape.outer_size();
  buffer image(inner), large(outer), found(outer), middle(inner);
  shuffled(image, 1);
  shuffled(large, 2);
  std::vector<double> with_border(outer), without(inner);
  for (int sample = 0; sample < Batch; ++sample)
    for (int row = 0; row < Shape.height; ++row)
      for (int i = 0; i < Shape.width * Shape.channels; ++i) {
        auto const from = static_cast<std::size_t>((sample * Shape.height + row) * Shape.width * Shape.channels + i);
        auto const to = static_cast<std::size_t>(
            ((sample * Shape.outer_height() + row + Shape.top) * Shape.outer_width() + Shape.left) * Shape.channels +
            i);
        with_border[to] = static_cast<double>(image.data()[from]);
        without[from] = static_cast<double>(large.data()[to]);
      }
  check_gradient(found, with_border, 2e-7, [&](auto accumulate, kernels::share part) {
    kernels::add_border<Batch, Shape, accumulate(), Arch>(image.data(), found.data(), part);
  });
  check_gradient(middle, without, 2e-7, [&](auto accumulate, kernels::share part) {
    kernels::remove_border<Batch, Shape, accumulate(), Arch>(large.data(), middle.data(), part);
  });
}

/// Each output is the sum of inputs times weights, along both axes: calls visit(output, input, weight).
template <up_sampling_shape Shape, class Visit>
void for_each_weight(bool bilinear, Visit const& visit) {
  auto const along = [&](int output, int factor, int length, auto const& each) {
    if (!bilinear) return each(output / factor, 1.0);
    double const place = (output + 0.5) / factor - 0.5;
    int const below = static_cast<int>(std::floor(place));
    double const weight = place - below;
    auto const clamp = [&](int i) { return i < 0 ? 0 : i < length ? i : length - 1; };
    each(clamp(below), 1 - weight);
    each(clamp(below + 1), weight);
  };
  for (int row = 0; row < Shape.output_height(); ++row)
    for (int column = 0; column < Shape.output_width(); ++column)
      along(row, Shape.factor_height, Shape.height, [&](int y, double down) {
        along(column, Shape.factor_width, Shape.width, [&](int x, double across) {
          for (int channel = 0; channel < Shape.channels; ++channel)
            visit((row * Shape.output_width() + column) * Shape.channels + channel,
                  (y * Shape.width + x) * Shape.channels + channel, down * across);
        });
      });
}

template <int Batch, up_sampling_shape Shape, class Arch>
void check_up_sampling() {
  CAPTURE(Shape.height);
  CAPTURE(Shape.width);
  CAPTURE(Shape.channels);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int inputs = Batch * Shape.input_size(), outputs = Batch * Shape.output_size();
  buffer x(inputs), y(outputs), dy(outputs), dx(inputs);
  shuffled(x, 1);
  shuffled(dy, 2);
  // Weights are computed in float32, as in TensorFlow: up to 1e-6 from the exact ones in the largest case.
  for (bool const bilinear : {false, true}) {
    CAPTURE(bilinear);
    std::vector<double> expected(outputs), expected_dx(inputs);
    for (int sample = 0; sample < Batch; ++sample)
      for_each_weight<Shape>(bilinear, [&](int output, int input, double weight) {
        auto const to = static_cast<std::size_t>(sample * Shape.output_size() + output);
        auto const from = static_cast<std::size_t>(sample * Shape.input_size() + input);
        expected[to] += weight * static_cast<double>(x.data()[from]);
        expected_dx[from] += weight * static_cast<double>(dy.data()[to]);
      });
    check_shares(y, [&](kernels::share part) {
      if (bilinear)
        kernels::up_sampling_bilinear<Batch, Shape, Arch>(x.data(), y.data(), part);
      else
        kernels::up_sampling_nearest<Batch, Shape, Arch>(x.data(), y.data(), part);
    });
    CHECK(deviation(y.data(), expected) < 3e-6);
    check_gradient(dx, expected_dx, 1e-5, [&](auto accumulate, kernels::share part) {
      if (bilinear)
        kernels::up_sampling_bilinear_gradient<Batch, Shape, accumulate(), Arch>(dy.data(), dx.data(), part);
      else
        kernels::up_sampling_nearest_gradient<Batch, Shape, accumulate(), Arch>(dy.data(), dx.data(), part);
    });
  }
}

template <int Batch, border_shape Shape, class... Arch>
void check_borders() {
  (check_border<Batch, Shape, Arch>(), ...);
}
template <int Batch, up_sampling_shape Shape, class... Arch>
void check_up_samplings() {
  (check_up_sampling<Batch, Shape, Arch>(), ...);
}

}  // namespace

TEST_CASE("borders come and go") {
  check_borders<1, border_shape{}, MATMUL_ARCHITECTURES>();
  check_borders<2, border_shape{3, 4, 5, 1, 1, 1, 1}, MATMUL_ARCHITECTURES>();
  check_borders<3, border_shape{1, 7, 17, 0, 2, 0, 0}, MATMUL_ARCHITECTURES>();
  check_borders<2, border_shape{4, 1, 33, 2, 0, 3, 5}, MATMUL_ARCHITECTURES>();
}

TEST_CASE("images become larger") {
  check_up_samplings<1, up_sampling_shape{}, MATMUL_ARCHITECTURES>();
  check_up_samplings<2, up_sampling_shape{3, 4, 16, 2, 2}, MATMUL_ARCHITECTURES>();
  check_up_samplings<2, up_sampling_shape{3, 5, 7, 3, 1}, MATMUL_ARCHITECTURES>();
  check_up_samplings<1, up_sampling_shape{5, 1, 33, 1, 4}, MATMUL_ARCHITECTURES>();
  check_up_samplings<3, up_sampling_shape{1, 6, 3, 5, 3}, MATMUL_ARCHITECTURES>();
  check_up_samplings<1, up_sampling_shape{2, 2, 70, 2, 2}, MATMUL_ARCHITECTURES>();
  check_up_samplings<1, up_sampling_shape{10, 9, 1, 7, 6}, MATMUL_ARCHITECTURES>();
}
