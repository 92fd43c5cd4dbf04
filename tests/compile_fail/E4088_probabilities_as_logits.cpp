// SPDX-License-Identifier: BSD-3-Clause
// E4088: a loss of logits after sigmoid.
// expect-warning: a cross-entropy with .from_logits = true follows softmax or sigmoid
// expect-warning: [E4088]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using model = sc::sequential<input{3}, dense{1, sc::sigmoid}>;
#else
using model = sc::sequential<input{3}, dense{1}>;
#endif
inline constexpr auto training =
    sc::training{.loss = sc::losses::binary_crossentropy{.from_logits = true}, .batch_size = 8};

int main() {
  sc::trainer<model, training> trained;  // <- here
  trained.set_learning_rate(0.1F);
}
