// SPDX-License-Identifier: BSD-3-Clause
// Random models in the grouped schedule give the bits that they give without stages.
#include "equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("grouped pipelines of random models, part 2") {
  equality<random_model<12>, grouped_rows[0]>::run();
  equality<random_sequence<3>, grouped_rows[3]>::run();
  equality<random_model<9>, grouped_rows[4]>::run();
  equality<random_model<2>, grouped_rows[5]>::run();
}
