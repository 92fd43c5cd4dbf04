// SPDX-License-Identifier: BSD-3-Clause
// E4086: data as a vector of vectors.
// expect-error: data are given as a vector whose elements are arrays; give one array
// expect-error: [E4086]
#include <stagecraft/training/data/sample_set.hpp>
#include <vector>
#include <xtensor/xtensor.hpp>

namespace sc = stagecraft;

void use(sc::sample_set const& x);

int main() {
#ifdef STAGECRAFT_BAD
  std::vector<std::vector<float>> const x(8, std::vector<float>(4));
  use(x);  // <- here
#else
  xt::xtensor<float, 2> const x({8, 4}, 0.0F);
  use(x);
#endif
}
