// SPDX-License-Identifier: BSD-3-Clause
// E4087: a loss of probabilities after a linear layer.
// expect-warning: a cross-entropy takes the output of a linear layer for probabilities
// expect-warning: [E4087]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using model = sc::sequential<input{3}, dense{1}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::binary_crossentropy{}, .batch_size = 8};
#else
inline constexpr auto training =
    sc::training{.loss = sc::losses::binary_crossentropy{.from_logits = true}, .batch_size = 8};
inline constexpr auto meant =
    sc::training{.loss = sc::losses::binary_crossentropy{}, .batch_size = 8, .outputs_are_meant = true};
[[maybe_unused]] void use() { sc::trainer<model, meant> trained; }
#endif

int main() {
  sc::trainer<model, training> trained;  // <- here
  trained.set_learning_rate(0.1F);
}
