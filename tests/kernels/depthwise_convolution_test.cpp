// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/depthwise_convolution.hpp>
#include <stagecraft/kernels/depthwise_convolution_gradient.hpp>
#include <stagecraft/kernels/reference_convolution.hpp>
#include <doctest/doctest.h>

#include "convolution_cases.hpp"

using namespace convolution_cases;

namespace {

template <int Batch, convolution_shape Shape, class Arch>
void check_depthwise() {
  CAPTURE(Shape.height);
  CAPTURE(Shape.width);
  CAPTURE(Shape.channels);
  CAPTURE(Shape.filters);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int inputs = Batch * Shape.input_size();
  constexpr int outputs = Batch * Shape.output_size();
  constexpr int weights = Shape.steps() * Shape.filters;
  buffer x(inputs);
  buffer w(weights);
  buffer bias((Shape.filters + 127) / 64 * 64);
  buffer y(outputs, -1.0F);
  buffer expected(outputs);
  buffer workspace(static_cast<int>(kernels::depthwise_convolution_workspace<Shape, Arch>));
  x.fill(1);
  w.fill(2);
  bias.fill(3);
  kernels::reference::convolution(Batch, Shape, x.data(), w.data(), expected.data());
  kernels::depthwise_convolution<Batch, Shape, Arch>(x.data(), w.data(), workspace.data(), y.data());
  CHECK(first_difference(y.data(), expected.data(), outputs) == -1);
  CHECK(y.guard_is_intact());

  buffer residual(outputs);
  residual.fill(4);
  for (int i = 0; i < outputs; ++i) expected.data()[i] += bias.data()[i % Shape.filters] + residual.data()[i];
  kernels::depthwise_convolution<Batch, Shape, Arch>(
      x.data(), w.data(), workspace.data(), y.data(),
      kernels::epilogue_then{kernels::bias_epilogue{bias.data()}, kernels::residual_epilogue{residual.data()}});
  CHECK(first_difference(y.data(), expected.data(), outputs) == -1);
  CHECK(y.guard_is_intact());
  CHECK(workspace.guard_is_intact());

  buffer dx(inputs, -1.0F);
  buffer expected_dx(inputs);
  buffer dx_workspace(static_cast<int>(kernels::depthwise_convolution_input_gradient_workspace<Shape, Arch>));
  kernels::reference::convolution_input_gradient(Batch, Shape, residual.data(), w.data(), expected_dx.data());
  kernels::depthwise_convolution_input_gradient<Batch, Shape, false, Arch>(residual.data(), w.data(),
                                                                           dx_workspace.data(), dx.data());
  CHECK(first_difference(dx.data(), expected_dx.data(), inputs) == -1);
  for (int i = 0; i < inputs; ++i) expected_dx.data()[i] *= 2;
  kernels::depthwise_convolution_input_gradient<Batch, Shape, true, Arch>(residual.data(), w.data(),
                                                                          dx_workspace.data(), dx.data());
  CHECK(first_difference(dx.data(), expected_dx.data(), inputs) == -1);
  CHECK(dx.guard_is_intact());
  CHECK(dx_workspace.guard_is_intact());

  buffer dw(weights, -1.0F);
  buffer expected_dw(weights);
  buffer dw_workspace(static_cast<int>(kernels::depthwise_convolution_filter_gradient_workspace<Shape, Arch>));
  kernels::reference::convolution_filter_gradient(Batch, Shape, x.data(), residual.data(), expected_dw.data());
  kernels::depthwise_convolution_filter_gradient<Batch, Shape, false, Arch>(x.data(), residual.data(),
                                                                            dw_workspace.data(), dw.data());
  CHECK(first_difference(dw.data(), expected_dw.data(), weights) == -1);
  for (int i = 0; i < weights; ++i) expected_dw.data()[i] *= 2;
  kernels::depthwise_convolution_filter_gradient<Batch, Shape, true, Arch>(x.data(), residual.data(),
                                                                           dw_workspace.data(), dw.data());
  CHECK(first_difference(dw.data(), expected_dw.data(), weights) == -1);
  CHECK(dw.guard_is_intact());
  CHECK(dw_workspace.guard_is_intact());
}

template <int Batch, convolution_shape Shape>
void check_bits() {
  buffer x(Batch * Shape.input_size());
  buffer dx(Batch * Shape.input_size());
  buffer y(Batch * Shape.output_size());
  buffer dy(Batch * Shape.output_size());
  buffer w(Shape.steps() * Shape.filters);
  buffer dw(Shape.steps() * Shape.filters);
  buffer workspace(static_cast<int>(kernels::depthwise_convolution_workspace<Shape> +
                                    kernels::depthwise_convolution_input_gradient_workspace<Shape> +
                                    kernels::depthwise_convolution_filter_gradient_workspace<Shape>));
  fill_with_fractions(x, 1);
  fill_with_fractions(dy, 2);
  fill_with_fractions(w, 3);
  check_shares(y, [&](kernels::share part) {
    kernels::depthwise_convolution<Batch, Shape>(x.data(), w.data(), workspace.data(), y.data(), kernels::no_epilogue{},
                                                 part);
  });
  check_shares(dx, [&](kernels::share part) {
    kernels::depthwise_convolution_input_gradient<Batch, Shape>(dy.data(), w.data(), workspace.data(), dx.data(), part);
  });
  check_shares(dw, [&](kernels::share part) {
    kernels::depthwise_convolution_filter_gradient<Batch, Shape>(x.data(), dy.data(), workspace.data(), dw.data(),
                                                                 part);
  });
}

template <int Batch, convolution_shape Shape, class... Arch>
void check_depthwises() {
  (check_depthwise<Batch, Shape, Arch>(), ...);
}

}  // namespace

TEST_CASE("depthwise convolutions and their gradients are exact for whole numbers") {
  for_each_depthwise_convolution(
      []<int Batch, convolution_shape Shape>() { check_depthwises<Batch, Shape, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("the bits of depthwise convolutions do not depend on the number of threads") {
  for_each_depthwise_convolution([]<int Batch, convolution_shape Shape>() { check_bits<Batch, Shape>(); });
}
