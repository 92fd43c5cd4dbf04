// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution_input_gradient.hpp>
#include <stagecraft/kernels/reference_convolution.hpp>
#include <doctest/doctest.h>

#include "convolution_cases.hpp"

using namespace convolution_cases;

namespace {

template <int Batch, convolution_shape Shape, class Arch>
void check_input_gradient() {
  CAPTURE(Shape.height);
  CAPTURE(Shape.width);
  CAPTURE(Shape.channels);
  CAPTURE(Shape.filters);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int inputs = Batch * Shape.input_size();
  buffer dy(Batch * Shape.output_size());
  buffer w(Shape.steps() * Shape.filters);
  buffer packed(static_cast<int>(kernels::filter_floats<Shape, Arch>));
  buffer workspace(static_cast<int>(kernels::convolution_input_gradient_workspace<Shape, Arch>));
  buffer dx(inputs, -1.0F);
  buffer expected(inputs);
  dy.fill(1);
  w.fill(2);
  pack_filter<Shape, Arch>(w.data(), packed.data());
  kernels::reference::convolution_input_gradient(Batch, Shape, dy.data(), w.data(), expected.data());

  kernels::convolution_input_gradient<Batch, Shape, false, Arch>(dy.data(), packed.data(), workspace.data(), dx.data());
  CHECK(first_difference(dx.data(), expected.data(), inputs) == -1);
  CHECK(dx.guard_is_intact());
  CHECK(workspace.guard_is_intact());

  for (int i = 0; i < inputs; ++i) expected.data()[i] *= 2;
  kernels::convolution_input_gradient<Batch, Shape, true, Arch>(dy.data(), packed.data(), workspace.data(), dx.data());
  CHECK(first_difference(dx.data(), expected.data(), inputs) == -1);
  CHECK(dx.guard_is_intact());
}

template <int Batch, convolution_shape Shape, class Arch>
void check_filter_gradient() {
  CAPTURE(Shape.height);
  CAPTURE(Shape.width);
  CAPTURE(Shape.channels);
  CAPTURE(Shape.filters);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int floats = static_cast<int>(kernels::filter_floats<Shape, Arch>);
  buffer x(Batch * Shape.input_size());
  buffer dy(Batch * Shape.output_size());
  buffer dw(floats);
  buffer workspace(static_cast<int>(kernels::convolution_filter_gradient_workspace<Shape, Arch>));
  buffer row_major(Shape.steps() * Shape.filters);
  buffer expected(floats);
  x.fill(1);
  dy.fill(2);
  kernels::reference::convolution_filter_gradient(Batch, Shape, x.data(), dy.data(), row_major.data());
  pack_filter<Shape, Arch>(row_major.data(), expected.data());

  kernels::convolution_filter_gradient<Batch, Shape, false, Arch>(x.data(), dy.data(), workspace.data(), dw.data());
  CHECK(first_difference(dw.data(), expected.data(), floats) == -1);
  CHECK(dw.guard_is_intact());
  CHECK(workspace.guard_is_intact());

  for (int i = 0; i < floats; ++i) expected.data()[i] *= 2;
  kernels::convolution_filter_gradient<Batch, Shape, true, Arch>(x.data(), dy.data(), workspace.data(), dw.data());
  CHECK(first_difference(dw.data(), expected.data(), floats) == -1);
  CHECK(dw.guard_is_intact());
}

template <int Batch, convolution_shape Shape>
void check_bits() {
  buffer x(Batch * Shape.input_size());
  buffer dx(Batch * Shape.input_size());
  buffer dy(Batch * Shape.output_size());
  buffer w(Shape.steps() * Shape.filters);
  buffer packed(static_cast<int>(kernels::filter_floats<Shape>));
  buffer dw(packed.size());
  buffer workspace(static_cast<int>(kernels::convolution_input_gradient_workspace<Shape> +
                                    kernels::convolution_filter_gradient_workspace<Shape>));
  fill_with_fractions(x, 1);
  fill_with_fractions(dy, 2);
  fill_with_fractions(w, 3);
  pack_filter<Shape, kernels::default_architecture>(w.data(), packed.data());
  check_shares(dx, [&](kernels::share part) {
    kernels::convolution_input_gradient<Batch, Shape>(dy.data(), packed.data(), workspace.data(), dx.data(), part);
  });
  check_shares(dw, [&](kernels::share part) {
    kernels::convolution_filter_gradient<Batch, Shape>(x.data(), dy.data(), workspace.data(), dw.data(), part);
  });
}

template <int Batch, convolution_shape Shape, class... Arch>
void check_input_gradients() {
  (check_input_gradient<Batch, Shape, Arch>(), ...);
}

template <int Batch, convolution_shape Shape, class... Arch>
void check_filter_gradients() {
  (check_filter_gradient<Batch, Shape, Arch>(), ...);
}

}  // namespace

TEST_CASE("the gradient of a convolution's input is exact for whole numbers") {
  for_each_convolution(
      []<int Batch, convolution_shape Shape>() { check_input_gradients<Batch, Shape, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("the gradient of a convolution's filters is exact for whole numbers, and its padding stays 0") {
  for_each_convolution(
      []<int Batch, convolution_shape Shape>() { check_filter_gradients<Batch, Shape, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("the bits of a convolution's gradients do not depend on the number of threads") {
  for_each_convolution([]<int Batch, convolution_shape Shape>() { check_bits<Batch, Shape>(); });
}
