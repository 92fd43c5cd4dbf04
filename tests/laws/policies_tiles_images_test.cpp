// SPDX-License-Identifier: BSD-3-Clause
// Layers of images and sequences, normalizations and activations, carried out tile by tile: close to the host.
#include "policies.hpp"
#include "policies_models.hpp"

using namespace laws;  // NOLINT: the tests' own

TEST_CASE("normalizations") { check_tiles<normalizations_model, plain_training>(); }
TEST_CASE("convolutions") { check_tiles<convolutions_model, plain_training>(); }
TEST_CASE("convolutions of sequences") { check_tiles<convolutions_of_sequences_model, plain_training>(); }
TEST_CASE("pooling and resizing") { check_tiles<resizing_model, plain_training>(); }
TEST_CASE("activations") { check_tiles<activations_model, plain_training>(); }
TEST_CASE("activation layers") { check_tiles<activation_layers_model, plain_training>(); }
