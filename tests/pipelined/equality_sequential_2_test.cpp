// SPDX-License-Identifier: BSD-3-Clause
// Random models in the sequential schedule give the bits that they give without stages.
#include "equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("sequential pipelines of random models, part 2") {
  equality<random_model<11>, sequential_rows[2]>::run();
  equality<random_model<4>, sequential_rows[3]>::run();
  equality<random_sequence<19>, sequential_rows[4]>::run();
  equality<random_model<9>, sequential_rows[5]>::run();
}
