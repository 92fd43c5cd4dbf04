// SPDX-License-Identifier: BSD-3-Clause
// Random models in the grouped schedule give the bits that they give without stages.
#include "equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("grouped pipelines of random models, part 3") {
  equality<random_model<1>, grouped_rows[6]>::run();
  equality<random_sequence<7>, grouped_rows[7]>::run();
  equality<random_model<0>, grouped_rows[8]>::run();
}
