// SPDX-License-Identifier: BSD-3-Clause
// Random models, with branches and shared layers, on ranks.
#include "random_cluster.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("grouped pipelines of random models on ranks") {
  on_ranks<random_model<12>, grouped_rows[0]>::run();
  on_ranks<random_model<11>, grouped_rows[1]>::run();
  on_ranks<random_model<3>, grouped_rows[4]>::run();
  on_ranks<random_model<7>, grouped_rows[6]>::run();
}
