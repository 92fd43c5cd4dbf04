// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/convolution/plan_convolution.hpp>
#include <stagecraft/ipu/cycles/conv_partials.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu1;
using sc::ipu_targets::ipu2;
using sc::tiles::convolution_vertex;
using sc::vertices::conv_partial_slic;

namespace {

// 3 x 3, 6 rows of 14 outputs, 4 to 4 channels, float32 partial sums: each worker has a row, and sees it twice.
constexpr conv_partial_slic floats{.field_rows = 6, .row_elements = 14, .kernel_blocks = 3};
static_assert(!floats.merges());
// 10 + 1 + 3 + 2 (10 + 14 - 1) = 60 for the first block, which sets to zero, 59 for another.
static_assert(floats.piece_cycles(14, true) == 60 && floats.piece_cycles(14, false) == 59);
// Few outputs have ways of their own: 10 + 3 + 2 (17 + 2 - 1), 10 + 3 + 2 (13 - 1).
static_assert(floats.piece_cycles(2, false) == 49 && floats.piece_cycles(1, false) == 37);
static_assert(floats.inner_cycles(ipu2, true) == 6 * (17 + 60) && floats.inner_cycles(ipu2, false) == 6 * (17 + 59));
// 28 + 15 + 1; three times 18 + 16 for weights and 19 around them, 6 between them, 1; then the workers.
static_assert(floats.cycles(ipu2) == 44 + 3 * 53 + 12 + 1 + 462 + 2 * 456);
static_assert(floats.macs() == 84 * 12 * 16);

// Float16 partial sums on 16 units take one pass.
constexpr conv_partial_slic halves{
    .partials = dtype::float16, .conv_units = 16, .field_rows = 6, .row_elements = 14, .kernel_blocks = 3};
static_assert(halves.piece_cycles(14, true) == 10 + 1 + 24);
// On 8, two, which are merged behind the first block: two cycles for each of 84 outputs, and 2.
constexpr conv_partial_slic merged{
    .partials = dtype::float16, .conv_units = 8, .field_rows = 6, .row_elements = 14, .kernel_blocks = 3};
static_assert(merged.piece_cycles(14, true) == 9 + 1 + 2 * 24 && merged.piece_cycles(14, false) == 9 + 2 * 27);
static_assert(merged.inner_cycles(ipu1, true) == 6 * (17 + 58 + 2) + 2 + 2 * 84);

// Groups of the convolution: their weights are put in order by the workers.
constexpr conv_partial_slic grouped{
    .conv_groups_at_once = 4, .field_rows = 6, .row_elements = 14, .conv_groups = 2, .kernel_blocks = 3};
static_assert(grouped.weight_load_cycles(ipu2) == 21 + 60 + 16);
static_assert(grouped.cycles(ipu2) == 28 + 2 * 15 + 6 + 1 + 3 * (97 + 19) + 12 + 1 + 2 * (462 + 2 * 456));
static_assert(grouped.macs() == 84 * 2 * 12 * 4);
// Every other output of a row: 9 + 2 n.
constexpr conv_partial_slic strided{.field_rows = 6, .row_elements = 14, .stride = 2};
static_assert(strided.piece_cycles(14, true) == 10 + 1 + 3 + 2 * (9 + 28 - 1));

constexpr sc::convolution_shape image(dtype type, int channels, int groups = 1) {
  sc::convolution_shape shape;
  shape.input = shape.output = type;
  shape.num_conv_groups = groups;
  shape.input_channels_per_conv_group = shape.output_channels_per_conv_group = channels;
  shape.input_field = shape.output_field = {.height = 60, .width = 60};
  shape.kernel = {.height = 3, .width = 3};
  shape.padding_lower = {.height = 1, .width = 1};
  return shape;
}
constexpr auto plan_of(sc::convolution_shape const& shape) {
  auto target = ipu1;
  target.tiles_per_ipu = 16;
  return sc::plan_convolution(shape, target);
}

}  // namespace

TEST_CASE("few channels in float16 are for SLIC") {
  auto const four = plan_of(image(dtype::float16, 4));
  CHECK(four.vertex == convolution_vertex::conv_partial_slic);
  CHECK((four.conv_units == 8 && four.filter_width == 4 && four.conv_groups_per_group == 1));
  auto const pairs = plan_of(image(dtype::float16, 2, 8));
  CHECK(pairs.vertex == convolution_vertex::conv_partial_slic);
  CHECK((pairs.conv_groups_per_group == 2 && pairs.in_chans_per_group == 2 && pairs.out_chans_per_group == 2));
  auto const single = plan_of(image(dtype::float16, 1, 8));
  CHECK(single.vertex == convolution_vertex::conv_partial_slic);
  CHECK((single.conv_groups_per_group == 4 && single.in_chans_per_group == 1));
}

TEST_CASE("other convolutions and products are not") {
  CHECK(plan_of(image(dtype::float32, 4)).vertex != convolution_vertex::conv_partial_slic);
  auto dilated = image(dtype::float16, 4);
  dilated.kernel_dilation = {.height = 1, .width = 2};
  CHECK(plan_of(dilated).vertex != convolution_vertex::conv_partial_slic);
  auto far_apart = image(dtype::float16, 4);
  far_apart.stride = {.height = 3, .width = 3};
  far_apart.output_field = {.height = 20, .width = 20};
  CHECK(plan_of(far_apart).vertex != convolution_vertex::conv_partial_slic);
  CHECK(plan_of(far_apart.input_gradient()).vertex != convolution_vertex::conv_partial_slic);
  CHECK(plan_of(sc::convolution_shape::matmul(dtype::float16, 100, 4, 4)).vertex !=
        convolution_vertex::conv_partial_slic);
  // Of many channels, a tile would have one group of 4 by 4 alone.
  CHECK(plan_of(image(dtype::float16, 64)).vertex != convolution_vertex::conv_partial_slic);
}
