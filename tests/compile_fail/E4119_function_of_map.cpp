// SPDX-License-Identifier: BSD-3-Clause
// E4119: a function of map that takes other parts than the elements have.
// expect-error: the function does not take the elements of the dataset, which have 2 parts, arrays of a batch; it takes each as a parameter
// expect-error: [E4119]
#include <stagecraft/data/from.hpp>
#include <tuple>
#include <vector>

namespace sc = stagecraft;

int main() {
  std::vector<float> const x(8);
  std::vector<int> const y(8);
#ifdef STAGECRAFT_BAD
  auto const scale = [](auto const& images, auto const& labels, float weight) {
    return std::tuple(images * weight, labels * 1);
  };
#else
  auto const scale = [](auto const& images, auto const& labels) { return std::tuple(images / 2.0F, labels * 1); };
#endif
  static_cast<void>(sc::data::from(x, y).batch(4).map(scale));  // <- here
}
