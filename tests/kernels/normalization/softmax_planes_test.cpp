// SPDX-License-Identifier: BSD-3-Clause
// Softmax along any axis, against plain loops.
#include <stagecraft/kernels/normalization/softmax.hpp>
#include <doctest/doctest.h>

#include "../share_check.hpp"

namespace {

using namespace share_check;

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

template <int Outer, int Length, int Inner, class... Arch>
void check_softmaxes() {
  (check_softmax<Outer, Length, Inner, Arch>(), ...);
}

}  // namespace

TEST_CASE("softmax along an axis in the middle") {
  check_softmaxes<1, 1, 1, MATMUL_ARCHITECTURES>();
  check_softmaxes<2, 3, 5, MATMUL_ARCHITECTURES>();
  check_softmaxes<3, 7, 16, MATMUL_ARCHITECTURES>();
  check_softmaxes<2, 11, 33, MATMUL_ARCHITECTURES>();
  check_softmaxes<5, 4, 1, MATMUL_ARCHITECTURES>();
}
