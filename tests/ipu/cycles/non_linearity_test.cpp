// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/cycles/non_linearity.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu2;
using sc::vertices::loss_transform;
using sc::vertices::non_linearity;
using type = sc::vertices::non_linearity_type;

namespace {

// relu of 600 float32: 50 vectors each: 2 + 1 + 49 + 1 + 1 = 54: 9 + 6 (20 + 54 + 3) = 471. One element more: 2 + 1.
static_assert(non_linearity{type::relu, dtype::float32, 600}.cycles(ipu2) == 471);
static_assert(non_linearity{type::relu, dtype::float32, 601}.cycles(ipu2) == 471 + 6 * 3);
// tanh of 600 float16: 25 vectors: 2 + 1 + 24 x 2 + 1 + 1 = 53: 9 + 6 (20 + 53 + 4). 603: a pair and one: 3 + 4.
static_assert(non_linearity{type::tanh, dtype::float16, 600}.cycles(ipu2) == 471);
static_assert(non_linearity{type::tanh, dtype::float16, 603}.cycles(ipu2) == 471 + 6 * 7);
// sigmoid of 12 float32, a vector each: 2 + 5 + 1 + 5. Of one element: no vector.
static_assert(non_linearity{type::sigmoid, dtype::float32, 12}.cycles(ipu2) == 9 + 6 * (20 + 13 + 3));
static_assert(non_linearity{type::sigmoid, dtype::float32, 1}.cycles(ipu2) == 9 + 6 * (20 + 3 + 7));
// swish of 24 float32: 2 + 6 + 11 + 1 + 6 = 26, and a branch more in place.
static_assert(non_linearity{type::swish, dtype::float32, 24}.cycles(ipu2) == 9 + 6 * 49);
static_assert(non_linearity{type::swish, dtype::float32, 24, true}.cycles(ipu2) == 9 + 6 * 50);
static_assert(non_linearity{type::gelu, dtype::float16, 48}.cycles(ipu2) == 9 + 6 * (20 + 2 + 5 + 5 + 1 + 5 + 4));

// Gradients: 50 vectors each: 4 + 49 x 3 + 1 = 152: 9 + 6 (20 + 152 + 4) = 1065. One element more: 3 + 1.
static_assert(non_linearity{type::relu, dtype::float32, 600}.gradient_cycles(ipu2) == 1065);
static_assert(non_linearity{type::relu, dtype::float32, 601}.gradient_cycles(ipu2) == 1065 + 6 * 4);
// swish of float16: 25 vectors: 4 + 24 x 9 + 1 = 221: 9 + 6 (20 + 221 + 6).
static_assert(non_linearity{type::swish, dtype::float16, 600}.gradient_cycles(ipu2) == 1491);
static_assert(non_linearity{type::swish, dtype::float16, 603}.gradient_cycles(ipu2) == 1491 + 6 * (9 + 11));

static_assert(non_linearity{type::gelu, dtype::float32, 10}.flops() == 80);
static_assert(non_linearity{type::sigmoid, dtype::float32, 10}.gradient_flops() == 20);

// Cross entropy of 10 float32: 5 + 6 + 5 + 2 + 1 + 90 + 1; squares 4 for each and a pointer less.
static_assert(loss_transform{true, dtype::float32, 10}.worker_cycles() == 110);
static_assert(loss_transform{false, dtype::float32, 10}.worker_cycles() == 59);
// 11 float16: 5 x 9 for the pairs, 11 for the last, 3 for halves of words.
static_assert(loss_transform{true, dtype::float16, 11}.worker_cycles() == 20 + 45 + 11 + 3);

}  // namespace

TEST_CASE("float16 takes no longer than float32") {
  for (auto const which : {type::relu, type::sigmoid, type::tanh, type::gelu, type::gelu_erf, type::swish})
    for (int elements = 24; elements < 3000; elements += 24) {
      non_linearity const floats{which, dtype::float32, elements}, halves{which, dtype::float16, elements};
      CHECK(halves.cycles(ipu2) <= floats.cycles(ipu2) + 6);
      CHECK(halves.gradient_cycles(ipu2) <= floats.gradient_cycles(ipu2) + 12);
    }
}
