// SPDX-License-Identifier: BSD-3-Clause
// What convolutions and their input gradients do to their sums at the end, against the same done to those of plain
// loops.
#include <stagecraft/kernels/convolution/convolution.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <doctest/doctest.h>

#include "convolution_cases.hpp"
#include "reference_convolution.hpp"

using namespace convolution_cases;

namespace {

/// 3 x + bias[column] + residual[element]: whole numbers stay whole, and both places are told.
template <class Arch>
struct affine {
  using value = kernels::batch<Arch>;
  float const* bias;
  float const* residual;

  value operator()(value const& sum, int column, std::int64_t element) const {
    return sum + sum + sum + value::load_unaligned(bias + column) + value::load_unaligned(residual + element);
  }
};

/// A kernel with that epilogue; from dy to dx, or from x to y.
using kernel_with_epilogue = void(bool accumulate, float const* from, float const* w, float* workspace, float* to,
                                  float const* bias, float const* residual, kernels::share part);

struct epilogue_kernels {
  convolution_case about;
  int forward_workspace;
  int backward_workspace;
  kernel_with_epilogue* forward;
  kernel_with_epilogue* backward;
};

template <int Batch, convolution_shape Shape, class Arch>
constexpr epilogue_kernels kernels_of = {
    case_of<Batch, Shape, Arch>, static_cast<int>(kernels::convolution_workspace<Shape, Arch>),
    static_cast<int>(kernels::convolution_input_gradient_workspace<Shape, Arch>),
    [](bool accumulate, float const* x, float const* w, float* workspace, float* y, float const* bias,
       float const* residual, kernels::share part) {
      affine<Arch> const epilogue{bias, residual};
      if (accumulate)
        kernels::convolution<Batch, Shape, true, Arch>(x, w, workspace, y, epilogue, part);
      else
        kernels::convolution<Batch, Shape, false, Arch>(x, w, workspace, y, epilogue, part);
    },
    [](bool accumulate, float const* dy, float const* w, float* workspace, float* dx, float const* bias,
       float const* residual, kernels::share part) {
      affine<Arch> const epilogue{bias, residual};
      if (accumulate)
        kernels::convolution_input_gradient<Batch, Shape, true, Arch>(dy, w, workspace, dx, epilogue, part);
      else
        kernels::convolution_input_gradient<Batch, Shape, false, Arch>(dy, w, workspace, dx, epilogue, part);
    }};

/// Runs a kernel with and without what is there before, in one and in three parts. `sums` are what plain loops give.
void check_kernel(kernel_with_epilogue* run, buffer& from, buffer& packed, int workspace_floats, buffer& sums,
                  int columns) {
  int const size = sums.size();
  buffer before(size), y(size), bias((columns + 63) / 64 * 64), residual(size + 64), expected(size);
  buffer workspace(workspace_floats);
  before.fill(3);
  bias.fill(4);
  residual.fill(5);
  for (bool const accumulate : {false, true}) {
    for (int i = 0; i < size; ++i)
      expected.data()[i] =
          3 * (sums.data()[i] + (accumulate ? before.data()[i] : 0)) + bias.data()[i % columns] + residual.data()[i];
    for (int count : {1, 3}) {
      CAPTURE(accumulate);
      CAPTURE(count);
      for (int i = 0; i < size; ++i) y.data()[i] = before.data()[i];
      for (int index = 0; index < count; ++index)
        run(accumulate, from.data(), packed.data(), workspace.data(), y.data(), bias.data(), residual.data(),
            kernels::share{index, count});
      CHECK(first_difference(y.data(), expected.data(), size) == -1);
      CHECK(y.guard_is_intact());
    }
  }
  CHECK(workspace.guard_is_intact());
}

void check_both(epilogue_kernels const& tested) {
  CAPTURE(tested.about.shape.height);
  CAPTURE(tested.about.shape.width);
  CAPTURE(tested.about.shape.channels);
  CAPTURE(tested.about.shape.filters);
  CAPTURE(tested.about.lanes);
  auto const& about = tested.about;
  buffer x(about.inputs()), dy(about.outputs()), w(about.weights()), packed(about.packed);
  buffer y(about.outputs()), dx(about.inputs());
  x.fill(1);
  dy.fill(6);
  w.fill(2);
  about.pack(w.data(), packed.data());
  kernels::reference::convolution(about.batch, about.shape, x.data(), w.data(), y.data());
  kernels::reference::convolution_input_gradient(about.batch, about.shape, dy.data(), w.data(), dx.data());
  check_kernel(tested.forward, x, packed, tested.forward_workspace, y, about.shape.filters);
  check_kernel(tested.backward, dy, packed, tested.backward_workspace, dx, about.shape.channels);
}

template <int Batch, convolution_shape Shape, class... Arch>
void on_architectures() {
  (check_both(kernels_of<Batch, Shape, Arch>), ...);
}

}  // namespace

