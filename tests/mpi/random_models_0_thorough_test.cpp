// SPDX-License-Identifier: BSD-3-Clause
// More random sequences of layers, whose replicas or stages are on ranks, have the same bits on any number of ranks.
#include "random_cluster.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("more random models on ranks") {
  on_ranks<random_sequence<2>, grouped_rows[1]>::run();
  on_ranks<random_sequence<3>, grouped_rows[3]>::run();
  on_ranks<random_sequence<5>, grouped_rows[2]>::run();
  on_ranks<random_sequence<7>, interleaved_rows[2]>::run();
  on_ranks<random_sequence<8>, interleaved_rows[1]>::run();
  on_ranks<random_sequence<10>, sequential_rows[3]>::run();
}
