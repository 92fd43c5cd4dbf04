// SPDX-License-Identifier: BSD-3-Clause
// The convolutions that do without the units for matrix products.
#include <stagecraft/ipu/cycles/conv_macs.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu2;
using sc::vertices::horizontal_mac;
using sc::vertices::outer_product;
using sc::vertices::vertical_mac;

namespace {

// float32, 4 to 2 channels, 3 x 3, 6 rows of 5: a row for each worker.
// A dot product: 3 + 4 + 4 / 2 = 9. A worker: 16 + 19 + 5 (7 + 2 x 9) = 160. Six: 6 (9 x 160 + 16) = 8736.
// 58 + 6 x 9 + 23 + 15 + 10 + 8736 = 8896
constexpr horizontal_mac floats{.input = dtype::float32,
                                .partials = dtype::float32,
                                .field_rows = 6,
                                .row_elements = 5,
                                .kernel_elements = 9,
                                .in_chans_per_group = 4,
                                .out_chans_per_group = 2};
static_assert(floats.dot_product_cycles(ipu2, 4) == 9);
static_assert(floats.inner_cycles(ipu2) == 8736);
static_assert(floats.cycles(ipu2) == 8896);
static_assert(floats.macs() == 30 * 9 * 8);

// float16 throughout, 2 to 3 channels, 1 x 1, 4 rows of 5: thirds of rows, two for each worker: 2 x 7 / 3 = 4 outputs.
// A dot product of 2 outputs: 6 + 1 + 4 + 2 + 2 - 1 = 14. A worker: 16 - 6 + 19 + 4 (7 + 2 x 14) = 169.
// 65 + 6 (10 + 6) + 23 + 15 + 10 + 6 (169 + 16) = 1319
constexpr horizontal_mac halves{.input = dtype::float16,
                                .partials = dtype::float16,
                                .field_rows = 4,
                                .row_elements = 5,
                                .in_chans_per_group = 2,
                                .out_chans_per_group = 3};
static_assert(halves.dot_product_cycles(ipu2, 2) == 14);
static_assert(halves.cycles(ipu2) == 1319);

// float16 with partial sums of float32, 4 to 1 channels, 1 x 1: the way of its own.
// A dot product: 3 + 4 + 1 - 1 = 7. A worker: 16 - 15 + 14 + 5 (2 + 7) = 60.
// 65 - 10 + 6 (9 + 15) + 23 + 15 + 10 + 6 (60 + 16) = 703
constexpr horizontal_mac mixed{.field_rows = 6, .row_elements = 5, .in_chans_per_group = 4, .out_chans_per_group = 1};
static_assert(mixed.cycles(ipu2) == 703);

// 4 products per vector and cycle in float16, 2 in float32, at best.
static_assert(mixed.dot_product_cycles(ipu2, 400) == 100 + 6);
static_assert(floats.dot_product_cycles(ipu2, 400) == 200 + 7);
// An odd number of channels: one by one, two cycles each.
static_assert(floats.dot_product_cycles(ipu2, 3) == 3 + 4 + 1 + 3 * 2);

// 3 x 3 for 8 channels at once, two times; 12 outputs, two for each worker, of 3 rows.
// A row: 7 + 15 + 3 + 3 x 2 = 31. A worker: 13 + 6 x 31 = 199; six 1194. Zeroing 4 + 96 / 4 = 28. Sums 10 + 12 x 16
// / 8. 61 + 14 + 25 + 2 (28 + 32 + 24 + 1194 + 34) = 2724
constexpr vertical_mac depthwise{
    .outputs = 12, .kernel_height = 3, .kernel_width = 3, .groups_per_vector = 8, .conv_groups = 2};
static_assert(depthwise.inner_cycles(ipu2) == 1194);
static_assert(depthwise.cycles(ipu2) == 2724);
static_assert(depthwise.macs() == 12 * 9 * 16);

// float32 partial sums, 4 channels, 4 outputs: thirds, two for each worker, of ceil(3 / 3) = 1 kernel element.
// A piece: 7 + 5 + 3 + 0 = 15. A worker: 19 + 6 x 15 = 109; six 654. Zeroing 4 + 16 / 2. Sums 9 + (9 + 10) x 3 / 4
// = 23. 61 + 14 + 26 + (12 + 32 + 24 + 654 + 23) = 846
constexpr vertical_mac exact{.partials = dtype::float32, .outputs = 4, .kernel_height = 3, .kernel_width = 3};
static_assert(exact.cycles(ipu2) == 846);

// 25 + 11 + 10 (6 + (8 - 6) / 2) = 106; an odd number of channels: 25 + 11 + 10 (10 + 2 x 7) = 276
static_assert(outer_product{.type = dtype::float32, .width = 10, .chans_per_group = 8}.worker_cycles() == 106);
static_assert(outer_product{.type = dtype::float32, .width = 10, .chans_per_group = 7}.worker_cycles() == 276);
// 25 + 2 (10 + 10 (6 + (16 - 12) / 4)) = 185; 25 + 10 + 10 (10 + 15) = 285
static_assert(outer_product{.width = 10, .chan_groups = 2, .chans_per_group = 16}.worker_cycles() == 185);
static_assert(outer_product{.width = 10, .chans_per_group = 6}.worker_cycles() == 285);

}  // namespace

TEST_CASE("nothing to compute takes the overhead only") {
  auto empty = floats;
  empty.field_rows = 0;
  CHECK(empty.inner_cycles(ipu2) == 6 * (9 * 16 + 16));
  CHECK(vertical_mac{}.inner_cycles(ipu2) == 6 * 18);
}
