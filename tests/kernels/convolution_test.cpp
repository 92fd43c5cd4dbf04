// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/convolution.hpp>
#include <stagecraft/kernels/reference_convolution.hpp>
#include <doctest/doctest.h>

#include "convolution_cases.hpp"

using namespace convolution_cases;

namespace {

/// Adds the bias and twice the place in the result, to see that epilogues are told the right columns and elements.
struct add_place {
  float const* bias;

  template <class Batch>
  Batch operator()(Batch const& sum, int column, std::int64_t element) const {
    alignas(64) float place[Batch::size];
    for (std::size_t lane = 0; lane < Batch::size; ++lane)
      place[lane] = 2.0F * static_cast<float>(element + static_cast<std::int64_t>(lane));
    return sum + Batch::load_unaligned(bias + column) + Batch::load_aligned(place);
  }
};

template <int Batch, convolution_shape Shape, class Arch>
void check_convolution() {
  CAPTURE(Shape.height);
  CAPTURE(Shape.width);
  CAPTURE(Shape.channels);
  CAPTURE(Shape.filters);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int outputs = Batch * Shape.output_size();
  buffer x(Batch * Shape.input_size());
  buffer w(Shape.steps() * Shape.filters);
  buffer packed(static_cast<int>(kernels::filter_floats<Shape, Arch>));
  buffer bias((Shape.filters + 127) / 64 * 64);
  buffer workspace(static_cast<int>(kernels::convolution_workspace<Shape, Arch>));
  buffer y(outputs, -1.0F);
  buffer expected(outputs);
  x.fill(1);
  w.fill(2);
  bias.fill(3);
  pack_filter<Shape, Arch>(w.data(), packed.data());
  kernels::reference::convolution(Batch, Shape, x.data(), w.data(), expected.data());

  kernels::convolution<Batch, Shape, Arch>(x.data(), packed.data(), workspace.data(), y.data());
  CHECK(first_difference(y.data(), expected.data(), outputs) == -1);
  CHECK(y.guard_is_intact());

  for (int i = 0; i < outputs; ++i) expected.data()[i] += bias.data()[i % Shape.filters] + 2.0F * static_cast<float>(i);
  kernels::convolution<Batch, Shape, Arch>(x.data(), packed.data(), workspace.data(), y.data(), add_place{bias.data()});
  CHECK(first_difference(y.data(), expected.data(), outputs) == -1);
  CHECK(y.guard_is_intact());
  CHECK(workspace.guard_is_intact());
}

template <int Batch, convolution_shape Shape>
void check_bits() {
  buffer x(Batch * Shape.input_size());
  buffer packed(static_cast<int>(kernels::filter_floats<Shape>));
  buffer workspace(static_cast<int>(kernels::convolution_workspace<Shape>));
  buffer y(Batch * Shape.output_size(), -1.0F);
  fill_with_fractions(x, 1);
  fill_with_fractions(packed, 2);
  check_shares(y, [&](kernels::share part) {
    kernels::convolution<Batch, Shape>(x.data(), packed.data(), workspace.data(), y.data(), kernels::no_epilogue{},
                                       part);
  });
}

template <int Batch, convolution_shape Shape, class... Arch>
void check_convolutions() {
  (check_convolution<Batch, Shape, Arch>(), ...);
}

}  // namespace

TEST_CASE("the convolution, its bias and its activation are exact for whole numbers") {
  for_each_convolution(
      []<int Batch, convolution_shape Shape>() { check_convolutions<Batch, Shape, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("a convolution's bits do not depend on the number of threads") {
  for_each_convolution([]<int Batch, convolution_shape Shape>() { check_bits<Batch, Shape>(); });
}
