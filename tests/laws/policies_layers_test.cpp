// SPDX-License-Identifier: BSD-3-Clause
// Layers of all kinds on emulated IPUs: the bits of the host. The others are in policies_layers_thorough_test.cpp; tile
// by tile, all are in policies_tiles_layers_test.cpp and policies_tiles_images_test.cpp.
#include "policies.hpp"
#include "policies_models.hpp"

TEST_CASE("shared layers, views, dropout, own layers") {
  laws::check_fast<laws::network_model, laws::plain_training>();
}
TEST_CASE("convolutions of sequences") {
  laws::check_fast<laws::convolutions_of_sequences_model, laws::plain_training>();
}
