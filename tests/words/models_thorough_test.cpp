// SPDX-License-Identifier: BSD-3-Clause
// The other models of the words: in stages and on tiles as without.
#include "check_policies.hpp"

TEST_CASE("merging, attention") { words::check_policies<words::merging_model>(); }
TEST_CASE("preprocessing") { words::check_policies<words::preprocessing_model>(); }
TEST_CASE("windows") { words::check_policies<words::window_model>(); }
TEST_CASE("augmentation") { words::check_policies<words::augmentation_model>(); }
TEST_CASE("recurrent") { words::check_policies<words::recurrent_model>(); }
