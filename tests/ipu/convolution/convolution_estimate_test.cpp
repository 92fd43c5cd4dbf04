// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/convolution/convolution_estimate.hpp>
#include <doctest/doctest.h>
#include "resnet50_shapes.hpp"

namespace sc = stagecraft;
using sc::convolution_shape;
using sc::dtype;
using sc::detail::convolution_problem;
using sc::detail::convolution_view;
using sc::detail::convolution_views;
using sc::ipu_targets::ipu2;
using sc::tiles::convolution_vertex;

namespace {

constexpr convolution_view view_of(convolution_shape const& shape, convolution_vertex vertex,
                                   sc::tiles::convolution_transform transform, dtype partials = dtype::float32) {
  convolution_views const views(shape, ipu2, partials);
  for (int i = 0; i < views.count; ++i)
    if (views.views[i].vertex == vertex && views.views[i].transform == transform) return views.views[i];
  return {};
}

// A product of 6 x 16 and 16 x 16: on one tile, only the vertex and its memory.
constexpr convolution_problem small{.shape = convolution_shape::matmul(dtype::float32, 6, 16, 16), .target = ipu2};
constexpr auto small_view = view_of(small.shape, convolution_vertex::conv_partial_1x1, {.flatten_field = true});
constexpr auto on_one_tile = small.plan_of(small_view, {}, 1'000'000);
constexpr sc::vertices::conv_partial_1x1 whole{.input = dtype::float32, .field_elements = 6, .in_chan_groups = 2};
static_assert(on_one_tile.cycles.compute == whole.cycles(ipu2));
static_assert(on_one_tile.cycles.total() == on_one_tile.cycles.compute && on_one_tile.tiles_used() == 1);
static_assert(on_one_tile.temporary_bytes == 4 * (6 * 16 + 16 * 16 + 6 * 16));

// Each of two tiles has half of the depth, and then half of the outputs: 48 sums from the other, 4 bytes per cycle.
constexpr auto on_two =
    small.plan_of(small_view, {.field_split = {}, .kernel_split = {}, .in_chan_split = 2}, 1'000'000);
static_assert(on_two.cycles.exchange_in == 0 && on_two.cycles.exchange_partials == 48 && on_two.cycles.sync == 126);
static_assert(on_two.reduce_stages == 1 && on_two.tiles_used() == 2);
static_assert(on_two.cycles.reduce == (20 + (2 + 8) * 2) * 6 + 33);

// Two tiles have half of the rows each: they exchange half of the weights.
constexpr auto rows = small.plan_of(small_view, {.field_split = {.width = 2}, .kernel_split = {}}, 1'000'000);
static_assert(rows.cycles.exchange_in == 128 && rows.cycles.exchange_partials == 0 && rows.cycles.sync == 126);
static_assert(rows.tile.inputs == 48 && rows.tile.weights == 256 && rows.tile.partials == 48);

// Two serial parts of the depth: twice all of it, and the sums are added.
constexpr auto serial =
    small.plan_of(small_view, {.field_split = {}, .kernel_split = {}, .serial_in_chan_split = 2}, 1'000'000);
constexpr sc::vertices::conv_partial_1x1 half_depth{.input = dtype::float32, .field_elements = 6};
static_assert(serial.cycles.compute == 2 * half_depth.cycles(ipu2) && serial.cycles.slice > 0);
static_assert(serial.temporary_bytes == 4 * (6 * 8 + 8 * 16 + 6 * 16 + 6 * 16));

// Stored as float32, multiplied as float16: a float16 product, and conversions of what is multiplied.
constexpr auto converted_shape = [] {
  auto shape = small.shape;
  shape.multiplies_float16 = true;
  return shape;
}();
constexpr convolution_problem converting{.shape = converted_shape, .target = ipu2};
constexpr auto converted = converting.plan_of(
    view_of(converted_shape, convolution_vertex::conv_partial_1x1, {.flatten_field = true}), {}, 1'000'000);
constexpr sc::vertices::conv_partial_1x1 of_halves{
    .conv_units = 8, .field_elements = 6, .out_chan_groups = 2, .out_chans_per_group = 8};
static_assert(converted.cycles.compute == of_halves.cycles(ipu2));
static_assert(converted.cycles.cast == sc::vertices::cast{.elements = 6 * 16}.cycles(ipu2) +
                                           sc::vertices::cast{.elements = 16 * 16}.cycles(ipu2));
static_assert(converted.temporary_bytes == (4 + 2) * (6 * 16 + 16 * 16) + 4 * 6 * 16);

// What a tile's outputs need of the input: 3 rows of a 3 x 3 kernel need 5; at the border no more than there is.
constexpr auto same = plan_tests::square_convolution(dtype::float16, 1, 8, 16, 16, 3, 1);
constexpr auto same_view = view_of(same, convolution_vertex::conv_partial_nx1, {});
static_assert(same_view.inputs_of({.height = 3, .width = 8}, {.height = 3, .width = 3}) ==
              sc::tiles::field_size{.height = 5, .width = 8});
// With a stride of 2: rows 0 to 6, of 9 columns all 8. Its input's gradient: 6 rows see 4 rows.
constexpr auto strided = plan_tests::square_convolution(dtype::float16, 1, 8, 16, 16, 3, 2);
static_assert(view_of(strided, convolution_vertex::conv_partial_nx1, {})
                  .inputs_of({.height = 3, .width = 4}, {.height = 3, .width = 3}) ==
              sc::tiles::field_size{.height = 7, .width = 8});
constexpr auto strided_gradient = view_of(strided.input_gradient(), convolution_vertex::conv_partial_nx1, {});
static_assert(strided_gradient.inputs_of({.height = 6, .width = 8}, {.height = 3, .width = 3}) ==
              sc::tiles::field_size{.height = 4, .width = 4});
static_assert(strided_gradient.reached({.height = 6, .width = 7}) == sc::tiles::field_size{.height = 3, .width = 4});

// Three input channels of a 7 x 7 kernel: groups of 4 with 4 rows at once, 2 of them; or 147 in groups of 16.
constexpr auto stem = plan_tests::resnet50_convolution(plan_tests::resnet50_layers[0], dtype::float16);
constexpr auto expanded = view_of(stem, convolution_vertex::conv_partial_1x1,
                                  {.expand_height = true, .expand_width = true, .flatten_field = true});
static_assert(expanded.in_chan_groups == 10 && expanded.field.width == 4 * 112 * 112 && expanded.rearranges_inputs);
constexpr bool takes_four_rows = [] {
  convolution_views const views(stem, ipu2, dtype::float32);
  for (auto const& view : views.views)
    if (view.filter_height == 4 && view.in_chans_per_group == 4 && view.kernel.height == 2) return true;
  return false;
}();
static_assert(takes_four_rows);

// Channels that have kernels of their own are done several at once.
constexpr auto depthwise = plan_tests::square_convolution(dtype::float16, 1, 8, 64, 64, 3, 1, 64);
constexpr auto depthwise_view = view_of(depthwise, convolution_vertex::vertical_mac, {}, dtype::float16);
static_assert(depthwise_view.conv_groups * depthwise_view.conv_groups_per_group == 64);
constexpr auto depthwise_tile = convolution_problem::tile_of(depthwise_view, {});
static_assert(depthwise_tile.weights == 64 * 9 && depthwise_tile.inputs == 64 * 64 &&
              depthwise_tile.partials == 64 * 64);

}  // namespace

