// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/cycles/broadcast.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu2;
using namespace sc::vertices;
using binary = binary_operation;
using unary = unary_operation;

namespace {

// a + b of 600 float32: 100 for each worker, 50 vectors of 1 + 2 cycles: 6 (29 + 150) + 11. In place 6 (58 + 150) + 11.
static_assert(binary_op{binary::add, dtype::float32, 600}.cycles(ipu2) == 1085);
static_assert(binary_op{binary::add, dtype::float32, 600, true}.cycles(ipu2) == 1259);
// float16: 25 vectors: 6 (26 + 75) + 11. 601: one more element, one more vector.
static_assert(binary_op{binary::multiply, dtype::float16, 600}.cycles(ipu2) == 617);
static_assert(binary_op{binary::multiply, dtype::float16, 601}.cycles(ipu2) == 617 + 6 * 3);
// a / b: 10 cycles for 2 float32, 21 for 4 float16.
static_assert(binary_op{binary::divide, dtype::float32, 600}.cycles(ipu2) == 6 * (29 + 500) + 11);
static_assert(binary_op{binary::divide, dtype::float16, 600}.cycles(ipu2) == 6 * (26 + 525) + 11);
// max(a, b) of 50 pairs: 3 cycles, 4 in place.
static_assert(binary_op{binary::maximum, dtype::float32, 600}.cycles(ipu2) == 6 * (29 + 150) + 11);
static_assert(binary_op{binary::maximum, dtype::float32, 600, true}.cycles(ipu2) == 6 * (58 + 200) + 11);
static_assert(binary_op{binary::power, dtype::float32, 6}.cycles(ipu2) == 6 * (29 + 312) + 11);
static_assert(binary_op{binary::remainder, dtype::float32, 5}.flops() == 15);

// exp of 600 float32: 50 pairs of 6: 6 (33 + 300) + 9 + 11. relu: 6 (17 + 150) + 20; in place 6 (55 + 100) + 20.
static_assert(unary_op{unary::exponent, dtype::float32, 600}.cycles(ipu2) == 2018);
static_assert(unary_op{unary::relu, dtype::float32, 600}.cycles(ipu2) == 1022);
static_assert(unary_op{unary::relu, dtype::float32, 600, true}.cycles(ipu2) == 950);
// |x|: 100 elements of 1 + 4; in place by vectors, with 101: floor(5 (101 + 1) / 2).
static_assert(unary_op{unary::absolute, dtype::float32, 600}.cycles(ipu2) == 6 * (17 + 500) + 20);
static_assert(unary_op{unary::absolute, dtype::float32, 606, true}.cycles(ipu2) == 6 * (55 + 255) + 20);
// floor of 602 float16: 101 each: floor(6 (101 + 3) / 4) = 156.
static_assert(unary_op{unary::floor, dtype::float16, 602}.cycles(ipu2) == 6 * (17 + 156) + 20);
static_assert(unary_op{unary::sin, dtype::float32, 6}.cycles(ipu2) == 6 * (17 + 2304) + 20);
static_assert(unary_op{unary::tanh, dtype::float16, 24, true}.cycles(ipu2) == 6 * (55 + 2) + 20);

// The table: cycles per element of 64 bits.
static_assert(cost_of(unary::sigmoid, dtype::float32, false) == elementwise_cost{12, 2});
static_assert(cost_of(unary::sigmoid, dtype::float16, true) == elementwise_cost{4, 4});
static_assert(cost_of(unary::logarithm, dtype::float32, true) == elementwise_cost{14, 2});
static_assert(cost_of(unary::sqrt, dtype::float16, false) == elementwise_cost{23, 4});
static_assert(cost_of(unary::rsqrt, dtype::float32, false) == elementwise_cost{8, 2});
static_assert(cost_of(unary::gelu_erf, dtype::float32, false) == elementwise_cost{22, 1});
static_assert(cost_of(binary::not_equal, dtype::float16, false) == elementwise_cost{11, 4});

// 2 a, 600 float32: 50 vectors of 1 + 1: 6 (20 + 100) + 11. 1 / sqrt(v + e): 12 for 2.
static_assert(broadcast_op{binary::multiply, dtype::float32, 600}.cycles(ipu2) == 731);
static_assert(broadcast_op{binary::variance_to_inv_std_dev, dtype::float32, 600}.cycles(ipu2) == 6 * (20 + 600) + 11);
static_assert(broadcast_op{binary::divide, dtype::float16, 600}.cycles(ipu2) == 6 * (20 + 400) + 11);
// In place, the way back is by vectors, with 4 cycles for the loop: 50 x 11.
static_assert(broadcast_op{binary::inv_std_dev_to_variance, dtype::float32, 600, true}.cycles(ipu2) ==
              6 * (20 + 550) + 11);
// An element for each of 12 rows of 10 float32: two rows each, 7 + floor(2 x 11 / 2): 6 (15 + 2 x 18) + 11 = 317.
// (11 = 10 + 2 - 1 in the source: 22 / 2.)
static_assert(broadcast_op{binary::multiply, dtype::float32, 10}.cycles_of_rows(ipu2, 12) == 317);
static_assert(broadcast_op{binary::maximum, dtype::float32, 10}.cycles_of_rows(ipu2, 12) ==
              6 * (15 + 2 * (7 + 4 * 10)) + 11);

// A bias of 10 float32 for 12 rows: two rows each. 13 + 6 + 6 (17 + 3 + 7 + 10 (3 + 2 x 2 + 5)) = 901.
static_assert(broadcast_vector_inner{binary::add, dtype::float32, 10, 12}.cycles(ipu2) == 901);
// In place: 13 + 6 (17 + 2 + 127).
static_assert(broadcast_vector_inner{binary::add, dtype::float32, 10, 12, true}.cycles(ipu2) == 889);
// float16, 16 long: 2 pairs of vectors: 5 + 2 + 4 + 2 (8 + 2 + 7) + 1 = 46: 13 + 6 (19 + 2 + 46).
static_assert(broadcast_vector_inner{binary::add, dtype::float16, 16, 12, true}.cycles(ipu2) == 415);
// float16, 12 long: 9 + 5 + 3 (7 + 0 + 1 + 0 + 5) + 1 = 54. 5 long: 9 + 5 + 5 (5 + 18) + 1 = 130, and 7 more.
static_assert(broadcast_vector_inner{binary::add, dtype::float16, 12, 12, true}.cycles(ipu2) == 13 + 6 * (21 + 54));
static_assert(broadcast_vector_inner{binary::add, dtype::float16, 5, 12, true}.cycles(ipu2) == 13 + 6 * (28 + 130));
// Scales of float16, 16 long: 9 + 3 + 4 (6 + 2 + 3) + 1 = 57: 13 + 6 (19 + 24 + 2 + 57).
static_assert(broadcast_vector_inner{binary::multiply, dtype::float16, 16, 12}.cycles(ipu2) == 625);
// In place: 5 + 3 + 4 (4 + 4 + 3) + 1 = 53: 13 + 6 + 6 (19 + 24 + 3 + 53).
static_assert(broadcast_vector_inner{binary::multiply, dtype::float16, 16, 12, true}.cycles(ipu2) == 613);

}  // namespace

TEST_CASE("tasks on vectors of float16 take less time than of float32, and more elements more") {
  for (auto const operation : {binary::add, binary::subtract, binary::multiply})
    for (int elements = 48; elements < 4000; elements += 48)
      for (bool in_place : {false, true}) {
        binary_op const floats{operation, dtype::float32, elements, in_place};
        binary_op const halves{operation, dtype::float16, elements, in_place};
        CHECK(halves.cycles(ipu2) < floats.cycles(ipu2));
        CHECK(floats.cycles(ipu2) < binary_op{operation, dtype::float32, elements + 48, in_place}.cycles(ipu2));
      }
}
