// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/cycles/reduce.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu2;
using namespace sc::vertices;

namespace {

// Partial sums of a matrix product: 48 float32, 5 for each.
// One input: 12 vectors, 2 for each worker, 2 cycles for each of 4 others, 8 around: (20 + 2 x (2 x 4 + 8)) x 6 + 33.
constexpr reduce_partials sums{.outputs = 48, .depth = 5};
constexpr std::int64_t single_input_cycles(reduce_partials vertex) {
  vertex.single_input = true;
  return vertex.cycles(ipu2);
}
static_assert(single_input_cycles(sums) == 52 * 6 + 33);
// Interleaved memory: 1 cycle for each vector.
static_assert(single_input_cycles({.outputs = 48, .depth = 5, .interleaved = true}) == (20 + 2 * (4 + 8)) * 6 + 33);
// Several inputs: 3 cycles for each of 5, 7 around: (32 + 2 x (3 x 5 + 7)) x 6.
static_assert(sums.cycles(ipu2) == 76 * 6);
// 50 outputs: one round more, of 2 elements: 2 loops for 6 workers and a remainder of 1: 2 x 5 + 13.
static_assert(reduce_partials{.outputs = 50, .depth = 5}.cycles(ipu2) == (32 + 23 + 2 * 22) * 6);
// 52 outputs: 13 vectors, 3 for the busiest worker.
static_assert(reduce_partials{.outputs = 52, .depth = 5}.cycles(ipu2) == (32 + 3 * 22) * 6);
// float16: 6 vectors of 8, 3 x 5 + 8 for outputs of float16, + 1 for float32.
static_assert(reduce_partials{dtype::float16, dtype::float16, 48, 5}.cycles(ipu2) == (32 + 23) * 6);
static_assert(reduce_partials{dtype::float16, dtype::float32, 48, 5}.cycles(ipu2) == (32 + 24) * 6);
static_assert(single_input_cycles({dtype::float16, dtype::float32, 48, 5}) == (20 + 2 * 4 + 10) * 6 + 33);
// Nothing to add: nothing, or a cast of 8 each: (max(8 / 2, 8 / 4) + 26) x 6.
static_assert(reduce_partials{.outputs = 48, .depth = 1}.cycles(ipu2) == 0);
static_assert(reduce_partials{dtype::float32, dtype::float16, 48, 1}.cycles(ipu2) == 30 * 6);
static_assert(sums.flops() == 48 * 4);

// 16 float32 of 10 rows: 8 loops of 2. 16 + 8 x (3 + 3 + 2 + 3 + 9)
constexpr strided_reduce rows{.outputs = 16, .depth = 10};
static_assert(rows.worker_cycles(ipu2) == 16 + 8 * 20);
// A stride that is no multiple of 64 bits: one at a time.
static_assert(strided_reduce{.outputs = 16, .depth = 10, .stride = 17}.worker_cycles(ipu2) == 16 + 16 * 20);
// float16 to float32 in place: 4 at a time, 1 + 11.
static_assert(strided_reduce{.partials = dtype::float16, .outputs = 16, .depth = 10, .is_update = true}.worker_cycles(
                  ipu2) == 16 + 4 * (3 + 12 + 3 + 9));
static_assert(strided_reduce{.operation = reduce_operation::log_add, .outputs = 2, .depth = 3}.worker_cycles(ipu2) ==
              16 + 3 + 4 + 3 + 2 * 23);
static_assert(rows.flops() == 16 * 9);

// 102 float32 to one: 25 vectors of 4 in 2 cycles each, 2 left: 3 + 6 + 51 + 5 + 2 + 3. (The source rounds 2 x 102
// / 4.)
static_assert(reduce_to_scalar{.elements = 102}.worker_cycles(ipu2) == 70);
static_assert(reduce_to_scalar{.output = dtype::float16, .elements = 102}.worker_cycles(ipu2) == 75);
// 5 runs of 20 float16: 5 vectors of 4 each: 7 + 10 + 5 (12 + 5)
static_assert(reduce_to_scalar{.partials = dtype::float16, .outputs = 5, .elements = 20}.worker_cycles(ipu2) == 102);

}  // namespace

TEST_CASE("the faster way for partial sums is the faster one") {
  for (int depth = 2; depth < 64; ++depth)
    for (int outputs = 24; outputs < 1000; outputs += 24) {
      reduce_partials vertex{.outputs = outputs, .depth = depth};
      CHECK(single_input_cycles(vertex) < vertex.cycles(ipu2));
    }
}
