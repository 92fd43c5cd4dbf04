// SPDX-License-Identifier: BSD-3-Clause
// Layers that are written as a `call` on emulated IPUs, tile by tile, against the host.
#include "policies.hpp"
#include "policies_models.hpp"
#include "traced_layers.hpp"

using namespace laws;  // NOLINT: the tests' own

namespace {

using places_model =
    sc::sequential<input{4, 3}, attend{}, recur{true}, positions{}, flatten{}, centre{}, normalize{}, dense{2}>;
using layers_model = sc::sequential<input{4}, embedding{5, 4, {.mask_zero = true}},
                                    lstm{3, {.dropout = 0.25F, .return_sequences = true}}, multi_head_attention{2, 2},
                                    time_distributed{dense{3, sc::tanh}}, time_distributed{group_normalization{3}},
                                    bidirectional{gru{2}}, dense{2}>;

}  // namespace

TEST_CASE("attention, loops, rows of a table, updated weights") { check_tiles<places_model, plain_training>(); }
TEST_CASE("embedding, recurrent layers, attention, groups") { check_tiles<layers_model, plain_training>(); }
