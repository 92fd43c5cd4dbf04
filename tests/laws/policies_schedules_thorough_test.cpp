// SPDX-License-Identifier: BSD-3-Clause
// More stages, schedules and numbers of threads on emulated IPUs than policies_schedules_test.cpp tries.
#include <stagecraft/ipu/emulation/ipu.hpp>

#include "../pipelined/equality.hpp"

using namespace random_runs;  // NOLINT: the tests' own

namespace {

/// Whatever the row says of threads.
template <int Threads>
struct with_threads {
  template <int>
  struct machine {
    using type = sc::ipu<sc::ipu_config{.auto_select_ipus = 16}, Threads>;
  };
};

}  // namespace

TEST_CASE("grouped pipelines of IPUs, for any number of threads") {
  equality<random_model<12>, grouped_rows[0], with_threads<1>::machine>::run();
  equality<random_model<12>, grouped_rows[0], with_threads<2>::machine>::run();
  equality<random_model<12>, grouped_rows[0], with_threads<4>::machine>::run();
}
TEST_CASE("sequential pipelines of IPUs") {
  equality<random_model<14>, sequential_rows[0], with_threads<2>::machine>::run();
}
