// SPDX-License-Identifier: BSD-3-Clause
// What convolutions and their input gradients do to their sums at the end, against the same done in a second pass.
#include <stagecraft/kernels/convolution.hpp>
#include <stagecraft/kernels/convolution_input_gradient.hpp>
#include <doctest/doctest.h>

#include "convolution_cases.hpp"

using namespace convolution_cases;

namespace {

/// 3 x + bias[column] + residual[element]: whole numbers stay whole.
template <class Arch>
struct affine {
  using value = kernels::batch<Arch>;
  float const* bias;
  float const* residual;

  value operator()(value const& sum, int column, std::int64_t element) const {
    return sum + sum + sum + value::load_unaligned(bias + column) + value::load_unaligned(residual + element);
  }
};

/// Runs kernel.operator()<Accumulate>(y, epilogue, part) with and without epilogue, in one and in three parts.
template <class Arch, class Kernel>
void check_kernel(int size, int columns, Kernel const& kernel) {
  buffer before(size), sums(size), y(size), bias((columns + 63) / 64 * 64), residual(size + 64), expected(size);
  before.fill(3);
  bias.fill(4);
  residual.fill(5);
  affine<Arch> const epilogue{bias.data(), residual.data()};
  kernel.template operator()<false>(sums.data(), kernels::no_epilogue{}, kernels::share{});

  auto const check = [&]<bool Accumulate>() {
    for (int i = 0; i < size; ++i)
      expected.data()[i] =
          3 * (sums.data()[i] + (Accumulate ? before.data()[i] : 0)) + bias.data()[i % columns] + residual.data()[i];
    for (int count : {1, 3}) {
      CAPTURE(count);
      for (int i = 0; i < size; ++i) y.data()[i] = before.data()[i];
      for (int index = 0; index < count; ++index)
        kernel.template operator()<Accumulate>(y.data(), epilogue, kernels::share{index, count});
      CHECK(first_difference(y.data(), expected.data(), size) == -1);
      CHECK(y.guard_is_intact());
    }
  };
  check.template operator()<false>();
  check.template operator()<true>();
}

template <int Batch, convolution_shape Shape, class Arch>
void check_both() {
  CAPTURE(Shape.height);
  CAPTURE(Shape.width);
  CAPTURE(Shape.channels);
  CAPTURE(Shape.filters);
  CAPTURE(kernels::lanes<Arch>);
  buffer x(Batch * Shape.input_size()), dy(Batch * Shape.output_size());
  buffer w(Shape.steps() * Shape.filters), packed(static_cast<int>(kernels::filter_floats<Shape, Arch>));
  buffer forward_workspace(static_cast<int>(kernels::convolution_workspace<Shape, Arch>));
  buffer backward_workspace(static_cast<int>(kernels::convolution_input_gradient_workspace<Shape, Arch>));
  x.fill(1);
  dy.fill(6);
  w.fill(2);
  pack_filter<Shape, Arch>(w.data(), packed.data());
  check_kernel<Arch>(dy.size(), Shape.filters, [&]<bool Accumulate>(float* y, auto const& epilogue, auto const& part) {
    kernels::convolution<Batch, Shape, Accumulate, Arch>(x.data(), packed.data(), forward_workspace.data(), y, epilogue,
                                                         part);
  });
  check_kernel<Arch>(x.size(), Shape.channels, [&]<bool Accumulate>(float* dx, auto const& epilogue, auto const& part) {
    kernels::convolution_input_gradient<Batch, Shape, Accumulate, Arch>(dy.data(), packed.data(),
                                                                        backward_workspace.data(), dx, epilogue, part);
  });
}

template <class... Arch>
void check_architectures() {
  for_each_convolution([]<int Batch, convolution_shape Shape> { (check_both<Batch, Shape, Arch>(), ...); });
}

}  // namespace

TEST_CASE("epilogues of convolutions and of their input gradients") {
#if defined(STAGECRAFT_TEST_ONE_ARCHITECTURE)
  check_architectures<kernels::default_architecture>();
#else
  check_architectures<xsimd::sse2, kernels::default_architecture>();
#endif
}

TEST_CASE("the epilogue comes after the last partial sums") {
  constexpr convolution_shape deep{
      .height = 4, .width = 5, .channels = 700, .filters = 5, .kernel_height = 3, .kernel_width = 3, .top = 1};
  constexpr convolution_shape wide{
      .height = 3, .width = 4, .channels = 3, .filters = 720, .kernel_height = 2, .kernel_width = 2, .left = 1};
  check_both<1, deep, kernels::default_architecture>();
  check_both<2, wide, kernels::default_architecture>();
}
