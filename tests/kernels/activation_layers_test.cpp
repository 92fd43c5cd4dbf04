// SPDX-License-Identifier: BSD-3-Clause
// Rectifiers with slopes of their own, softmax along any axis and spatial dropout, against plain loops.
#include <stagecraft/kernels/prelu.hpp>
#include <stagecraft/kernels/softmax_planes.hpp>
#include <stagecraft/kernels/spatial_dropout.hpp>
#include <doctest/doctest.h>

#include "share_check.hpp"

namespace {

using namespace share_check;
using kernels::slope_layout;

/// Up to three axes behind the batch; the slopes have length 1 where they are shared.
struct axes {
  int length[3];
  constexpr int operator[](int axis) const { return length[axis]; }
  constexpr int size() const { return length[0] * length[1] * length[2]; }
};

template <int Batch, axes Shape, axes Slopes, class Arch>
void check_prelu() {
  CAPTURE(Shape.size());
  CAPTURE(Slopes.size());
  CAPTURE(kernels::lanes<Arch>);
  constexpr auto layout = slope_layout::of(Batch, 3, Shape, Slopes);
  constexpr int size = Batch * Shape.size();
  buffer x(size), alpha(Slopes.size()), y(size), dy(size), dx(size), dalpha(Slopes.size());
  shuffled(x, 1);
  shuffled(alpha, 2);
  shuffled(dy, 3);
  x.data()[0] = 0;
  std::vector<double> expected(size), expected_dx(size), expected_dalpha(Slopes.size());
  for (int i = 0; i < size; ++i) {
    int rest = i, slope = 0, stride = 1;
    for (int axis = 2; axis >= 0; --axis) {
      if (Slopes[axis] > 1) {
        slope += rest % Shape[axis] * stride;
        stride *= Shape[axis];
      }
      rest /= Shape[axis];
    }
    auto const at = static_cast<std::size_t>(i), which = static_cast<std::size_t>(slope);
    double const v = static_cast<double>(x.data()[i]), a = static_cast<double>(alpha.data()[slope]);
    double const g = static_cast<double>(dy.data()[i]);
    expected[at] = v > 0 ? v : a * v;
    expected_dx[at] = v > 0 ? g : v < 0 ? a * g : 0;
    expected_dalpha[which] += v < 0 ? v * g : 0;
  }
  check_shares(y, [&](kernels::share part) { kernels::prelu<layout, Arch>(x.data(), alpha.data(), y.data(), part); });
  CHECK(deviation(y.data(), expected) < 1e-6);
  check_gradient(dx, expected_dx, 1e-6, [&](auto accumulate, kernels::share part) {
    kernels::prelu_input_gradient<layout, accumulate(), Arch>(x.data(), alpha.data(), dy.data(), dx.data(), part);
  });
  check_gradient(dalpha, expected_dalpha, 1e-6 * size, [&](auto accumulate, kernels::share part) {
    kernels::prelu_slope_gradient<layout, accumulate(), Arch>(x.data(), dy.data(), dalpha.data(), part);
  });
}

template <int Outer, int Length, int Inner, class Arch>
void check_softmax() {
  CAPTURE(Length);
  CAPTURE(Inner);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int size = Outer * Length * Inner;
  buffer x(size), y(size), dy(size), dx(size);
  shuffled(x, 1);
  shuffled(dy, 2);
  for (int i = 0; i < size; ++i) x.data()[i] *= 40;
  std::vector<double> expected(size), expected_dx(size);
  for (int outer = 0; outer < Outer; ++outer)
    for (int inner = 0; inner < Inner; ++inner) {
      auto const at = [&](int i) { return static_cast<std::size_t>((outer * Length + i) * Inner + inner); };
      double sum = 0, dot = 0;
      for (int i = 0; i < Length; ++i) sum += std::exp(static_cast<double>(x.data()[at(i)]));
      for (int i = 0; i < Length; ++i) {
        expected[at(i)] = std::exp(static_cast<double>(x.data()[at(i)])) / sum;
        dot += expected[at(i)] * static_cast<double>(dy.data()[at(i)]);
      }
      for (int i = 0; i < Length; ++i)
        expected_dx[at(i)] = expected[at(i)] * (static_cast<double>(dy.data()[at(i)]) - dot);
    }
  check_shares(
      y, [&](kernels::share part) { kernels::softmax_planes<Outer, Length, Inner, Arch>(x.data(), y.data(), part); });
  CHECK(deviation(y.data(), expected) < 1e-6);
  check_gradient(dx, expected_dx, 1e-6, [&](auto accumulate, kernels::share part) {
    kernels::softmax_planes_gradient<Outer, Length, Inner, accumulate(), Arch>(y.data(), dy.data(), dx.data(), part);
  });
}

template <int Batch, int Positions, int Channels, class Arch>
void check_spatial_dropout() {
  CAPTURE(Positions);
  CAPTURE(Channels);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int size = Batch * Positions * Channels;
  kernels::random_key const key(5, 6);
  buffer x(size), y(size);
  shuffled(x, 1);
  for (float const rate : {0.0F, 0.3F, 0.9F}) {
    std::vector<double> expected(size);
    for (int i = 0; i < size; ++i) {
      int const channel = i / (Positions * Channels) * Channels + i % Channels;
      bool const stays = kernels::random_uniform(key, static_cast<std::uint64_t>(channel)) >= rate;
      expected[static_cast<std::size_t>(i)] =
          stays ? static_cast<double>(x.data()[i]) / (1 - static_cast<double>(rate)) : 0;
    }
    check_gradient(y, expected, 2e-6, [&](auto accumulate, kernels::share part) {
      kernels::spatial_dropout<Batch, Positions, Channels, accumulate(), Arch>(x.data(), y.data(), rate, key, part);
    });
  }
}

template <int Batch, axes Shape, axes Slopes, class... Arch>
void check_prelus() {
  (check_prelu<Batch, Shape, Slopes, Arch>(), ...);
}
template <int Outer, int Length, int Inner, class... Arch>
void check_softmaxes() {
  (check_softmax<Outer, Length, Inner, Arch>(), ...);
}
template <int Batch, int Positions, int Channels, class... Arch>
void check_spatial_dropouts() {
  (check_spatial_dropout<Batch, Positions, Channels, Arch>(), ...);
}

}  // namespace

