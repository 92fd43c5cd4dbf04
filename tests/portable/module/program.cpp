// SPDX-License-Identifier: BSD-3-Clause
// Imports the library, while included.cpp includes it: both train to the same bits, and link to one program.
#include <cstdio>

import stagecraft;

#include "trained.hpp"

double accuracy_by_include();
float logit_by_include();

static_assert(sc::profile<mlp, training, sc::ipu<>>.fits());

int main() {
  auto const [accuracy, logit] = trained();
  std::printf("accuracy %.3f, logit %.3f\n", accuracy, static_cast<double>(logit));
  return accuracy > 0.5 && accuracy == accuracy_by_include() && logit == logit_by_include() ? 0 : 1;
}
