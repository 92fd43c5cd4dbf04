// SPDX-License-Identifier: BSD-3-Clause
// E4120: a function of filter that returns no bool.
// expect-error: the function of filter or take_while returns no bool
// expect-error: [E4120]
#include <stagecraft/data/from.hpp>
#include <vector>

namespace sc = stagecraft;

int main() {
  std::vector<float> const x(8);
#ifdef STAGECRAFT_BAD
  static_cast<void>(sc::data::from(x).filter([](float number) { return std::vector<float>{number}; }));  // <- here
#else
  static_cast<void>(sc::data::from(x).filter([](float number) { return number > 0; }));
#endif
}
