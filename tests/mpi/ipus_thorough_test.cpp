// SPDX-License-Identifier: BSD-3-Clause
// Emulated IPUs on the ranks of MPI that compute in half precision and round at random.
#include "ipu_ranks.hpp"

using namespace on_ipus;  // NOLINT: the tests' own

namespace {

constexpr sc::training halves{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                              .batch_size = 4,
                              .steps_per_execution = 2,
                              .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2},
                              .cross_replica_reduction = sc::cross_replica_reduction::mean,
                              .dtype_policy = sc::dtype_policies::float16};
static_assert(sc::replicas_of<perceptron, halves, four_ranks> == 4);

}  // namespace

TEST_CASE("emulated IPUs on ranks round at random as those of one process") {
  sc::trainer<perceptron, halves, four_ranks> together;
  sc::trainer<perceptron, halves, four_ipus> alone;
  CHECK(train(together) == train(alone));
}