TEST_CASE("rectifiers with slopes of their own") {
  check_prelus<1, axes{{1, 1, 1}}, axes{{1, 1, 1}}, MATMUL_ARCHITECTURES>();
  check_prelus<3, axes{{4, 5, 7}}, axes{{4, 5, 7}}, MATMUL_ARCHITECTURES>();
  check_prelus<2, axes{{4, 5, 17}}, axes{{1, 1, 17}}, MATMUL_ARCHITECTURES>();
  check_prelus<2, axes{{4, 5, 33}}, axes{{1, 5, 1}}, MATMUL_ARCHITECTURES>();
  check_prelus<2, axes{{4, 5, 16}}, axes{{4, 1, 16}}, MATMUL_ARCHITECTURES>();
  check_prelus<2, axes{{4, 5, 3}}, axes{{4, 1, 1}}, MATMUL_ARCHITECTURES>();
  check_prelus<3, axes{{31, 33, 5}}, axes{{1, 1, 1}}, MATMUL_ARCHITECTURES>();
  check_prelus<2, axes{{1, 1, 9001}}, axes{{1, 1, 9001}}, MATMUL_ARCHITECTURES>();
}

TEST_CASE("softmax along an axis in the middle") {
  check_softmaxes<1, 1, 1, MATMUL_ARCHITECTURES>();
  check_softmaxes<2, 3, 5, MATMUL_ARCHITECTURES>();
  check_softmaxes<3, 7, 16, MATMUL_ARCHITECTURES>();
  check_softmaxes<2, 11, 33, MATMUL_ARCHITECTURES>();
  check_softmaxes<5, 4, 1, MATMUL_ARCHITECTURES>();
}

TEST_CASE("dropout of whole channels") {
  check_spatial_dropouts<1, 1, 1, MATMUL_ARCHITECTURES>();
  check_spatial_dropouts<3, 6, 17, MATMUL_ARCHITECTURES>();
  check_spatial_dropouts<2, 5, 130, MATMUL_ARCHITECTURES>();
  check_spatial_dropouts<4, 9, 3, MATMUL_ARCHITECTURES>();
}
