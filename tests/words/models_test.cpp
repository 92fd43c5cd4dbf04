// SPDX-License-Identifier: BSD-3-Clause
// A model of the words, which holds attention: in stages and on tiles as without.
#include "check_policies.hpp"

TEST_CASE("merging, attention") { words::check_policies<words::merging_model>(); }
