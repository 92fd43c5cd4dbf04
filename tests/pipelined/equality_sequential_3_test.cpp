// SPDX-License-Identifier: BSD-3-Clause
// Random models in the sequential schedule give the bits that they give without stages.
#include "equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("sequential pipelines of random models, part 3") { equality<random_sequence<15>, sequential_rows[6]>::run(); }
