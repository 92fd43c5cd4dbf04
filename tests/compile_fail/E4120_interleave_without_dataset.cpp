// SPDX-License-Identifier: BSD-3-Clause
// E4120: a function of interleave that returns no dataset.
// expect-error: the function of interleave or flat_map returns no sc::data::dataset
// expect-error: [E4120]
#include <stagecraft/data/from.hpp>
#include <cstdint>

namespace sc = stagecraft;

int main() {
#ifdef STAGECRAFT_BAD
  auto const twice = [](std::int64_t number) { return number * 2; };
#else
  auto const twice = [](std::int64_t number) { return sc::data::range(number * 2); };
#endif
  static_cast<void>(sc::data::range(3).interleave(twice, {.cycle_length = 2}));  // <- here
}
