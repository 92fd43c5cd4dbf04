// SPDX-License-Identifier: BSD-3-Clause
// Random models in the interleaved schedule give the bits that they give without stages.
#include "equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("interleaved pipelines of random models, part 1") { equality<random_model<12>, interleaved_rows[1]>::run(); }
