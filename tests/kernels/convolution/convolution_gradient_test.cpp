// SPDX-License-Identifier: BSD-3-Clause
// The gradients of convolutions against plain loops, and the bits of several threads.
#include <stagecraft/kernels/convolution/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <doctest/doctest.h>

#include "convolution_cases.hpp"
#include "reference_convolution.hpp"

using namespace convolution_cases;

namespace {

struct gradient_kernels {
  convolution_case about;
  int input_workspace;
  int filter_workspace;
  void (*input)(bool accumulate, float const* dy, float const* w, float* workspace, float* dx, kernels::share part);
  void (*filter)(bool accumulate, float const* x, float const* dy, float* workspace, float* dw, kernels::share part);
};

template <int Batch, convolution_shape Shape, class Arch>
constexpr gradient_kernels gradients_of = {
    case_of<Batch, Shape, Arch>, static_cast<int>(kernels::convolution_input_gradient_workspace<Shape, Arch>),
    static_cast<int>(kernels::convolution_filter_gradient_workspace<Shape, Arch>),
    [](bool accumulate, float const* dy, float const* w, float* workspace, float* dx, kernels::share part) {
      if (accumulate)
        kernels::convolution_input_gradient<Batch, Shape, true, Arch>(dy, w, workspace, dx, part);
      else
        kernels::convolution_input_gradient<Batch, Shape, false, Arch>(dy, w, workspace, dx, part);
    },
    [](bool accumulate, float const* x, float const* dy, float* workspace, float* dw, kernels::share part) {
      if (accumulate)
        kernels::convolution_filter_gradient<Batch, Shape, true, Arch>(x, dy, workspace, dw, part);
      else
        kernels::convolution_filter_gradient<Batch, Shape, false, Arch>(x, dy, workspace, dw, part);
    }};

void check_input_gradient(gradient_kernels const& tested) {
  CAPTURE(tested.about.shape.height);
  CAPTURE(tested.about.shape.width);
  CAPTURE(tested.about.shape.channels);
  CAPTURE(tested.about.shape.filters);
  CAPTURE(tested.about.lanes);
  auto const& about = tested.about;
  int const inputs = about.inputs();
  buffer dy(about.outputs());
  buffer w(about.weights());
  buffer packed(about.packed);
  buffer workspace(tested.input_workspace);
  buffer dx(inputs, -1.0F);
  buffer expected(inputs);
  dy.fill(1);
  w.fill(2);
  about.pack(w.data(), packed.data());
  kernels::reference::convolution_input_gradient(about.batch, about.shape, dy.data(), w.data(), expected.data());

  tested.input(false, dy.data(), packed.data(), workspace.data(), dx.data(), {});
  CHECK(first_difference(dx.data(), expected.data(), inputs) == -1);
  CHECK(dx.guard_is_intact());
  CHECK(workspace.guard_is_intact());

  for (int i = 0; i < inputs; ++i) expected.data()[i] *= 2;
  tested.input(true, dy.data(), packed.data(), workspace.data(), dx.data(), {});
  CHECK(first_difference(dx.data(), expected.data(), inputs) == -1);
  CHECK(dx.guard_is_intact());
}

void check_filter_gradient(gradient_kernels const& tested) {
  CAPTURE(tested.about.shape.height);
  CAPTURE(tested.about.shape.width);
  CAPTURE(tested.about.shape.channels);
  CAPTURE(tested.about.shape.filters);
  CAPTURE(tested.about.lanes);
  auto const& about = tested.about;
  int const floats = about.packed;
  buffer x(about.inputs());
  buffer dy(about.outputs());
  buffer dw(floats);
  buffer workspace(tested.filter_workspace);
  buffer row_major(about.weights());
  buffer expected(floats);
  x.fill(1);
  dy.fill(2);
  kernels::reference::convolution_filter_gradient(about.batch, about.shape, x.data(), dy.data(), row_major.data());
  about.pack(row_major.data(), expected.data());

  tested.filter(false, x.data(), dy.data(), workspace.data(), dw.data(), {});
  CHECK(first_difference(dw.data(), expected.data(), floats) == -1);
  CHECK(dw.guard_is_intact());
  CHECK(workspace.guard_is_intact());

  for (int i = 0; i < floats; ++i) expected.data()[i] *= 2;
  tested.filter(true, x.data(), dy.data(), workspace.data(), dw.data(), {});
  CHECK(first_difference(dw.data(), expected.data(), floats) == -1);
  CHECK(dw.guard_is_intact());
}

void check_bits(gradient_kernels const& tested) {
  CAPTURE(tested.about.shape.height);
  CAPTURE(tested.about.shape.width);
  CAPTURE(tested.about.shape.channels);
  CAPTURE(tested.about.shape.filters);
  CAPTURE(tested.about.lanes);
  auto const& about = tested.about;
  buffer x(about.inputs());
  buffer dx(about.inputs());
  buffer dy(about.outputs());
  buffer w(about.weights());
  buffer packed(about.packed);
  buffer dw(about.packed);
  buffer workspace(tested.input_workspace + tested.filter_workspace);
  fill_with_fractions(x, 1);
  fill_with_fractions(dy, 2);
  fill_with_fractions(w, 3);
  about.pack(w.data(), packed.data());
  check_shares(dx, [&](kernels::share part) {
    tested.input(false, dy.data(), packed.data(), workspace.data(), dx.data(), part);
  });
  check_shares(
      dw, [&](kernels::share part) { tested.filter(false, x.data(), dy.data(), workspace.data(), dw.data(), part); });
}

template <int Batch, convolution_shape Shape, class... Arch>
void on_architectures(void (*check)(gradient_kernels const&)) {
  (check(gradients_of<Batch, Shape, Arch>), ...);
}

void on_all(void (*check)(gradient_kernels const&)) {
  for_each_convolution(
      [&]<int Batch, convolution_shape Shape>() { on_architectures<Batch, Shape, MATMUL_ARCHITECTURES>(check); });
}

}  // namespace

TEST_CASE("the gradient of a convolution's input is exact for whole numbers") { on_all(&check_input_gradient); }

TEST_CASE("the gradient of a convolution's filters is exact for whole numbers, and its padding stays 0") {
  on_all(&check_filter_gradient);
}

TEST_CASE("the bits of a convolution's gradients do not depend on the number of threads") { on_all(&check_bits); }
