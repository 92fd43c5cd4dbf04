// SPDX-License-Identifier: BSD-3-Clause
// Random sequences of layers, whose replicas or stages are on ranks, have the same bits on any number of ranks: cases
// of each schedule; random_models_0_thorough_test.cpp has more.
#include "random_cluster.hpp"

using namespace random_runs;  // NOLINT: the tests' own

TEST_CASE("random models on ranks") {
  on_ranks<random_sequence<1>, grouped_rows[0]>::run();
  on_ranks<random_sequence<4>, grouped_rows[5]>::run();
  on_ranks<random_sequence<6>, interleaved_rows[0]>::run();
  on_ranks<random_sequence<9>, sequential_rows[0]>::run();
}
