// SPDX-License-Identifier: BSD-3-Clause
// Convolutions against plain loops, and the bits of several threads. convolution_epilogue_test.cpp has their epilogues.
#include <stagecraft/kernels/convolution/convolution.hpp>
#include <doctest/doctest.h>

#include "convolution_cases.hpp"
#include "reference_convolution.hpp"

using namespace convolution_cases;

namespace {

struct forward_kernel {
  convolution_case about;
  int workspace;
  void (*run)(float const* x, float const* w, float* workspace, float* y, kernels::share part);
};

template <int Batch, convolution_shape Shape, class Arch>
constexpr forward_kernel forward_of = {
    case_of<Batch, Shape, Arch>, static_cast<int>(kernels::convolution_workspace<Shape, Arch>),
    [](float const* x, float const* w, float* workspace, float* y, kernels::share part) {
      kernels::convolution<Batch, Shape, Arch>(x, w, workspace, y, kernels::no_epilogue{}, part);
    }};

void check_convolution(forward_kernel const& tested) {
  CAPTURE(tested.about.shape.height);
  CAPTURE(tested.about.shape.width);
  CAPTURE(tested.about.shape.channels);
  CAPTURE(tested.about.shape.filters);
  CAPTURE(tested.about.lanes);
  auto const& about = tested.about;
  int const outputs = about.outputs();
  buffer x(about.inputs());
  buffer w(about.weights());
  buffer packed(about.packed);
  buffer workspace(tested.workspace);
  buffer y(outputs, -1.0F);
  buffer expected(outputs);
  x.fill(1);
  w.fill(2);
  about.pack(w.data(), packed.data());
  kernels::reference::convolution(about.batch, about.shape, x.data(), w.data(), expected.data());

  tested.run(x.data(), packed.data(), workspace.data(), y.data(), {});
  CHECK(first_difference(y.data(), expected.data(), outputs) == -1);
  CHECK(y.guard_is_intact());
  CHECK(workspace.guard_is_intact());
}

void check_bits(forward_kernel const& tested) {
  CAPTURE(tested.about.shape.height);
  CAPTURE(tested.about.shape.width);
  CAPTURE(tested.about.shape.channels);
  CAPTURE(tested.about.shape.filters);
  CAPTURE(tested.about.lanes);
  buffer x(tested.about.inputs());
  buffer packed(tested.about.packed);
  buffer workspace(tested.workspace);
  buffer y(tested.about.outputs(), -1.0F);
  fill_with_fractions(x, 1);
  fill_with_fractions(packed, 2);
  check_shares(y, [&](kernels::share part) { tested.run(x.data(), packed.data(), workspace.data(), y.data(), part); });
}

template <int Batch, convolution_shape Shape, class... Arch>
void on_architectures(void (*check)(forward_kernel const&)) {
  (check(forward_of<Batch, Shape, Arch>), ...);
}

void on_all(void (*check)(forward_kernel const&)) {
  for_each_convolution(
      [&]<int Batch, convolution_shape Shape>() { on_architectures<Batch, Shape, MATMUL_ARCHITECTURES>(check); });
}

}  // namespace

TEST_CASE("the convolution is exact for whole numbers") { on_all(&check_convolution); }

TEST_CASE("a convolution's bits do not depend on the number of threads") { on_all(&check_bits); }
