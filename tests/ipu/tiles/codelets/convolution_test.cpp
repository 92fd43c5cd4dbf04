// SPDX-License-Identifier: BSD-3-Clause
// Convolutions and matrix products on the tiles of small IPUs: values as in plain loops, cycles and memory as the cost
// says, whatever the plan.
#include <stagecraft/ipu/convolution/plan_convolution.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/convolution.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>
#include "step_on_tiles.hpp"

namespace {

namespace sc = stagecraft;
using sc::convolution_pass;
using sc::convolution_shape;
using sc::dtype;
using sc::detail::convolution_strides;
using sc::tiles::convolution_plan;
using sc::tiles::tensor_role;

/// All that plans may do.
struct features {
  std::set<sc::tiles::convolution_vertex> vertices;
  bool swaps = false, expands_width = false, expands_all = false, takes_rows = false, groups_groups = false;
  bool serial_out = false, serial_in = false, serial_both = false, sends_once = false;
  std::set<int> stages;

  void add(convolution_plan const& plan) {
    vertices.insert(plan.vertex);
    swaps = swaps || plan.transform.swap_operands;
    expands_width = expands_width || (plan.transform.expand_width && !plan.transform.expand_height);
    expands_all = expands_all || plan.transform.expand_height;
    takes_rows = takes_rows || plan.filter_height > 1;
    groups_groups = groups_groups || plan.conv_groups_per_group > 1;
    bool const out = plan.partition.serial_out_chan_split > 1, in = plan.partition.serial_in_chan_split > 1;
    serial_out = serial_out || out;
    serial_in = serial_in || in;
    serial_both = serial_both || (out && in);
    sends_once = sends_once || plan.broadcasts_before_loop;
    stages.insert(plan.reduce_stages);
  }
};

/// The forward pass by its definition; channels last, kernel (rows, columns, inputs of a group, outputs).
template <class Visit>
void for_each_product(convolution_shape const& s, Visit const& visit) {
  auto const ins = s.input_channels_per_conv_group, outs = s.output_channels_per_conv_group;
  auto const all_ins = s.num_conv_groups * ins, all_outs = s.num_conv_groups * outs;
  for (std::int64_t b = 0; b < s.batch_size; ++b)
    for (std::int64_t oy = 0; oy < s.output_field.height; ++oy)
      for (std::int64_t ox = 0; ox < s.output_field.width; ++ox)
        for (std::int64_t ky = 0; ky < s.kernel.height; ++ky)
          for (std::int64_t kx = 0; kx < s.kernel.width; ++kx) {
            auto iy = oy * s.stride.height + ky * s.kernel_dilation.height - s.padding_lower.height;
            auto ix = ox * s.stride.width + kx * s.kernel_dilation.width - s.padding_lower.width;
            if (iy < 0 || ix < 0 || iy >= s.input_field.height || ix >= s.input_field.width) continue;
            for (std::int64_t g = 0; g < s.num_conv_groups; ++g)
              for (std::int64_t i = 0; i < ins; ++i)
                for (std::int64_t o = 0; o < outs; ++o)
                  visit(static_cast<std::size_t>(
                            ((b * s.input_field.height + iy) * s.input_field.width + ix) * all_ins + g * ins + i),
                        static_cast<std::size_t>(((ky * s.kernel.width + kx) * ins + i) * all_outs + g * outs + o),
                        static_cast<std::size_t>(
                            ((b * s.output_field.height + oy) * s.output_field.width + ox) * all_outs + g * outs + o));
          }
}

/// Runs one of the three passes of a forward shape with a plan, and compares values, cycles and memory. The kernel, or
/// its gradient, may lie as a plan of the forward pass wants it.
void check_plan(convolution_shape const& forward, convolution_pass pass, sc::ipu_target const& target,
                sc::poplar_options const& options, convolution_plan const& plan,
                sc::tiles::weight_mapping const* kernel = nullptr) {
  auto const shape = pass == convolution_pass::forward          ? forward
                     : pass == convolution_pass::input_gradient ? forward.input_gradient()
                                                                : forward.filter_gradient();
  CAPTURE(static_cast<int>(pass));
  CAPTURE(target.tiles_per_ipu);
  CAPTURE(std::string(plan.text().view()));
  tests::step_on_tiles test(target.tiles_per_ipu);
  test.target = target;
  std::mt19937 random(7);
  dtype const type = forward.input, result_type = forward.output;
  auto const& elements = forward;
  std::int64_t const sizes[3]{elements.inputs(), elements.weights(), elements.outputs()};
  int const result = pass == convolution_pass::forward ? 2 : pass == convolution_pass::input_gradient ? 0 : 1;
  int tensors[3];
  for (int i = 0; i < 3; ++i) {
    tensors[i] = test.add(i == 0   ? tensor_role::input
                          : i == 1 ? tensor_role::weight
                                   : tensor_role::output,
                          sizes[i], i == result ? result_type : type);
    test.fill(tensors[i], random, -2, 2);
  }
  test.step.tensors[tensors[1]].planned = kernel;
  std::vector<std::vector<double>> expected;
  for (int i = 0; i < 3; ++i) expected.emplace_back(static_cast<std::size_t>(sizes[i]));
  for_each_product(forward, [&](std::size_t x, std::size_t w, std::size_t y) {
    if (result == 2)
      expected[2][y] += test[tensors[0]][x] * test[tensors[1]][w];
    else if (result == 0)
      expected[0][x] += test[tensors[2]][y] * test[tensors[1]][w];
    else
      expected[1][w] += test[tensors[0]][x] * test[tensors[2]][y];
  });
  auto const strides = result == 2   ? convolution_strides::forward(forward)
                       : result == 0 ? convolution_strides::input_gradient(forward)
                                     : convolution_strides::filter_gradient(forward);
  sc::detail::append_planned(test.step, shape, plan, options, strides, tensors[result == 0 ? 2 : 0],
                             tensors[result == 1 ? 2 : 1], tensors[result]);

  // The plan's tile is that of the division.
  auto const division = sc::detail::division_of(test.step, test.step.tasks[0], target);
  auto const part = division.part(0, 0, 0);
  CHECK(part.outputs() == plan.tile.partials);
  CHECK(part.weights() == plan.tile.weights);
  CHECK(division.inputs(part) == plan.tile.inputs);

  CHECK(division.kernel_is_there == (kernel != nullptr && result == 2));
  auto const cost = sc::tiles::cost_of(test.step, test.step.tasks[0], target);
  CHECK(cost.flops == plan.flops());
  test.run([](sc::tiles::tile_machine& machine, sc::tiles::task const& op) { sc::tiles::run_task(machine, op); }, cost);
  std::size_t wrong = 0;
  auto const& values = test[tensors[result]];
  auto const& right = expected[static_cast<std::size_t>(result)];
  for (std::size_t i = 0; i < values.size(); ++i)
    if (static_cast<double>(values[i]) != right[i]) ++wrong;
  CHECK(wrong == 0);
}

constexpr convolution_pass passes[]{convolution_pass::forward, convolution_pass::input_gradient,
                                    convolution_pass::filter_gradient};

features check(convolution_shape const& forward, sc::ipu_target const& target, sc::poplar_options const& options = {}) {
  features result;
  std::unique_ptr<sc::tiles::weight_mapping> kernel;
  for (auto const pass : passes) {
    auto const shape = pass == convolution_pass::forward          ? forward
                       : pass == convolution_pass::input_gradient ? forward.input_gradient()
                                                                  : forward.filter_gradient();
    auto const plan = sc::plan_convolution(shape, target, options);
    result.add(plan);
    check_plan(forward, pass, target, options, plan);
    if (pass == convolution_pass::forward)
      kernel =
          std::make_unique<sc::tiles::weight_mapping>(forward, plan, convolution_strides::forward(forward), target);
    check_plan(forward, pass, target, options, plan, kernel.get());
  }
  return result;
}

sc::ipu_target target_of(int tiles, int bytes = 624 * 1024) {
  auto result = tests::target_of(tiles);
  result.bytes_per_tile = bytes;
  return result;
}

/// Square, of images of an odd width.
struct convolution_options {
  std::int64_t batch = 1, size = 6, ins = 3, outs = 4, kernel = 3, stride = 1, dilation = 1, groups = 1;
  bool same = true;
};
convolution_shape convolution_of(convolution_options const& o, dtype type) {
  convolution_shape result;
  result.input = result.output = type;
  result.batch_size = o.batch;
  result.num_conv_groups = o.groups;
  result.input_channels_per_conv_group = o.ins;
  result.output_channels_per_conv_group = o.outs;
  result.input_field = {.height = o.size, .width = o.size + 1};
  result.kernel = {.height = o.kernel, .width = o.kernel};
  result.stride = {.height = o.stride, .width = o.stride};
  result.kernel_dilation = {.height = o.dilation, .width = o.dilation};
  std::int64_t const extent = (o.kernel - 1) * o.dilation + 1;
  auto const along = [&](std::int64_t input, std::int64_t& output, std::int64_t& padding) {
    output = o.same ? (input + o.stride - 1) / o.stride : (input - extent) / o.stride + 1;
    std::int64_t const zeros = (output - 1) * o.stride + extent - input;
    padding = o.same && zeros > 0 ? zeros / 2 : 0;
  };
  along(result.input_field.height, result.output_field.height, result.padding_lower.height);
  along(result.input_field.width, result.output_field.width, result.padding_lower.width);
  return result;
}

TEST_CASE("matrix products") {
  for (int const tiles : {1, 3, 8, 64})
    for (dtype const type : {dtype::float32, dtype::float16})
      for (dtype const partials : {dtype::float32, dtype::float16}) {
        sc::poplar_options const options{.partials_type = partials};
        check(convolution_shape::matmul(type, 5, 12, 7), target_of(tiles), options);
        check(convolution_shape::matmul(type, 1, 40, 33), target_of(tiles), options);
        check(convolution_shape::matmul(type, 16, 100, 1), target_of(tiles), options);
      }
}

constexpr convolution_options convolutions[]{{},
                                             {.batch = 2, .same = false},
                                             {.batch = 3, .ins = 5, .outs = 9, .kernel = 1},
                                             {.batch = 2, .kernel = 1, .stride = 2},
                                             {.size = 7, .stride = 2},
                                             {.size = 8, .stride = 2, .same = false},
                                             {.size = 8, .dilation = 2},
                                             {.size = 9, .dilation = 2, .same = false},
                                             {.size = 7, .ins = 1, .outs = 1, .groups = 5},
                                             {.size = 5, .ins = 1, .outs = 3, .groups = 4},
                                             {.size = 5, .ins = 2, .outs = 3, .groups = 2},
                                             {.batch = 2, .size = 4, .kernel = 5, .stride = 3}};

TEST_CASE("convolutions") {
  for (int const tiles : {1, 3, 8, 64})
    for (dtype const type : {dtype::float32, dtype::float16})
      for (convolution_options const& o : convolutions) check(convolution_of(o, type), target_of(tiles));
}

TEST_CASE("little memory asks for serial parts") {
  features found;
  auto const add = [&](convolution_shape const& shape, int tiles, int bytes, sc::poplar_options const& options = {}) {
    auto const of = check(shape, target_of(tiles, bytes), options);
    found.serial_out = found.serial_out || of.serial_out;
    found.serial_in = found.serial_in || of.serial_in;
  };
  for (dtype const type : {dtype::float32, dtype::float16})
    for (int const tiles : {1, 3, 8, 64}) {
      add(convolution_shape::matmul(type, 6, 90, 70), tiles, 40'000 / tiles);
      add(convolution_shape::matmul(type, 60, 60, 60), tiles, 50'000 / tiles);
      add(convolution_shape::matmul(type, 40, 50, 60), tiles, 60'000, {.available_memory_proportion = 0});
      add(convolution_of({.batch = 2, .ins = 18, .outs = 35}, type), tiles, 40'000 / tiles);
    }
  CHECK(found.serial_out);
  CHECK(found.serial_in);
}

/// A way to divide a convolution at random, not the best one.
sc::tiles::convolution_partition any_partition(sc::detail::convolution_view const& view, int tiles,
                                               std::mt19937& random) {
  std::int64_t left = tiles;
  auto const split = [&](std::int64_t size, bool serial = false) {
    auto const most = std::min<std::int64_t>({size, serial ? 4 : left, random() % 2 == 0 ? 8 : 200});
    auto const parts = 1 + static_cast<std::int64_t>(random()) % most;
    if (!serial) left /= parts;
    return parts;
  };
  auto const narrow = [](std::int64_t parts) { return static_cast<int>(parts); };
  sc::tiles::convolution_partition p;
  int const first = static_cast<int>(random() % 3);  // what may take all tiles
  if (first == 0) p.in_chan_split = narrow(split(view.in_chan_groups));
  if (first == 1) p.kernel_split = {.height = split(view.kernel.height), .width = split(view.kernel.width)};
  p.field_split = {.height = split(view.field.height), .width = split(view.field.width)};
  p.batch_split = narrow(split(view.batch));
  p.out_chan_split = narrow(split(view.out_chan_groups));
  p.conv_group_split = narrow(split(view.conv_groups));
  if (first != 0) p.in_chan_split = narrow(split(view.in_chan_groups));
  if (first != 1) p.kernel_split = {.height = split(view.kernel.height), .width = split(view.kernel.width)};
  if (random() % 2 == 0) p.serial_out_chan_split = narrow(split(view.out_chan_groups, true));
  if (random() % 2 == 0) p.serial_in_chan_split = narrow(split(view.in_chan_groups, true));
  return p;
}

#ifdef STAGECRAFT_TEST_FEWER_MACHINES  // to save time: a sanitizer takes six times as long
constexpr int tiles_of_divisions[]{32, 200};
#else
constexpr int tiles_of_divisions[]{1, 6, 32, 200};
#endif

TEST_CASE("any division gives the same values, at its own cost") {
  features found;
  std::mt19937 random(3);
  auto const try_some = [&](convolution_shape forward, int tiles, dtype partials) {
    auto const target = target_of(tiles);
    sc::poplar_options const options{.partials_type = partials, .use_128bit_conv_unit_load = random() % 2 == 0};
    std::unique_ptr<sc::tiles::weight_mapping> kernel;
    for (auto const pass : passes) {
      auto const shape = pass == convolution_pass::forward          ? forward
                         : pass == convolution_pass::input_gradient ? forward.input_gradient()
                                                                    : forward.filter_gradient();
      sc::detail::convolution_problem const problem{
          .shape = shape, .target = target, .use_128bit_conv_unit_load = options.use_128bit_conv_unit_load};
      sc::detail::convolution_views const views(shape, target,
                                                shape.operand() == dtype::float16 ? partials : dtype::float32);
      for (int i = 0; i < views.count; ++i) {
        auto const partition = any_partition(views.views[i], tiles, random);
        auto const part_of = problem.tile_of(views.views[i], partition);
        if (!views.views[i].takes(part_of.in_chans / views.views[i].in_chans_per_group,
                                  part_of.out_chans / views.views[i].out_chans_per_group))
          continue;
        auto plan = problem.plan_of(views.views[i], partition, random() % 2 == 0 ? 0 : INT64_MAX);
        plan.macs = shape.macs();
        found.add(plan);
        check_plan(forward, pass, target, options, plan);
        // The kernel as any plan of the forward pass wants it.
        if (pass == convolution_pass::forward)
          kernel =
              std::make_unique<sc::tiles::weight_mapping>(forward, plan, convolution_strides::forward(forward), target);
        check_plan(forward, pass, target, options, plan, kernel.get());
      }
    }
  };
  for (int const tiles : tiles_of_divisions)
    for (dtype const partials : {dtype::float32, dtype::float16})
      for (dtype const type : {dtype::float32, dtype::float16}) {
        if (type == dtype::float32 && partials == dtype::float16)
          continue;  // products of float32 have no other partial sums
        for (convolution_options const& o : convolutions) try_some(convolution_of(o, type), tiles, partials);
        try_some(convolution_of({.size = 3, .ins = 33, .outs = 19}, type), tiles, partials);
        try_some(convolution_shape::matmul(type, 9, 200, 21), tiles, partials);
        try_some(convolution_shape::matmul(type, 3, 1500, 2), tiles, partials);
        try_some(convolution_shape::matmul(type, 20, 1, 17, 2), tiles, partials);
        // Results of another type than the operands, and operands that are multiplied as another.
        auto mixed = convolution_of({.ins = 18, .outs = 5}, type);
        mixed.output = type == dtype::float16 ? dtype::float32 : dtype::float16;
        try_some(mixed, tiles, partials);
        mixed = convolution_of({.ins = 18, .outs = 5}, dtype::float32);
        mixed.multiplies_float16 = true;
        try_some(mixed, tiles, partials);
      }
  CHECK(found.vertices.size() == 6);
  CHECK(found.swaps);
  CHECK(found.expands_width);
  CHECK(found.expands_all);
  CHECK(found.takes_rows);
  CHECK(found.groups_groups);
  CHECK(found.serial_both);
  CHECK(found.sends_once);
  CHECK(found.stages == std::set<int>{0, 1, 2, 3});
}

}  // namespace
