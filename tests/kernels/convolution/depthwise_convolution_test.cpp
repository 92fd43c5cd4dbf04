// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolutions and their gradients against plain loops, and the bits of several threads.
#include <stagecraft/kernels/convolution/depthwise_convolution.hpp>
#include <doctest/doctest.h>

#include "convolution_cases.hpp"
#include "reference_convolution.hpp"

using namespace convolution_cases;

namespace {

struct depthwise_kernels {
  convolution_case about;
  int workspace;
  int input_workspace;
  int filter_workspace;
  void (*plain)(float const* x, float const* w, float* workspace, float* y, kernels::share part);
  void (*with_epilogue)(float const* x, float const* w, float* workspace, float* y, float const* bias,
                        float const* residual);
  void (*input)(bool accumulate, float const* dy, float const* w, float* workspace, float* dx, kernels::share part);
  void (*filter)(bool accumulate, float const* x, float const* dy, float* workspace, float* dw, kernels::share part);
};

template <int Batch, convolution_shape Shape, class Arch>
constexpr depthwise_kernels kernels_of = {
    case_of<Batch, Shape, Arch>,
    static_cast<int>(kernels::depthwise_convolution_workspace<Shape, Arch>),
    static_cast<int>(kernels::depthwise_convolution_input_gradient_workspace<Shape, Arch>),
    static_cast<int>(kernels::depthwise_convolution_filter_gradient_workspace<Shape, Arch>),
    [](float const* x, float const* w, float* workspace, float* y, kernels::share part) {
      kernels::depthwise_convolution<Batch, Shape, Arch>(x, w, workspace, y, kernels::no_epilogue{}, part);
    },
    [](float const* x, float const* w, float* workspace, float* y, float const* bias, float const* residual) {
      kernels::depthwise_convolution<Batch, Shape, Arch>(
          x, w, workspace, y,
          kernels::epilogue_then{kernels::bias_epilogue{bias}, kernels::residual_epilogue{residual}});
    },
    [](bool accumulate, float const* dy, float const* w, float* workspace, float* dx, kernels::share part) {
      if (accumulate)
        kernels::depthwise_convolution_input_gradient<Batch, Shape, true, Arch>(dy, w, workspace, dx, part);
      else
        kernels::depthwise_convolution_input_gradient<Batch, Shape, false, Arch>(dy, w, workspace, dx, part);
    },
    [](bool accumulate, float const* x, float const* dy, float* workspace, float* dw, kernels::share part) {
      if (accumulate)
        kernels::depthwise_convolution_filter_gradient<Batch, Shape, true, Arch>(x, dy, workspace, dw, part);
      else
        kernels::depthwise_convolution_filter_gradient<Batch, Shape, false, Arch>(x, dy, workspace, dw, part);
    }};

void check_depthwise(depthwise_kernels const& tested) {
  CAPTURE(tested.about.shape.height);
  CAPTURE(tested.about.shape.width);
  CAPTURE(tested.about.shape.channels);
  CAPTURE(tested.about.shape.filters);
  CAPTURE(tested.about.lanes);
  auto const& about = tested.about;
  int const inputs = about.inputs(), outputs = about.outputs(), weights = about.weights();
  int const filters = about.shape.filters;
  buffer x(inputs);
  buffer w(weights);
  buffer bias((filters + 127) / 64 * 64);
  buffer y(outputs, -1.0F);
  buffer expected(outputs);
  buffer workspace(tested.workspace);
  x.fill(1);
  w.fill(2);
  bias.fill(3);
  kernels::reference::convolution(about.batch, about.shape, x.data(), w.data(), expected.data());
  tested.plain(x.data(), w.data(), workspace.data(), y.data(), {});
  CHECK(first_difference(y.data(), expected.data(), outputs) == -1);
  CHECK(y.guard_is_intact());

  buffer residual(outputs);
  residual.fill(4);
  for (int i = 0; i < outputs; ++i) expected.data()[i] += bias.data()[i % filters] + residual.data()[i];
  tested.with_epilogue(x.data(), w.data(), workspace.data(), y.data(), bias.data(), residual.data());
  CHECK(first_difference(y.data(), expected.data(), outputs) == -1);
  CHECK(y.guard_is_intact());
  CHECK(workspace.guard_is_intact());

  buffer dx(inputs, -1.0F);
  buffer expected_dx(inputs);
  buffer dx_workspace(tested.input_workspace);
  kernels::reference::convolution_input_gradient(about.batch, about.shape, residual.data(), w.data(),
                                                 expected_dx.data());
  tested.input(false, residual.data(), w.data(), dx_workspace.data(), dx.data(), {});
  CHECK(first_difference(dx.data(), expected_dx.data(), inputs) == -1);
  for (int i = 0; i < inputs; ++i) expected_dx.data()[i] *= 2;
  tested.input(true, residual.data(), w.data(), dx_workspace.data(), dx.data(), {});
  CHECK(first_difference(dx.data(), expected_dx.data(), inputs) == -1);
  CHECK(dx.guard_is_intact());
  CHECK(dx_workspace.guard_is_intact());

  buffer dw(weights, -1.0F);
  buffer expected_dw(weights);
  buffer dw_workspace(tested.filter_workspace);
  kernels::reference::convolution_filter_gradient(about.batch, about.shape, x.data(), residual.data(),
                                                  expected_dw.data());
  tested.filter(false, x.data(), residual.data(), dw_workspace.data(), dw.data(), {});
  CHECK(first_difference(dw.data(), expected_dw.data(), weights) == -1);
  for (int i = 0; i < weights; ++i) expected_dw.data()[i] *= 2;
  tested.filter(true, x.data(), residual.data(), dw_workspace.data(), dw.data(), {});
  CHECK(first_difference(dw.data(), expected_dw.data(), weights) == -1);
  CHECK(dw.guard_is_intact());
  CHECK(dw_workspace.guard_is_intact());
}

void check_bits(depthwise_kernels const& tested) {
  CAPTURE(tested.about.shape.height);
  CAPTURE(tested.about.shape.width);
  CAPTURE(tested.about.shape.channels);
  CAPTURE(tested.about.shape.filters);
  CAPTURE(tested.about.lanes);
  auto const& about = tested.about;
  buffer x(about.inputs());
  buffer dx(about.inputs());
  buffer y(about.outputs());
  buffer dy(about.outputs());
  buffer w(about.weights());
  buffer dw(about.weights());
  buffer workspace(tested.workspace + tested.input_workspace + tested.filter_workspace);
  fill_with_fractions(x, 1);
  fill_with_fractions(dy, 2);
  fill_with_fractions(w, 3);
  check_shares(y, [&](kernels::share part) { tested.plain(x.data(), w.data(), workspace.data(), y.data(), part); });
  check_shares(
      dx, [&](kernels::share part) { tested.input(false, dy.data(), w.data(), workspace.data(), dx.data(), part); });
  check_shares(
      dw, [&](kernels::share part) { tested.filter(false, x.data(), dy.data(), workspace.data(), dw.data(), part); });
}

template <int Batch, convolution_shape Shape, class... Arch>
void on_architectures(void (*check)(depthwise_kernels const&)) {
  (check(kernels_of<Batch, Shape, Arch>), ...);
}

void on_all(void (*check)(depthwise_kernels const&)) {
  for_each_depthwise_convolution(
      [&]<int Batch, convolution_shape Shape>() { on_architectures<Batch, Shape, MATMUL_ARCHITECTURES>(check); });
}

}  // namespace

TEST_CASE("depthwise convolutions and their gradients are exact for whole numbers") { on_all(&check_depthwise); }

TEST_CASE("the bits of depthwise convolutions do not depend on the number of threads") { on_all(&check_bits); }
