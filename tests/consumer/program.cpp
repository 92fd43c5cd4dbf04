// SPDX-License-Identifier: BSD-3-Clause
// What a consumer's program looks like: all of the consumer projects compile this file.
#include <stagecraft/stagecraft.hpp>
#include <cmath>
#include <cstdio>

namespace sc = stagecraft;
using namespace sc::layers;

using perceptron = sc::sequential<input{28, 28}, flatten{}, dense{16, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<perceptron, sc::stages<0, 0, 1>>;
static_assert(sc::pipeline_stages<two_stages> == 2);

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 16};

int main() {
  auto const [train, test] = sc::datasets::digits({.train = 64, .test = 16});
  sc::trainer<perceptron, training> model;
  model.fit(train.x, train.y, {.verbose = 0});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("stagecraft %d.%d.%d: loss %.3f, accuracy %.3f\n", sc::version_major, sc::version_minor,
              sc::version_patch, loss, accuracy);
  return std::isfinite(loss) ? 0 : 1;
}
