// SPDX-License-Identifier: BSD-3-Clause
// Losses, optimizers and the other options of a training on emulated IPUs: the bits of the host.
#include "policies.hpp"
#include "policies_trainings.hpp"

using namespace laws;  // NOLINT: the tests' own

TEST_CASE("losses") {
  using namespace sc::losses;
  check_fast<classes, with<sparse_categorical_crossentropy{.from_logits = true}>>();
  check_fast<classes, with<categorical_crossentropy{.from_logits = true, .label_smoothing = 0.1F}>>();
  check_fast<probabilities, with<sparse_categorical_crossentropy{}>>();
  check_fast<probabilities, with<categorical_crossentropy{}>>();
  check_fast<one_probability, with<binary_crossentropy{}>>();
  check_fast<classes, with<binary_crossentropy{.from_logits = true, .label_smoothing = 0.2F}>>();
  check_fast<classes, with<mean_absolute_error{}>>();
  check_fast<classes, with<huber{.delta = 0.5F}>>();
  check_fast<two_outputs, of_two>();
}

TEST_CASE("optimizers") {
  using namespace sc::optimizers;
  check_fast<classes, by<sgd{.momentum = 0.9F}>>();
  check_fast<classes, by<sgd{.momentum = 0.9F, .nesterov = true}>>();
  check_fast<classes, by<rmsprop{}>>();
  check_fast<classes, by<rmsprop{.momentum = 0.5F, .centered = true}>>();
  check_fast<classes, by<adam{}>>();
  check_fast<classes, by<adam{.amsgrad = true}>>();
}

TEST_CASE("accumulated gradients, replicas, offloaded and sharded state") {
  using enum sc::gradient_accumulation_reduction_method;
  check_fast<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 3}>>();
  check_fast<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 3,
                                          .reduction_method = running_mean,
                                          .gradient_accumulation_dtype = sc::dtype::float16,
                                          .offload_weight_update_variables = sc::offload::remote}>>();
  check_fast<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 2,
                                          .reduction_method = mean,
                                          .replicated_optimizer_state_sharding = true},
                                         2>>();
}
