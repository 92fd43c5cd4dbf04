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

/// The kernels of one batch size, shape and instruction set. The checks get to know these at run time only, so that a
/// shape costs no more compile time than its kernels.
struct border_kernels {
  int batch;
  border_shape shape;
  int lanes;
  void (*add)(bool accumulate, float const* image, float* y, kernels::share part);
  void (*remove)(bool accumulate, float const* y, float* image, kernels::share part);
};

template <int Batch, border_shape Shape, class Arch>
constexpr border_kernels borders_of = {
    Batch,
    Shape,
    kernels::lanes<Arch>,
    [](bool accumulate, float const* image, float* y, kernels::share part) {
      if (accumulate)
        kernels::add_border<Batch, Shape, true, Arch>(image, y, part);
      else
        kernels::add_border<Batch, Shape, false, Arch>(image, y, part);
    },
    [](bool accumulate, float const* y, float* image, kernels::share part) {
      if (accumulate)
        kernels::remove_border<Batch, Shape, true, Arch>(y, image, part);
      else
        kernels::remove_border<Batch, Shape, false, Arch>(y, image, part);
    },
};

void check_border(border_kernels const& tested) {
  auto const& shape = tested.shape;
  CAPTURE(shape.height);
  CAPTURE(shape.channels);
  CAPTURE(tested.lanes);
  int const inner = tested.batch * shape.size(), outer = tested.batch * shape.outer_size();
  buffer image(inner), large(outer), found(outer), middle(inner);
  shuffled(image, 1);
  shuffled(large, 2);
  std::vector<double> with_border(static_cast<std::size_t>(outer)), without(static_cast<std::size_t>(inner));
  for (int sample = 0; sample < tested.batch; ++sample)
    for (int row = 0; row < shape.height; ++row)
      for (int i = 0; i < shape.width * shape.channels; ++i) {
        auto const from = static_cast<std::size_t>((sample * shape.height + row) * shape.width * shape.channels + i);
        auto const to = static_cast<std::size_t>(
            ((sample * shape.outer_height() + row + shape.top) * shape.outer_width() + shape.left) * shape.channels +
            i);
        with_border[to] = static_cast<double>(image.data()[from]);
        without[from] = static_cast<double>(large.data()[to]);
      }
  check_gradient(found, with_border, 2e-7, [&](bool accumulate, kernels::share part) {
    tested.add(accumulate, image.data(), found.data(), part);
  });
  check_gradient(middle, without, 2e-7, [&](bool accumulate, kernels::share part) {
    tested.remove(accumulate, large.data(), middle.data(), part);
  });
}

/// Each output is the sum of inputs times weights, along both axes: calls visit(output, input, weight).
template <class Visit>
void for_each_weight(up_sampling_shape const& shape, bool bilinear, Visit const& visit) {
  auto const along = [&](int output, int factor, int length, auto const& each) {
    if (!bilinear) return each(output / factor, 1.0);
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

struct up_sampling_kernels {
  int batch;
  up_sampling_shape shape;
  int lanes;
  void (*forward)(bool bilinear, float const* x, float* y, kernels::share part);
  void (*gradient)(bool bilinear, bool accumulate, float const* dy, float* dx, kernels::share part);
};

template <int Batch, up_sampling_shape Shape, class Arch>
constexpr up_sampling_kernels up_sampling_of = {
    Batch, Shape, kernels::lanes<Arch>,
    [](bool bilinear, float const* x, float* y, kernels::share part) {
      if (bilinear)
        kernels::up_sampling_bilinear<Batch, Shape, Arch>(x, y, part);
      else
        kernels::up_sampling_nearest<Batch, Shape, Arch>(x, y, part);
    },
    [](bool bilinear, bool accumulate, float const* dy, float* dx, kernels::share part) {
      if (bilinear && accumulate)
        kernels::up_sampling_bilinear_gradient<Batch, Shape, true, Arch>(dy, dx, part);
      else if (bilinear)
        kernels::up_sampling_bilinear_gradient<Batch, Shape, false, Arch>(dy, dx, part);
      else if (accumulate)
        kernels::up_sampling_nearest_gradient<Batch, Shape, true, Arch>(dy, dx, part);
      else
        kernels::up_sampling_nearest_gradient<Batch, Shape, false, Arch>(dy, dx, part);
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
  for (bool const bilinear : {false, true}) {
    CAPTURE(bilinear);
    std::vector<double> expected(static_cast<std::size_t>(outputs)), expected_dx(static_cast<std::size_t>(inputs));
    for (int sample = 0; sample < tested.batch; ++sample)
      for_each_weight(shape, bilinear, [&](int output, int input, double weight) {
        auto const to = static_cast<std::size_t>(sample * shape.output_size() + output);
        auto const from = static_cast<std::size_t>(sample * shape.input_size() + input);
        expected[to] += weight * static_cast<double>(x.data()[from]);
        expected_dx[from] += weight * static_cast<double>(dy.data()[to]);
      });
    check_shares(y, [&](kernels::share part) { tested.forward(bilinear, x.data(), y.data(), part); });
    CHECK(deviation(y.data(), expected) < 3e-6);
    check_gradient(dx, expected_dx, 1e-5, [&](bool accumulate, kernels::share part) {
      tested.gradient(bilinear, accumulate, dy.data(), dx.data(), part);
    });
  }
}

template <int Batch, border_shape Shape, class... Arch>
void check_borders() {
  (check_border(borders_of<Batch, Shape, Arch>), ...);
}
template <int Batch, up_sampling_shape Shape, class... Arch>
void check_up_samplings() {
  (check_up_sampling(up_sampling_of<Batch, Shape, Arch>), ...);
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
