// SPDX-License-Identifier: BSD-3-Clause
// Random models in the grouped schedule give the bits that they give without stages.
#include "equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("grouped pipelines of random models, part 1") {
  equality<random_model<11>, grouped_rows[1]>::run();
  equality<random_model<12>, grouped_rows[2]>::run();
}
