// SPDX-License-Identifier: BSD-3-Clause
// Layers that are written as a `call` on emulated IPUs, tile by tile: the bits of the host.
#include "policies.hpp"
#include "policies_models.hpp"
#include "traced_layers.hpp"

using namespace laws;  // NOLINT: the tests' own

namespace {

using places_model =
    sc::sequential<input{4, 3}, attend{}, recur{true}, positions{}, flatten{}, centre{}, normalize{}, dense{2}>;

}  // namespace

TEST_CASE("attention, loops, rows of a table, updated weights") { check_tiles<places_model, plain_training>(); }
