// SPDX-License-Identifier: BSD-3-Clause
// Trains the network of the page on the computer that builds it, and prints its weights as a header.
#include <stagecraft/stagecraft.hpp>

#include "networks.hpp"

#include <cstdio>

namespace sc = stagecraft;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 64,
                                              .seed = 1};

int main() {
  auto const [train, test] = sc::datasets::digits();
  sc::trainer<models::digits, training> model;
  model.fit(train.x, train.y, {.epochs = 3, .verbose = 0});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::fprintf(stderr, "accuracy %.3f\n", accuracy);

  std::printf("// Written by examples/web/train.cpp: accuracy %.3f.\n#pragma once\n", accuracy);
  char const* const names[]{"edges_kernel", "edges_bias",    "shapes_kernel",
                            "shapes_bias",  "scores_kernel", "scores_bias"};
  int number = 0;
  for (auto const& each : model.get_weights()) {
    std::printf("inline constexpr float %s[] = {", names[number++]);
    for (float const value : each.values) std::printf("%.9gF%s", static_cast<double>(value), ", ");
    std::printf("};\n");
  }
  return accuracy > 0.9 ? 0 : 1;
}
