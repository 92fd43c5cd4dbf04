// SPDX-License-Identifier: BSD-3-Clause
// Random models with four replicas have the same bits on any number of ranks.
#include "random_cluster.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("random models on ranks") {
  on_ranks<random_model<12>, grouped_rows[0]>::run();
  on_ranks<random_model<5>, interleaved_rows[1]>::run();
}
