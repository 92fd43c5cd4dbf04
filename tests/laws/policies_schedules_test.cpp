// SPDX-License-Identifier: BSD-3-Clause
// Stages, schedules, replicas and all their options on emulated IPUs: the bits of the host without stages, for any
// number of threads.
#include <stagecraft/ipu/emulation/ipu.hpp>

#include "../pipelined/equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

namespace {

template <int Threads>
struct on_ipus {
  using type = sc::ipu<sc::ipu_config{.auto_select_ipus = 16}, Threads>;
};

}  // namespace

TEST_CASE("grouped pipelines of IPUs") { equality<random_model<12>, grouped_rows[0], on_ipus>::run(); }
TEST_CASE("interleaved pipelines of IPUs") { equality<random_model<6>, interleaved_rows[0], on_ipus>::run(); }
TEST_CASE("sequential pipelines of IPUs") { equality<random_sequence<19>, sequential_rows[4], on_ipus>::run(); }