TEST_CASE("all ways to compute a convolution cover it") {
  using plan_tests::square_convolution;
  for (auto const& shape :
       {square_convolution(dtype::float16, 3, 9, 5, 7, 3, 2),
        square_convolution(dtype::float32, 2, 12, 24, 36, 5, 1, 12),
        convolution_shape::matmul(dtype::float16, 33, 1, 70), convolution_shape::matmul(dtype::float32, 5, 100, 9)})
    for (auto const& pass : {shape, shape.input_gradient(), shape.filter_gradient()}) {
      convolution_views const views(pass, ipu2, dtype::float32);
      REQUIRE(views.count > 0);
      REQUIRE(views.count < convolution_views::capacity);
      for (int i = 0; i < views.count; ++i) {
        auto const& view = views.views[i];
        CAPTURE(i);
        // At least as many products as there are; with no more cycles than the least of them says.
        CHECK(view.conv_groups * view.conv_groups_per_group * view.batch * view.reached(view.field).elements() *
                  view.kernel.elements() * view.filter_height * view.filter_width * view.in_chan_groups *
                  view.in_chans_per_group * view.out_chan_groups * view.out_chans_per_group >=
              pass.macs());
        convolution_problem const problem{.shape = pass, .target = ipu2};
        CHECK(problem.plan_of(view, {}, INT64_MAX).cycles.total() >= view.least_cycles(ipu2, pass.input));
      }
    }
}
