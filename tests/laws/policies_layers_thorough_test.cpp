// SPDX-License-Identifier: BSD-3-Clause
// All layers on emulated IPUs that policies_layers_test.cpp leaves out: the bits of the host.
#include "policies.hpp"
#include "policies_models.hpp"

TEST_CASE("activations") { laws::check_fast<laws::activations_model, laws::plain_training>(); }
TEST_CASE("activation layers") { laws::check_fast<laws::activation_layers_model, laws::plain_training>(); }
TEST_CASE("merges") { laws::check_fast<laws::merges_model, laws::plain_training>(); }
TEST_CASE("normalizations") { laws::check_fast<laws::normalizations_model, laws::plain_training>(); }
TEST_CASE("convolutions") { laws::check_fast<laws::convolutions_model, laws::plain_training>(); }
TEST_CASE("pooling and resizing") { laws::check_fast<laws::resizing_model, laws::plain_training>(); }
