// SPDX-License-Identifier: BSD-3-Clause
// Vertices that move, convert and update memory, and pooling.
#include <stagecraft/ipu/cycles/cycles.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu2;
using namespace sc::vertices;

namespace {

// float32 to float16, 604: 101 each: 25 turns of 2 (two loads of 2), and 1 element: 19 + 50 + 3 + 1.
static_assert(cast{dtype::float32, dtype::float16, 604}.cycles(ipu2) == 12 + 6 * (18 + 73));
// Back: 50 turns of 1 (one store of 2), and 1 element: 19 + 50 + 3.
static_assert(cast{dtype::float16, dtype::float32, 604}.cycles(ipu2) == 12 + 6 * (18 + 72));
// From integers: one by one, 2 cycles each.
static_assert(cast{dtype::int32, dtype::float32, 60}.cycles(ipu2) == 12 + 6 * (18 + 19 + 20));

// 23 + 100 / 2; 23 + 50 + 1; 26 + 100 / 4; one, two.
static_assert(fill{dtype::float32, 100}.worker_cycles(ipu2) == 73);
static_assert(fill{dtype::float32, 101}.worker_cycles(ipu2) == 74);
static_assert(fill{dtype::float16, 100}.worker_cycles(ipu2) == 51);
static_assert(fill{dtype::float16, 1}.worker_cycles(ipu2) == 15 && fill{dtype::float16, 2}.worker_cycles(ipu2) == 21);
static_assert(fill{dtype::uint8, 40}.worker_cycles(ipu2) == 38 && fill{dtype::uint8, 80}.worker_cycles(ipu2) == 49);

using scaled = scaled_operation;
// a + s b, 600 float32: 50 vectors each of 3 cycles. Supervisor 21 + 11 + 7 + 12 + 6 = 57; worker 15 + 6 + 147 + 4 =
// 172.
static_assert(scaled_add{scaled::add, dtype::float32, dtype::float32, 600}.cycles(ipu2) == 57 + 6 * 172);
static_assert(scaled_add{scaled::subtract, dtype::float32, dtype::float32, 600}.cycles(ipu2) == 64 + 6 * 172);
// Loaded at the same time: 1 cycle from 16 vectors on, 2 below.
static_assert(scaled_add{scaled::add, dtype::float32, dtype::float32, 600, true}.cycles(ipu2) == 57 + 6 * (25 + 49));
static_assert(scaled_add{scaled::add, dtype::float32, dtype::float32, 60, true}.cycles(ipu2) == 57 + 6 * (25 + 8));
// float32 + s float16: 4 cycles; one more element: 6 in the supervisor, 8 in a worker.
static_assert(scaled_add{scaled::add, dtype::float32, dtype::float16, 601}.cycles(ipu2) == 63 + 6 * (25 + 4 * 49 + 8));
// float16, 603: 25 vectors each, and a pair and one: 5 + 7 + 6.
static_assert(scaled_add{scaled::add, dtype::float16, dtype::float16, 603}.cycles(ipu2) == 63 + 6 * (25 + 72 + 18));
// float16 + s float32: 5 cycles: 16 + 9 + 24 x 5 + 2 + 1 + 1.
static_assert(scaled_add{scaled::add, dtype::float16, dtype::float32, 600}.cycles(ipu2) == 57 + 6 * 149);
// 612: 153 vectors, 3 workers have 26: 16 + 9 + 25 x 5 + 2 + 1 = 153.
static_assert(scaled_add{scaled::add, dtype::float16, dtype::float32, 612}.cycles(ipu2) == 57 + 6 * 153);
// r a + s b: 12 in the supervisor, 3 cycles for each vector: 16 + 6 + 147 + 1 + 1.
static_assert(scaled_add{scaled::ax_plus_by, dtype::float32, dtype::float32, 600}.cycles(ipu2) == 69 + 6 * 171);
static_assert(scaled_add{scaled::ax_plus_by, dtype::float32, dtype::float32, 600}.flops() == 1800);

// 10 rows of 100 float32 asked for, 4 of them here: 30 + 4 (19 + 50 x 2) + 8 x 6 = 554.
constexpr multi_slice gather{.row_elements = 100, .offsets = 10, .offsets_in_range = 4};
static_assert(gather.cycles(ipu2) == 6 * 554);
// Writing takes one cycle less; float16 goes by pairs.
static_assert(multi_slice{.row_elements = 100, .offsets = 10, .offsets_in_range = 4, .is_update = true}.cycles(ipu2) ==
              6 * 553);
static_assert(multi_slice{dtype::float16, 100, 10, 4}.cycles(ipu2) == 6 * 554);
// Sorted: 2 searches of 4 steps of 10 cycles: 30 + 476 + 80 + 15 + 9 + 20 = 630.
static_assert(multi_slice{.row_elements = 100, .offsets = 10, .offsets_in_range = 4, .indices_are_sorted = true}.cycles(
                  ipu2) == 6 * 630);
// One row, of which each worker copies ceil(50 / 6) = 9 vectors.
static_assert(multi_slice{.row_elements = 100, .offsets = 1, .offsets_in_range = 1, .split_single_region = true}.cycles(
                  ipu2) == 6 * (30 + 19 + 18));

// 2 x 2 maxima of 6 rows of 5 outputs, 4 float32 channels: a row for each worker, 2 vectors of channels.
//   first values: 17 + 2 + 4 + 10 + 6 + 2 = 41; pointers 2 + 1 + 3 + 2 + 4 + 1 = 13
//   a run of 5: 4 + 3 x 5 = 19; 20 + 1 + 2 (2 + 19 + 1) + 1 + 3 = 69; the row 13 + 4 x 69 + 2 = 291
constexpr pooling maxima{
    .type = pooling_type::max, .field_rows = 6, .row_elements = 5, .window_elements = 4, .chans_per_group = 4};
static_assert(maxima.cycles(ipu2) == 7 + 6 * (41 + 13 + 291 + 1) + 6);
static_assert(maxima.flops() == 30 * 4 * 4);
// Sums: a cycle more for the scale, and for each run and vector: 4 x 2 + 1.
constexpr auto sums = [] {
  auto vertex = maxima;
  vertex.type = pooling_type::sum;
  return vertex;
}();
static_assert(sums.cycles(ipu2) == maxima.cycles(ipu2) + 6 * 9);
// Gradients: 10 more for pointers; 7 + 5 x 5 = 32 for a run.
constexpr auto gradients = [] {
  auto vertex = maxima;
  vertex.type = pooling_type::max_gradient;
  return vertex;
}();
static_assert(gradients.cycles(ipu2) == maxima.cycles(ipu2) + 6 * (10 + 4 * 2 * 13));

}  // namespace

TEST_CASE("all vertices work on every kind of IPU") {
  for (auto const& ipu : {sc::ipu_targets::ipu1, sc::ipu_targets::ipu2, sc::ipu_targets::bow, sc::ipu_targets::ipu21}) {
    CHECK(maxima.cycles(ipu) == maxima.cycles(ipu2));
    CHECK(gather.cycles(ipu) == gather.cycles(ipu2));
    CHECK(conv_partial_1x1{.conv_units = 8, .field_elements = 60}.cycles(ipu) > 0);
    CHECK(conv_partial_nx1{.conv_units = 8, .field_rows = 4, .row_elements = 6}.cycles(ipu) > 0);
  }
}
