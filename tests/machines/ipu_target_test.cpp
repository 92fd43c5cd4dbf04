// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/machines/ipu_target.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
namespace ipus = sc::ipu_targets;

// Widths of 64 bits.
static_assert(ipus::ipu2.vector_width(dtype::float32) == 2);
static_assert(ipus::ipu2.vector_width(dtype::float16) == 4);
// Chains of 4 weights for each of the elements that are loaded in a cycle: 4 x 4 and 4 x 2, 32 bytes in both types.
static_assert(ipus::ipu2.weights_per_conv_unit(dtype::float16) == 16);
static_assert(ipus::ipu2.weights_per_conv_unit(dtype::float32) == 8);
static_assert(ipus::ipu2.weight_bytes_per_conv_unit(dtype::float16) == 32);
static_assert(ipus::ipu2.weight_bytes_per_conv_unit(dtype::float32) == 32);

// Multiplications with addition per cycle and tile: units x weights / cycles of an element.
static_assert(ipus::ipu2.macs_per_cycle(dtype::float16, dtype::float16) == 16 * 16 / 4);
static_assert(ipus::ipu2.macs_per_cycle(dtype::float16, dtype::float32) == 8 * 16 / 4);
static_assert(ipus::ipu2.macs_per_cycle(dtype::float32, dtype::float32) == 16 * 8 / 8);
static_assert(ipus::ipu2.macs_per_cycle(dtype::float32, dtype::float16) == 16);  // partial sums are float32 anyway
static_assert(ipus::ipu1.macs_per_cycle(dtype::float16, dtype::float32) == 32);
static_assert(ipus::ipu1.macs_per_cycle(dtype::float16, dtype::float16) == 32);
static_assert(ipus::ipu1.macs_per_cycle(dtype::float32, dtype::float32) == 8);

// GC200 does 2 x 64 x 1472 operations per cycle of 1.33 GHz.
static_assert(ipus::ipu2.peak_flops_per_second(dtype::float16, dtype::float16) == 2LL * 64 * 1472 * 1'330'000'000);
static_assert(ipus::ipu2.exchange_bytes_per_second() == 4LL * 1472 * 1'330'000'000);
static_assert(ipus::ipu2.coeff_load_bytes_per_cycle(false) == 8 && ipus::ipu2.coeff_load_bytes_per_cycle(true) == 16);

// Bow is GC200 with another clock.
constexpr sc::ipu_target slow_bow = [] {
  auto result = ipus::bow;
  result.tile_clock_frequency = ipus::ipu2.tile_clock_frequency;
  result.name = ipus::ipu2.name;
  return result;
}();
static_assert(slow_bow == ipus::ipu2 && ipus::bow != ipus::ipu2);

// A machine of one's own: what is not said is GC200's.
constexpr sc::ipu_target half_as_large{.name = "half", .tiles_per_ipu = 736};
static_assert(half_as_large.bytes_per_ipu() * 2 == ipus::ipu2.bytes_per_ipu());

TEST_CASE("an IPU's clock turns cycles into seconds") {
  CHECK(ipus::ipu1.seconds(1'600'000'000) == 1.0);
  CHECK(ipus::bow.seconds(1'850'000) == doctest::Approx(0.001));
}
