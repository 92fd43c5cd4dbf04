// SPDX-License-Identifier: BSD-3-Clause
// Layers carried out tile by tile, every access checked: close to the host.
#include "policies.hpp"
#include "policies_models.hpp"

using namespace laws;  // NOLINT: the tests' own

TEST_CASE("activations") { check_tiles<activations_model, plain_training>(); }
TEST_CASE("activation layers") { check_tiles<activation_layers_model, plain_training>(); }
TEST_CASE("merges") { check_tiles<merges_model, plain_training>(); }
TEST_CASE("shared layers, views, dropout, own layers") { check_tiles<network_model, plain_training>(); }
