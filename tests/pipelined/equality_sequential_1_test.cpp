// SPDX-License-Identifier: BSD-3-Clause
// Random models in the sequential schedule give the bits that they give without stages.
#include "equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("sequential pipelines of random models, part 1") {
  equality<random_model<14>, sequential_rows[0]>::run();
  equality<random_model<1>, sequential_rows[1]>::run();
}
