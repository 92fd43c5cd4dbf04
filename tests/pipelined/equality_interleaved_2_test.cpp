// SPDX-License-Identifier: BSD-3-Clause
// Random models in the interleaved schedule give the bits that they give without stages.
#include "equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("interleaved pipelines of random models, part 2") {
  equality<random_model<6>, interleaved_rows[0]>::run();
  equality<random_model<2>, interleaved_rows[2]>::run();
  equality<random_model<8>, interleaved_rows[3]>::run();
  equality<random_model<14>, interleaved_rows[4]>::run();
  equality<random_model<4>, interleaved_rows[5]>::run();
}
