// SPDX-License-Identifier: BSD-3-Clause
#include "shared_model.hpp"

shared::findings findings_of_two() { return shared::find_out(); }

// Two translation units that include everything link into one program, and mean the same model.
int main() {
  auto const one = findings_of_one(), two = findings_of_two();
  bool const same = one.graph == two.graph && one.stages == two.stages && one.training == two.training &&
                    one.weights == two.weights && !one.weights.empty();
  std::puts(same ? "both units mean the same model" : "the units mean different models");
  return same ? 0 : 1;
}
