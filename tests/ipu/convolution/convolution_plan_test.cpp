// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include "resnet50_shapes.hpp"

namespace sc = stagecraft;
using plan_tests::square_convolution;
using sc::convolution_shape;
using sc::dtype;

namespace {

// A matrix product of 4 x 3 and 3 x 5, and its gradients: of the left operand 4 x 5 times 5 x 3, of the right one
// 3 x 4 times 4 x 5.
constexpr auto product = convolution_shape::matmul(dtype::float16, 4, 3, 5);
static_assert(product.macs() == 60 && product.flops() == 120);
static_assert(product.inputs() == 12 && product.weights() == 15 && product.outputs() == 20);
constexpr auto left = product.input_gradient();
static_assert(left.batch_size == 4 && left.input_channels_per_conv_group == 5 &&
              left.output_channels_per_conv_group == 3 && left.macs() == 60);
constexpr auto right = product.filter_gradient();
static_assert(right.batch_size == 3 && right.input_channels_per_conv_group == 4 &&
              right.output_channels_per_conv_group == 5 && right.macs() == 60);

// ResNet-50's 7 x 7 convolution: 224 pixels with 2 zeros above and 3 below, of which only some outputs see.
constexpr auto stem = square_convolution(dtype::float32, 1, 224, 3, 64, 7, 2);
static_assert(stem.output_field == sc::tiles::field_size{.height = 112, .width = 112});
// Of 112 x 7 rows the first output misses 2, the last 3 and the one before it 1.
static_assert(stem.macs() == 3LL * 64 * (112 * 7 - 2 - 3 - 1) * (112 * 7 - 2 - 3 - 1));
constexpr auto stem_input = stem.input_gradient();
static_assert(stem_input.input_field == stem.output_field && stem_input.output_field == stem.input_field);
static_assert(stem_input.input_dilation == sc::tiles::field_size{.height = 2, .width = 2});
static_assert(stem_input.padding_lower == sc::tiles::field_size{.height = 4, .width = 4});
static_assert(stem_input.pass == sc::convolution_pass::input_gradient);
constexpr auto stem_filter = stem.filter_gradient();
static_assert(stem_filter.kernel == stem.output_field && stem_filter.output_field == stem.kernel);
static_assert(stem_filter.kernel_dilation == sc::tiles::field_size{.height = 2, .width = 2});
static_assert(stem_filter.outputs() == stem.weights() && stem_filter.inputs() == stem.inputs());

/// All multiplications, one by one.
std::int64_t counted_macs(convolution_shape const& s) {
  auto const meets = [](std::int64_t o, std::int64_t k, std::int64_t step, std::int64_t dilation, std::int64_t every,
                        std::int64_t padding, std::int64_t inputs) {
    std::int64_t const place = o * step + k * dilation - padding;
    return place >= 0 && place % every == 0 && place / every < inputs;
  };
  std::int64_t rows = 0;
  for (std::int64_t o = 0; o < s.output_field.height; ++o)
    for (std::int64_t k = 0; k < s.kernel.height; ++k)
      rows += meets(o, k, s.stride.height, s.kernel_dilation.height, s.input_dilation.height, s.padding_lower.height,
                    s.input_field.height);
  std::int64_t columns = 0;
  for (std::int64_t o = 0; o < s.output_field.width; ++o)
    for (std::int64_t k = 0; k < s.kernel.width; ++k)
      columns += meets(o, k, s.stride.width, s.kernel_dilation.width, s.input_dilation.width, s.padding_lower.width,
                       s.input_field.width);
  return s.batch_size * s.num_conv_groups * s.input_channels_per_conv_group * s.output_channels_per_conv_group * rows *
         columns;
}

}  // namespace

TEST_CASE("all three passes of a convolution have the same multiplications") {
  std::mt19937 random(7);
  auto const any = [&](int from, int to) { return std::uniform_int_distribution<std::int64_t>(from, to)(random); };
  for (int i = 0; i < 500; ++i) {
    auto shape = square_convolution(dtype::float16, any(1, 3), any(1, 20), 4, 8, any(1, 7), any(1, 3), any(1, 2));
    shape.kernel.width = any(1, 5);
    shape.kernel_dilation = {.height = any(1, 2), .width = any(1, 3)};
    shape.padding_lower = {.height = any(0, 2), .width = any(0, 3)};
    CAPTURE(i);
    CHECK(shape.macs() == counted_macs(shape));
    CHECK(shape.input_gradient().macs() == counted_macs(shape.input_gradient()));
    CHECK(shape.filter_gradient().macs() == counted_macs(shape.filter_gradient()));
    CHECK(shape.input_gradient().macs() == shape.macs());
    CHECK(shape.filter_gradient().macs() == shape.macs());
  }
}

TEST_CASE("the gradient of a gradient is the convolution") {
  auto const shape = square_convolution(dtype::float32, 2, 15, 8, 16, 3, 2);
  auto again = shape.input_gradient().input_gradient();
  again.pass = sc::convolution_pass::forward;
  CHECK(again == shape);
  again = shape.filter_gradient().filter_gradient();
  again.pass = sc::convolution_pass::forward;
  CHECK(again == shape);
}
