// SPDX-License-Identifier: BSD-3-Clause
// What convolutions cost on tiles: by hand for small ones, beside the planner's estimate for large ones.
#include <stagecraft/ipu/cycles/conv_partials.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/reduce.hpp>
#include <stagecraft/ipu/tasks/convolution.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <cstdint>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::convolution_shape;
using sc::dtype;
using sc::ipu_targets::ipu2;
using sc::tiles::convolution_plan;
using sc::tiles::lowered_step;
using sc::tiles::operation_cost;
using sc::tiles::tensor_role;

namespace {

constexpr sc::ipu_target ipu_of(int tiles) {
  auto target = ipu2;
  target.tiles_per_ipu = tiles;
  return target;
}

/// A step of one forward pass by a plan.
constexpr lowered_step step_of(convolution_shape const& shape, convolution_plan const& plan,
                               sc::tiles::weight_mapping const* kernel = nullptr) {
  lowered_step step;
  int const input = step.tensor(tensor_role::input, 0, shape.input, shape.inputs());
  int const weight = step.tensor(tensor_role::weight, 0, shape.input, shape.weights(), kernel);
  int const output = step.tensor(tensor_role::output, 0, shape.output, shape.outputs());
  sc::detail::append_planned(step, shape, plan, {}, sc::detail::convolution_strides::forward(shape), input, weight,
                             output);
  return step;
}
constexpr operation_cost cost_of(convolution_shape const& shape, convolution_plan const& plan,
                                 sc::ipu_target const& target, sc::tiles::weight_mapping const* kernel = nullptr) {
  auto const step = step_of(shape, plan, kernel);
  return sc::tiles::cost_of(step, step.tasks[0], target);
}
constexpr convolution_plan plan_by_hand(int in_chan_split = 1, int serial_in_chan_split = 1) {
  sc::tiles::convolution_partition partition;
  partition.in_chan_split = in_chan_split;
  partition.serial_in_chan_split = serial_in_chan_split;
  return {.conv_units = 16,
          .in_chans_per_group = 8,
          .out_chans_per_group = 16,
          .transform = {.flatten_field = true},
          .partition = partition,
          .tile = {},
          .cycles = {}};
}
constexpr std::int64_t sync = ipu2.max_ipu_sync_delay;

// (4 x 16) times (16 x 16) on one tile: operands come, 4 bytes in a cycle, and results go.
constexpr auto small = convolution_shape::matmul(dtype::float32, 4, 16, 16);
constexpr sc::vertices::conv_partial_1x1 both_groups{
    .input = dtype::float32, .conv_units = 16, .field_elements = 4, .in_chan_groups = 2, .in_chans_per_group = 8};
static_assert(cost_of(small, plan_by_hand(), ipu_of(1)) ==
              operation_cost{.compute_cycles = both_groups.cycles(ipu2),
                             .exchange_cycles = (4 * 16 + 16 * 16) + 4 * 16,
                             .sync_cycles = 2 * sync,
                             .flops = 2 * 4 * 16 * 16,
                             .bytes_exchanged = 4 * ((4 * 16 + 16 * 16) + 4 * 16),
                             .exchanges = 2,
                             .compute_sets = 1,
                             // A zero, results, operands.
                             .temporary_bytes = 8 + 4 * (4 * 16 + 4 * 16 + 16 * 16)});

// Two tiles have 8 input channels each, and send each other half of their partial sums.
constexpr sc::vertices::conv_partial_1x1 one_group{
    .input = dtype::float32, .conv_units = 16, .field_elements = 4, .in_chans_per_group = 8};
constexpr sc::vertices::reduce_partials adding{.outputs = 32, .depth = 2, .single_input = true};
static_assert(cost_of(small, plan_by_hand(2), ipu_of(2)) ==
              operation_cost{.compute_cycles = one_group.cycles(ipu2) + adding.cycles(ipu2),
                             .exchange_cycles = (4 * 8 + 8 * 16) + 32 + 32,
                             .sync_cycles = 3 * sync,
                             .flops = 2 * 4 * 16 * 16,
                             .bytes_exchanged = 4 * ((4 * 8 + 8 * 16) + 32 + 32),
                             .exchanges = 3,
                             .compute_sets = 2,
                             // A zero, results, partial sums, operands.
                             .temporary_bytes = 8 + 4 * (32 + 64 + 4 * 8 + 8 * 16)});

// The same one after the other on one tile: the second half is added to the first.
constexpr sc::vertices::binary_op add_in_place{
    .operation = sc::vertices::binary_operation::add, .type = dtype::float32, .elements = 64, .in_place = true};
static_assert(cost_of(small, plan_by_hand(1, 2), ipu_of(1)) ==
              operation_cost{.compute_cycles = 2 * one_group.cycles(ipu2) + add_in_place.cycles(ipu2),
                             .exchange_cycles = 2 * (4 * 8 + 8 * 16) + 64,
                             .sync_cycles = 3 * sync,
                             .flops = 2 * 4 * 16 * 16,
                             .bytes_exchanged = 4 * (2 * (4 * 8 + 8 * 16) + 64),
                             .exchanges = 3,
                             .compute_sets = 3,
                             // A zero, results, what is added to them, operands.
                             .temporary_bytes = 8 + 4 * (64 + 64 + 4 * 8 + 8 * 16)});

// The same where the weights lie as the plan wants them. One tile has all, two have half of the input channels each.
using sc::detail::convolution_strides;
constexpr sc::tiles::weight_mapping kernel_of(convolution_shape const& shape, convolution_plan const& plan, int tiles) {
  return {shape, plan, convolution_strides::forward(shape), ipu_of(tiles)};
}
constexpr operation_cost without_weights(operation_cost cost, std::int64_t elements) {
  cost.exchange_cycles -= elements;
  cost.bytes_exchanged -= 4 * elements;
  cost.temporary_bytes -= 4 * elements;
  return cost;
}
constexpr auto on_one = kernel_of(small, plan_by_hand(), 1), on_two = kernel_of(small, plan_by_hand(2), 2);
static_assert(on_one.tiles == 1 && on_one.elements_per_tile == 256 && on_two.tiles == 2 &&
              on_two.elements_per_tile == 128);
static_assert(cost_of(small, plan_by_hand(), ipu_of(1), &on_one) ==
              without_weights(cost_of(small, plan_by_hand(), ipu_of(1)), 256));
static_assert(cost_of(small, plan_by_hand(2), ipu_of(2), &on_two) ==
              without_weights(cost_of(small, plan_by_hand(2), ipu_of(2)), 128));
// As another plan wants them, they travel as ever.
static_assert(cost_of(small, plan_by_hand(), ipu_of(1), &on_two) == cost_of(small, plan_by_hand(), ipu_of(1)));
// Two tiles with two rows each, and one slice: each has half of it and receives the other.
constexpr auto by_rows = [] {
  auto plan = plan_by_hand();
  plan.partition.field_split.width = 2;
  return plan;
}();
constexpr auto halves = kernel_of(small, by_rows, 2);
static_assert(halves.elements_per_tile == 128);
static_assert(cost_of(small, by_rows, ipu_of(2), &halves) == without_weights(cost_of(small, by_rows, ipu_of(2)), 128));
// The units multiply 16 columns: 16 x 10 is filled up with zeros. A third of it, of each tile, is in whole loads, too.
constexpr auto narrow = convolution_shape::matmul(dtype::float32, 4, 16, 10);
constexpr auto filled_up = kernel_of(narrow, plan_by_hand(), 1);
static_assert(filled_up.elements == 160 && filled_up.elements_per_tile == 256 && filled_up.part_of_tile(3) == 88);
// No weights are laid out, and none are received.
static_assert(cost_of(narrow, plan_by_hand(), ipu_of(1)).exchanges == 3 &&
              cost_of(narrow, plan_by_hand(), ipu_of(1), &filled_up).exchanges == 2);

// Convolutions that are alike have one plan, whatever does not matter for it.
constexpr auto bow_like = [] {
  auto target = ipu2;
  target.name = "other";
  target.tile_clock_frequency = 1'850'000'000;
  return target;
}();
static_assert(&sc::tiles::plan_of<small, ipu2, sc::poplar_options{}> ==
              &sc::tiles::plan_of<small, bow_like, sc::poplar_options{.partials_type = dtype::float16}>);

// Large ones cost about what the planner thinks: values come from a linear mapping and go back to it, but nothing is
// sliced out of tensors for serial parts.
template <convolution_shape Forward, sc::poplar_options Options>
constexpr bool is_about_the_estimate() {
  lowered_step step;
  int const input = step.tensor(tensor_role::input, 0, Forward.input, Forward.inputs());
  int const kernel = step.tensor(tensor_role::weight, 0, Forward.input, Forward.weights(),
                                 &sc::tiles::weight_mapping_of<Forward, ipu2, Options>);
  int const output = step.tensor(tensor_role::output, 0, Forward.input, Forward.outputs());
  sc::tiles::append_convolution<Forward, ipu2, Options>(step, input, kernel, output);
  sc::tiles::append_convolution_input_gradient<Forward, ipu2, Options>(step, output, kernel, input);
  sc::tiles::append_convolution_filter_gradient<Forward, ipu2, Options>(step, input, output, kernel);
  for (int i = 0; i < 3; ++i) {
    auto const& plan = step.plans[step.tasks[i].plan];
    auto const cost = sc::tiles::cost_of(step, step.tasks[i], ipu2);
    if (cost.flops != Forward.flops()) return false;
    if (cost.cycles() * 10 < plan.cycles.total() * 7 || cost.cycles() * 10 > plan.cycles.total() * 16) return false;
    if (cost.temporary_bytes > plan.temporary_bytes * 2 + 4096) return false;
  }
  return true;
}
constexpr sc::poplar_options half_partials{.partials_type = dtype::float16};
constexpr convolution_shape of_resnet50(dtype type) {
  convolution_shape shape;
  shape.input = shape.output = type;
  shape.batch_size = 4;
  shape.input_channels_per_conv_group = shape.output_channels_per_conv_group = 128;
  shape.input_field = shape.output_field = {.height = 28, .width = 28};
  shape.kernel = {.height = 3, .width = 3};
  shape.padding_lower = {.height = 1, .width = 1};
  return shape;
}
static_assert(is_about_the_estimate<of_resnet50(dtype::float16), half_partials>());
static_assert(is_about_the_estimate<of_resnet50(dtype::float32), sc::poplar_options{}>());
static_assert(is_about_the_estimate<convolution_shape::matmul(dtype::float32, 32, 784, 256), sc::poplar_options{}>());
static_assert(is_about_the_estimate<convolution_shape::matmul(dtype::float16, 1024, 2048, 1000), half_partials>());

}  // namespace

