// SPDX-License-Identifier: BSD-3-Clause
// Some of the 200 random models, stages, schedules, options, replicas and accumulations on ranks; CMakeLists.txt
// compiles this once for each STAGECRAFT_CASES of them.
#include "random_cluster.hpp"

using namespace random_runs;  // NOLINT: the tests' own

namespace {

/// A model of branches and shared layers, if the row's stages can be found in it; or else a sequence.
template <unsigned Case>
struct random_case {
  static constexpr unsigned row = 7919 * Case + 11;
  static constexpr option_row options{row};
  template <class M>
  static constexpr bool has_stages = draw_stages<M, options.stages()>(row, options.devices()).found;
  using branches = random_model<static_cast<int>(Case % 40)>;
  using model = std::conditional_t<has_stages<branches>, branches, random_sequence<static_cast<int>(Case % 40)>>;
};

template <std::size_t... Index>
void run_cases(std::index_sequence<Index...>) {
  (on_ranks<typename random_case<STAGECRAFT_FIRST_CASE + Index>::model,
            random_case<STAGECRAFT_FIRST_CASE + Index>::row>::run(),
   ...);
}

}  // namespace

// doctest takes tests of one name, line and file for one test, so that the name has the number.
#define STAGECRAFT_TEXT_OF(number) #number
#define STAGECRAFT_NUMBER(number) STAGECRAFT_TEXT_OF(number)
TEST_CASE("random models on ranks, cases from " STAGECRAFT_NUMBER(STAGECRAFT_FIRST_CASE)) {
  run_cases(std::make_index_sequence<STAGECRAFT_CASES>{});
}
