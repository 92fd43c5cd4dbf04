// SPDX-License-Identifier: BSD-3-Clause
// A small convolutional network on two ranks.
//     mpirun -n 2 --bind-to core two_ranks_images [rounds]
#include "two_ranks.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using network =
    sc::sequential<input{28, 28, 1}, conv2d{32, {3, 3}, sc::relu}, max_pooling2d{}, conv2d{64, {3, 3}, sc::relu},
                   max_pooling2d{}, flatten{}, dense{128, sc::relu}, dense{10}>;
constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                       .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                       .batch_size = 64,
                                       .steps_per_execution = 8,
                                       .num_replicas = 2};

int main(int count, char** arguments) {
  constexpr std::size_t samples =
      std::size_t{training.num_replicas} * training.batch_size * training.steps_per_execution;
  return between_ranks::compare<network, training>(between_ranks::samples<4>({samples, 28, 28, 1}),
                                                   between_ranks::labels(samples),
                                                   between_ranks::rounds_of(count, arguments));
}
