// SPDX-License-Identifier: BSD-3-Clause
// Losses, optimizers and the other options of a training, carried out tile by tile: close to the host.
#include "policies.hpp"
#include "policies_trainings.hpp"

using namespace laws;  // NOLINT: the tests' own

TEST_CASE("losses") {
  using namespace sc::losses;
  check_tiles<classes, with<sparse_categorical_crossentropy{.from_logits = true}>>();
  check_tiles<classes, with<categorical_crossentropy{.from_logits = true, .label_smoothing = 0.1F}>>();
  check_tiles<probabilities, with<sparse_categorical_crossentropy{}>>();
  check_tiles<probabilities, with<categorical_crossentropy{}>>();
  check_tiles<one_probability, with<binary_crossentropy{}>>();
  check_tiles<classes, with<binary_crossentropy{.from_logits = true, .label_smoothing = 0.2F}>>();
  check_tiles<classes, with<mean_absolute_error{}>>();
  check_tiles<classes, with<huber{.delta = 0.5F}>>();
  check_tiles<two_outputs, of_two>();
}

TEST_CASE("optimizers") {
  using namespace sc::optimizers;
  check_tiles<classes, by<sgd{.momentum = 0.9F}>>();
  check_tiles<classes, by<sgd{.momentum = 0.9F, .nesterov = true}>>();
  check_tiles<classes, by<rmsprop{}>>();
  check_tiles<classes, by<rmsprop{.momentum = 0.5F, .centered = true}>>();
  check_tiles<classes, by<adam{}>>();
  check_tiles<classes, by<adam{.amsgrad = true}>>();
}

TEST_CASE("accumulated gradients, replicas, offloaded and sharded state") {
  using enum sc::gradient_accumulation_reduction_method;
  check_tiles<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 3}>>();
  check_tiles<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 3,
                                           .reduction_method = running_mean,
                                           .gradient_accumulation_dtype = sc::dtype::float16,
                                           .offload_weight_update_variables = sc::offload::remote}>>();
  check_tiles<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 2,
                                           .reduction_method = mean,
                                           .replicated_optimizer_state_sharding = true},
                                          2>>();
}
