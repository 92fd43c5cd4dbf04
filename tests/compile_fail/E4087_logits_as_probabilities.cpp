// SPDX-License-Identifier: BSD-3-Clause
// E4087: a loss of probabilities after a linear layer.
// expect-warning: a cross-entropy takes the output of a linear layer for probabilities
// expect-warning: [E4087]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using model = sc::sequential<input{3}, dense{1}>;
#else
using model = sc::sequential<input{3}, dense{1, sc::sigmoid}>;
#endif
inline constexpr auto training = sc::training{.loss = sc::losses::binary_crossentropy{}, .batch_size = 8};

int main() {
  sc::trainer<model, training> trained;  // <- here
  trained.set_learning_rate(0.1F);
}
