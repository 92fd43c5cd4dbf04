// SPDX-License-Identifier: BSD-3-Clause
// The gradients of convolutions against plain loops, and the bits of several threads.
#include <stagecraft/kernels/convolution/bfloat16_convolution.hpp>
#include <stagecraft/kernels/convolution/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <cmath>
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

/// A convolution of pairs of bfloat16 and its gradients, of numbers that these are exact for, by three threads.
template <int Batch, convolution_shape Shape>
void check_pairs() {
  if constexpr (kernels::multiplies_bfloat16_pairs<kernels::default_architecture>) {
    CAPTURE(Shape.channels);
    CAPTURE(Shape.filters);
    constexpr convolution_case about = case_of<Batch, Shape, kernels::default_architecture>;
    constexpr auto divide = [](auto const& work) {
      for (int i = 3; i-- > 0;) work(kernels::share{i, 3});
    };
    buffer x(about.inputs()), dy(about.outputs()), w(about.weights()), packed(about.packed);
    buffer y(about.outputs(), -1.0F), dx(about.inputs(), -1.0F), dw(about.packed);
    buffer expected_y(about.outputs()), expected_dx(about.inputs()), row_major(about.weights()),
        expected_dw(about.packed);
    x.fill(1);
    dy.fill(2);
    w.fill(3);
    about.pack(w.data(), packed.data());
    kernels::reference::convolution(Batch, Shape, x.data(), w.data(), expected_y.data());
    kernels::reference::convolution_input_gradient(Batch, Shape, dy.data(), w.data(), expected_dx.data());
    kernels::reference::convolution_filter_gradient(Batch, Shape, x.data(), dy.data(), row_major.data());
    about.pack(row_major.data(), expected_dw.data());

    constexpr int channels = Shape.group_channels(), filters = Shape.group_filters();
    constexpr int input_rows = Batch * Shape.input_size() / channels,
                  output_rows = Batch * Shape.output_size() / filters;
    buffer narrow_x((about.inputs() + 1) / 2), left_x(input_rows * kernels::pairs_of(channels)),
        left_dy(output_rows * kernels::pairs_of(filters));
    auto const numbers = [](buffer& of) { return reinterpret_cast<std::uint16_t*>(of.data()); };
    kernels::narrow<stagecraft::dtype::bfloat16>(x.data(), numbers(narrow_x), about.inputs());
    buffer workspace(static_cast<int>(kernels::convolution_filter_gradient_workspace<Shape> +
                                      kernels::convolution_input_gradient_workspace<Shape>));
    buffer pairs(static_cast<int>(kernels::filter_pair_floats<Shape>));
    buffer turned(static_cast<int>(kernels::turned_filter_floats<Shape>), NAN);  // padding that is not written
    divide([&](kernels::share part) {
      kernels::pack_filter_pairs<Shape>(packed.data(), pairs.data(), part);
      if constexpr (channels % 2 != 0)
        kernels::pad_rows<input_rows, channels>(numbers(narrow_x), numbers(left_x), part);
      else if (part.is_first())
        kernels::narrow<stagecraft::dtype::bfloat16>(x.data(), numbers(left_x), about.inputs());
      if constexpr (filters % 2 != 0)
        kernels::pad_rows<output_rows, filters>(dy.data(), numbers(left_dy), part);
      else if (part.is_first())
        kernels::narrow<stagecraft::dtype::bfloat16>(dy.data(), numbers(left_dy), about.outputs());
    });
    divide([&](kernels::share part) {
      kernels::turn_filter_pairs<Shape>(pairs.data(), turned.data(), part);
      kernels::convolution_of_pairs<Batch, Shape>(numbers(left_x), pairs.data(), y.data(), kernels::no_epilogue{},
                                                  part);
    });
    divide([&](kernels::share part) {
      kernels::convolution_input_gradient_of_pairs<Batch, Shape>(numbers(left_dy), turned.data(), workspace.data(),
                                                                 dx.data(), kernels::no_epilogue{}, part);
    });
    CHECK(first_difference(y.data(), expected_y.data(), about.outputs()) == -1);
    CHECK(first_difference(dx.data(), expected_dx.data(), about.inputs()) == -1);
    CHECK((y.guard_is_intact() && dx.guard_is_intact() && turned.guard_is_intact()));
    buffer x_pairs(kernels::pairs_of(Batch) * Shape.input_size());
    buffer dy_pairs(kernels::pairs_of(Batch) * Shape.output_size());
    divide([&](kernels::share part) {
      kernels::pair_rows<Batch, Shape.input_size()>(numbers(narrow_x), x_pairs.data(), part);
      kernels::pair_rows<Batch, Shape.output_size()>(dy.data(), dy_pairs.data(), part);
    });
    divide([&](kernels::share part) {
      kernels::convolution_filter_gradient_of_pairs<Batch, Shape>(x_pairs.data(), dy_pairs.data(), workspace.data(),
                                                                  dw.data(), part);
    });
    CHECK(first_difference(dw.data(), expected_dw.data(), about.packed) == -1);
    CHECK((dw.guard_is_intact() && workspace.guard_is_intact()));
  }
}

}  // namespace

TEST_CASE("the gradient of a convolution's input is exact for whole numbers") { on_all(&check_input_gradient); }

TEST_CASE("the gradient of a convolution's filters is exact for whole numbers, and its padding stays 0") {
  on_all(&check_filter_gradient);
}

TEST_CASE("the bits of a convolution's gradients do not depend on the number of threads") { on_all(&check_bits); }

TEST_CASE("convolutions of pairs of bfloat16, and their gradients, are exact for whole numbers") {
  check_pairs<3, convolution_shape{.height = 7,
                                   .width = 5,
                                   .channels = 6,
                                   .filters = 10,
                                   .kernel_height = 3,
                                   .kernel_width = 3,
                                   .stride_height = 2,
                                   .top = 1,
                                   .left = 1,
                                   .bottom = 1,
                                   .right = 1}>();
  check_pairs<2, convolution_shape{.height = 3,
                                   .width = 11,
                                   .channels = 40,
                                   .filters = 72,
                                   .kernel_height = 2,
                                   .kernel_width = 3,
                                   .dilation_width = 2,
                                   .groups = 2}>();
  check_pairs<5, convolution_shape{.height = 4, .width = 3, .channels = 8, .filters = 34}>();
  check_pairs<4, convolution_shape{.width = 9, .channels = 3, .filters = 5, .kernel_width = 2}>();
  check_pairs<2, convolution_shape{.height = 5,
                                   .width = 6,
                                   .channels = 14,
                                   .filters = 66,
                                   .kernel_height = 3,
                                   .kernel_width = 2,
                                   .stride_width = 2,
                                   .groups = 2,
                                   .bottom = 2}>();
  check_pairs<3, convolution_shape{.height = 3, .width = 4, .channels = 5, .filters = 1}>();
}
