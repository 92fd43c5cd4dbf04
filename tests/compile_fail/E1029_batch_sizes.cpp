// SPDX-License-Identifier: BSD-3-Clause
// E1029: two inputs have batch sizes that differ.
// expect-error: an input has batch_size 4, but another one has 8; all have one, of at least 1, or none
// expect-error: [E1029]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
constexpr int other = 4;
#else
constexpr int other = 8;
#endif

struct sum : sc::functional<sum> {
  static constexpr auto build(auto& model) {
    return add{}(input{3}.of_batch_size(8)(model), input{3}.of_batch_size(other)(model));
  }
};
static_assert(sc::count_parameters<sum>() == 0);  // <- here
