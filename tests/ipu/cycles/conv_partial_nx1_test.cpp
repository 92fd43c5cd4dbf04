// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/cycles/conv_partials.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu2;
using sc::vertices::conv_partial_nx1;
using sc::vertices::zero_partials;

namespace {

// 3 x 3, 4 rows of 6 outputs, 16 to 16 channels, float16 throughout.
constexpr conv_partial_nx1 halves{.input = dtype::float16,
                                  .partials = dtype::float16,
                                  .conv_units = 16,
                                  .field_rows = 4,
                                  .row_elements = 6,
                                  .kernel_outer_elements = 3,
                                  .kernel_inner_elements = 3};
// A worker has one piece of 4: 18 + 3 + 34 + 4 - 9 = 50, or two pieces of 2: 18 + 2 (3 + 34 - 9) = 74.
static_assert(halves.worker_cycles({.first = 4, .row_length = 6}) == 50);
static_assert(halves.worker_cycles({.first = 2, .row_length = 6, .last = 2}) == 74);
static_assert(halves.worker_cycles({}) == 18);
// 512 / 8 + 15 for loads; the longest of the workers 6 x 74 = 444.
static_assert(halves.weight_load_cycles(ipu2) == 79);
// 3 (14 + 3 (12 + 79 + 3 + 444)) = 4884
static_assert(halves.inner_cycles(ipu2) == 4884);
// Zeroing: 24 x 16 elements, 64 for each worker, 16 vectors: 6 (16 + 15 - 10) = 126.
static_assert(halves.zeroing().cycles(ipu2) == 126);
// 109 + 6 (9 + 10) = 223; + 17 + 1 + 1 = 242; + 16 + 14 + 14 + 4884 = 5170; + 126
static_assert(halves.cycles(ipu2) == 5296);
static_assert(halves.macs() == 24 * 9 * 16 * 16);

// float32, 6 outputs of 1 element each, kernel 1 x 1: 17 + 3 + 33 - 9 = 44; 6 x 44 + 9 = 273.
// 14 + 12 + 64 + 15 + 3 + 273 = 381; 109 + 6 x 18 + 17 + 1 + 1 + 16 + 14 + 14 + 381 = 661; zeroing 6 (8 + 5) = 78.
constexpr conv_partial_nx1 floats{.input = dtype::float32,
                                  .partials = dtype::float32,
                                  .conv_units = 16,
                                  .field_rows = 6,
                                  .row_elements = 1,
                                  .in_chans_per_group = 8};
static_assert(floats.inner_cycles(ipu2) == 381);
static_assert(floats.cycles(ipu2) == 661 + 78);

// Four rows of the kernel at once: 60 cycles more per load, and never more than 8 bytes per cycle.
constexpr conv_partial_nx1 high{
    .field_rows = 1, .row_elements = 6, .in_chans_per_group = 4, .filter_height = 4, .use_128bit_conv_unit_load = true};
static_assert(high.weight_load_cycles(ipu2) == 64 + 60);
constexpr conv_partial_nx1 low{.field_rows = 1, .row_elements = 6, .use_128bit_conv_unit_load = true};
static_assert(low.weight_load_cycles(ipu2) == 32 + 15);

// 100 float32 in 3 groups: 17 for each worker, 9 vectors: 6 x 3 (9 + 14 - 9).
static_assert(zero_partials{.type = dtype::float32, .elements_per_group = 100, .groups = 3}.cycles(ipu2) == 252);

// In the long run 64 products per cycle, less what a piece of a row costs each worker, 16 cycles for 1000 elements, and
// zeroing.
constexpr conv_partial_nx1 large{.input = dtype::float16,
                                 .partials = dtype::float16,
                                 .conv_units = 16,
                                 .field_rows = 60,
                                 .row_elements = 1000,
                                 .in_chan_groups = 4,
                                 .kernel_outer_elements = 3,
                                 .kernel_inner_elements = 3};
static_assert(static_cast<double>(large.macs()) / static_cast<double>(large.cycles(ipu2)) > 61.5);
static_assert(static_cast<double>(large.macs()) / static_cast<double>(large.cycles(ipu2)) < 64);

}  // namespace

TEST_CASE("a kernel with more elements takes as many more passes") {
  auto wide = halves;
  wide.kernel_inner_elements = 5;
  CHECK(wide.inner_cycles(ipu2) - halves.inner_cycles(ipu2) == 3 * 2 * (12 + 79 + 3 + 444));
}
