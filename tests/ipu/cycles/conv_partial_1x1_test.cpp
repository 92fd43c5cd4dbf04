// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/cycles/conv_partials.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu2;
using sc::vertices::conv_partial_1x1;

namespace {

// float16 throughout, 16 units, 60 elements: 10 for each worker. Workers: 38 + 4 (10 - 3) - 7 = 59, zeroing 58.
constexpr conv_partial_1x1 halves{
    .input = dtype::float16, .partials = dtype::float16, .conv_units = 16, .field_elements = 60, .in_chan_groups = 2};
static_assert(halves.worker_cycles(10, false) == 59 && halves.worker_cycles(10, true) == 58);
// 6 x 59 + 14, 6 x 58 + 14; the weights of 16 units, 32 bytes each, at 8 bytes per cycle.
static_assert(halves.inner_cycles(ipu2, false) == 368 && halves.inner_cycles(ipu2, true) == 362);
static_assert(halves.weight_load_cycles(ipu2) == 64);
// 50 + 6 (7 + 3 (2 - 1))                   = 110
// 12 + 1                                   =  13
// second inputs: 16 - 1 + 19 + (6 + 64 + 368) = 472
// first inputs: 11 + 19 - 1 + (7 + 64 + 362)  = 462
static_assert(halves.cycles(ipu2) == 110 + 13 + 472 + 462);
static_assert(halves.macs() == 60 * 32 * 16 && halves.flops() == 2 * 60 * 32 * 16);

// 63 elements: 10 or 11. 6 x 59 + 14 = 368 < 6 x 63 = 378. 4 elements: 1 or none: 6 x (33 - 7).
constexpr std::int64_t inner_cycles_of(std::int64_t elements) {
  auto vertex = halves;
  vertex.field_elements = elements;
  return vertex.inner_cycles(ipu2, false);
}
static_assert(inner_cycles_of(63) == 378 && inner_cycles_of(4) == 156 && inner_cycles_of(0) == 14);
// Three of 1, three of 2 elements: 6 x (42 - 7) = 210 > 6 x 26 + 14.
static_assert(inner_cycles_of(9) == 210);

// float32: workers 46 + 8 (10 - 3) = 102, zeroing 2 + 10 x 8 more. 6 x 184 + 14 = 1118.
// 50 + 13 + 11 + 19 - 1 + (7 + 64 + 1118) = 1281
constexpr conv_partial_1x1 floats{.input = dtype::float32,
                                  .partials = dtype::float32,
                                  .conv_units = 16,
                                  .field_elements = 60,
                                  .in_chans_per_group = 8};
static_assert(floats.worker_cycles(10, false) == 102 && floats.worker_cycles(10, true) == 184);
static_assert(floats.worker_cycles(0, true) == 24 && floats.worker_cycles(1, true) == 47 + 2 + 8);
static_assert(floats.worker_cycles(2, false) == 46);
static_assert(floats.cycles(ipu2) == 1281);

// float16 with 8 units (as on GC2): workers 41 + 4 x 7 + 2 + 10 x 2 = 91, 6 x 91 + 14 = 560, two passes for 16
// channels. 50 + 12 + 11 + 19 + 2 (7 + 32 + 560) = 1290
constexpr conv_partial_1x1 eight_units{
    .input = dtype::float16, .partials = dtype::float16, .conv_units = 8, .field_elements = 60};
static_assert(eight_units.worker_cycles(10, true) == 91 && eight_units.worker_cycles(1, false) == 39);
static_assert(eight_units.cycles(ipu2) == 1290);
static_assert(eight_units.cycles(sc::ipu_targets::ipu1) == 1290);

// Loads of 128 bits take half the cycles: 2 x 32 less.
constexpr auto with_wide_loads = [] {
  auto vertex = halves;
  vertex.use_128bit_conv_unit_load = true;
  return vertex;
}();
static_assert(with_wide_loads.cycles(ipu2) == halves.cycles(ipu2) - 2 * 32);

// In the long run the units are busy: 64 products per cycle and tile in float16, 32 with partial sums in float32.
constexpr double macs_per_cycle(conv_partial_1x1 const& vertex) {
  return static_cast<double>(vertex.macs()) / static_cast<double>(vertex.cycles(ipu2));
}
constexpr conv_partial_1x1 large(dtype in, dtype partials, std::int64_t in_chan_groups) {
  return {.input = in,
          .partials = partials,
          .conv_units = ipu2.conv_units(in, partials),
          .field_elements = 24000,
          .in_chan_groups = in_chan_groups,
          .out_chan_groups = 4,
          .in_chans_per_group = ipu2.weights_per_conv_unit(in)};
}
static_assert(macs_per_cycle(large(dtype::float16, dtype::float16, 8)) > 63.5);
static_assert(macs_per_cycle(large(dtype::float16, dtype::float16, 8)) < 64);
static_assert(macs_per_cycle(large(dtype::float16, dtype::float32, 8)) > 31.7);
static_assert(macs_per_cycle(large(dtype::float16, dtype::float32, 8)) < 32);
// In float32 zeroing takes as long as a pass: 64 / 65 of 16.
static_assert(macs_per_cycle(large(dtype::float32, dtype::float32, 64)) > 15.7);
static_assert(macs_per_cycle(large(dtype::float32, dtype::float32, 64)) < 16);

}  // namespace

TEST_CASE("more work never takes less time") {
  for (int elements = 18; elements < 200; ++elements)
    for (bool zeroes : {false, true}) {
      auto less = halves, more = halves;
      less.field_elements = elements;
      more.field_elements = elements + 6;
      CHECK(less.inner_cycles(ipu2, zeroes) < more.inner_cycles(ipu2, zeroes));
    }
}