// convolution_test.cpp and convolution_gradient_test.cpp try all shapes; these have all the ways to an epilogue.
TEST_CASE("epilogues of convolutions and of their input gradients") {
  // Sums without loops over the taps, of less than a register of filters.
  on_architectures<
      2, convolution_shape{.height = 3, .width = 3, .channels = 2, .filters = 5, .kernel_height = 3, .kernel_width = 3},
      MATMUL_ARCHITECTURES>();
  // Sums with loops, of whole registers, and several panels at once.
  on_architectures<
      1,
      convolution_shape{
          .height = 14, .width = 18, .channels = 32, .filters = 128, .kernel_height = 2, .kernel_width = 2},
      MATMUL_ARCHITECTURES>();
  // Padding on all sides, several samples, and filters that fill a panel and begin another.
  on_architectures<3,
                   convolution_shape{.height = 7,
                                     .width = 7,
                                     .channels = 16,
                                     .filters = 70,
                                     .kernel_height = 3,
                                     .kernel_width = 3,
                                     .top = 1,
                                     .left = 1,
                                     .bottom = 1,
                                     .right = 1},
                   MATMUL_ARCHITECTURES>();
  // Strides, whose inputs are computed in several phases.
  on_architectures<2,
                   convolution_shape{.height = 15,
                                     .width = 17,
                                     .channels = 3,
                                     .filters = 20,
                                     .kernel_height = 7,
                                     .kernel_width = 7,
                                     .stride_height = 2,
                                     .stride_width = 2,
                                     .top = 3,
                                     .left = 3,
                                     .bottom = 3,
                                     .right = 3},
                   MATMUL_ARCHITECTURES>();
  // Strides and dilation, with inputs that no tap meets: their sums are 0, and have an epilogue, too.
  on_architectures<1,
                   convolution_shape{.height = 13,
                                     .width = 17,
                                     .channels = 4,
                                     .filters = 5,
                                     .kernel_height = 3,
                                     .kernel_width = 3,
                                     .stride_height = 4,
                                     .stride_width = 3,
                                     .dilation_height = 2,
                                     .dilation_width = 2,
                                     .top = 3,
                                     .left = 2,
                                     .bottom = 2,
                                     .right = 1},
                   MATMUL_ARCHITECTURES>();
  // More steps than are summed at once.
  on_architectures<1,
                   convolution_shape{.height = 4,
                                     .width = 3,
                                     .channels = 260,
                                     .filters = 20,
                                     .kernel_height = 3,
                                     .kernel_width = 3,
                                     .top = 1,
                                     .left = 1,
                                     .bottom = 1,
                                     .right = 1},
                   MATMUL_ARCHITECTURES>();
  // Groups, whose columns begin within a register of the bias, or behind one.
  on_architectures<2,
                   convolution_shape{.height = 6,
                                     .width = 5,
                                     .channels = 6,
                                     .filters = 9,
                                     .kernel_height = 3,
                                     .kernel_width = 3,
                                     .groups = 3,
                                     .top = 1,
                                     .left = 1,
                                     .bottom = 1,
                                     .right = 1},
                   MATMUL_ARCHITECTURES>();
  on_architectures<
      1,
      convolution_shape{
          .height = 5, .width = 4, .channels = 40, .filters = 36, .kernel_height = 2, .kernel_width = 2, .groups = 2},
      MATMUL_ARCHITECTURES>();
}

TEST_CASE("the epilogue comes after the last partial sums") {
  constexpr convolution_shape deep{
      .height = 4, .width = 5, .channels = 700, .filters = 5, .kernel_height = 3, .kernel_width = 3, .top = 1};
  constexpr convolution_shape wide{
      .height = 3, .width = 4, .channels = 3, .filters = 720, .kernel_height = 2, .kernel_width = 2, .left = 1};
  on_architectures<1, deep, kernels::default_architecture>();
  on_architectures<2, wide, kernels::default_architecture>();
}
