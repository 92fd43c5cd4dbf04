// SPDX-License-Identifier: BSD-3-Clause
// Two models of the words, which hold attention and loops: in stages and on tiles as without.
#include "check_policies.hpp"

TEST_CASE("merging, attention") { words::check_policies<words::merging_model>(); }
TEST_CASE("recurrent") { words::check_policies<words::recurrent_model>(); }
