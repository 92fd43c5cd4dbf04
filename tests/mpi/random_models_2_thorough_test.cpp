// SPDX-License-Identifier: BSD-3-Clause
// More random models, with branches and shared layers, on ranks.
#include "random_cluster.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("interleaved and sequential pipelines of random models on ranks") {
  on_ranks<random_model<5>, interleaved_rows[1]>::run();
  on_ranks<random_model<2>, interleaved_rows[3]>::run();
  on_ranks<random_model<8>, sequential_rows[2]>::run();
  on_ranks<random_model<9>, sequential_rows[5]>::run();
}
