// SPDX-License-Identifier: BSD-3-Clause
// More layers in half precision on emulated IPUs: what is stored is a half, and it is close to float32.
#include "policies.hpp"
#include "policies_models.hpp"

using namespace laws;  // NOLINT: the tests' own

TEST_CASE("convolutions in half precision") { check_half<convolutions_model, plain_training>(0.02, 0.01); }
TEST_CASE("normalizations in half precision") { check_half<normalizations_model, plain_training>(0.03, 0.02); }
