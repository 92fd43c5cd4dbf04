// SPDX-License-Identifier: BSD-3-Clause
// A perceptron on two ranks; with STAGECRAFT_RANKS=4 on four (the program four_ranks).
//     mpirun -n 2 --bind-to core two_ranks [rounds]
#include "two_ranks.hpp"

#ifndef STAGECRAFT_RANKS
#define STAGECRAFT_RANKS 2
#endif

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{784}, dense{512, sc::relu}, dense{512, sc::relu}, dense{10}>;
constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                       .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                       .batch_size = 128,
                                       .steps_per_execution = 24,
                                       .num_replicas = STAGECRAFT_RANKS};

int main(int count, char** arguments) {
  constexpr std::size_t samples =
      std::size_t{training.num_replicas} * training.batch_size * training.steps_per_execution;
  return between_ranks::compare<network, training>(between_ranks::samples<2>({samples, 784}),
                                                   between_ranks::labels(samples),
                                                   between_ranks::rounds_of(count, arguments));
}