TEST_CASE("where elements lie") {
  using sc::detail::convolution_strides;
  // A batch of 2 images of 3 x 4, 2 groups of 5 channels; a kernel of 3 x 2 for 2 groups of 7 outputs.
  convolution_shape shape;
  shape.batch_size = 2;
  shape.num_conv_groups = 2;
  shape.input_channels_per_conv_group = 5;
  shape.output_channels_per_conv_group = 7;
  shape.input_field = {.height = 3, .width = 4};
  shape.output_field = {.height = 1, .width = 3};
  shape.kernel = {.height = 3, .width = 2};
  auto const forward = convolution_strides::forward(shape);
  CHECK(forward.inputs(1, 1, 2, 3, 4) == 2 * 3 * 4 * 10 - 1);
  CHECK(forward.weights(1, 2, 1, 4, 6) == 3 * 2 * 5 * 14 - 1);
  CHECK(forward.weights(1, 0, 0, 0, 0) == 7);
  CHECK(forward.outputs(1, 1, 0, 2, 6) == 2 * 3 * 14 - 1);
  auto const input = convolution_strides::input_gradient(shape);  // the kernel is turned
  CHECK(input.weights(1, 0, 0, 6, 4) == forward.weights(1, 2, 1, 4, 6));
  CHECK(input.weights(0, 2, 1, 0, 0) == 0);
  CHECK(input.inputs(1, 1, 0, 2, 6) == forward.outputs(1, 1, 0, 2, 6));
  auto const filter = convolution_strides::filter_gradient(shape);  // channels are the batch
  CHECK(filter.inputs(1, 4, 2, 3, 1) == forward.inputs(1, 1, 2, 3, 4));
  CHECK(filter.weights(1, 0, 2, 1, 6) == forward.outputs(1, 1, 0, 2, 6));
  CHECK(filter.outputs(1, 4, 2, 1, 6) == forward.weights(1, 2, 1, 4, 6));
}
