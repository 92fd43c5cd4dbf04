// SPDX-License-Identifier: BSD-3-Clause
// A transformer block of 64 places of 256 numbers on two ranks.
//     mpirun -n 2 --bind-to core two_ranks_transformer [rounds]
#include "two_ranks.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

struct transformer_block : sc::functional<transformer_block> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(64, 256);
    auto const seen = layer_normalization()(x);
    auto const sum = add()(x, multi_head_attention(8, 32)(seen, seen));
    return add()(sum, dense(256)(dense(1024, sc::gelu)(layer_normalization()(sum))));
  }
};
constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                       .loss = sc::losses::mean_squared_error{},
                                       .batch_size = 16,
                                       .steps_per_execution = 2,
                                       .num_replicas = 2};

int main(int count, char** arguments) {
  constexpr std::size_t samples =
      std::size_t{training.num_replicas} * training.batch_size * training.steps_per_execution;
  auto const x = between_ranks::samples<3>({samples, 64, 256});
  return between_ranks::compare<transformer_block, training>(x, x, between_ranks::rounds_of(count, arguments));
}
