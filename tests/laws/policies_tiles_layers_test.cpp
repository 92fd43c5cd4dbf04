// SPDX-License-Identifier: BSD-3-Clause
// Layers carried out tile by tile, every access checked: close to the host. Those of images, normalizations and
// activations are in policies_tiles_images_test.cpp.
#include "policies.hpp"
#include "policies_models.hpp"

using namespace laws;  // NOLINT: the tests' own

TEST_CASE("merges") { check_tiles<merges_model, plain_training>(); }
TEST_CASE("shared layers, views, dropout, own layers") { check_tiles<network_model, plain_training>(); }
