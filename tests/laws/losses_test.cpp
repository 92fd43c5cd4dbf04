// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

namespace {

using namespace sc::losses;

using rows = sc::sequential<input{4}, dense{3}>;
using planes = sc::sequential<input{2, 3}, dense{5}>;
using probabilities = sc::sequential<input{4}, dense{3, sc::softmax}>;
using shares = sc::sequential<input{2, 3}, dense{5, sc::sigmoid}>;

}  // namespace

TEST_CASE("sparse categorical cross-entropy") {
  laws::check_gradients<rows, sparse_categorical_crossentropy{.from_logits = true}>();
  laws::check_gradients<planes, sparse_categorical_crossentropy{.from_logits = true}>();
  laws::check_gradients<probabilities, sparse_categorical_crossentropy{}>();
}

TEST_CASE("categorical cross-entropy") {
  laws::check_gradients<rows, categorical_crossentropy{.from_logits = true}>();
  laws::check_gradients<planes, categorical_crossentropy{.from_logits = true, .label_smoothing = 0.2F}>();
  laws::check_gradients<probabilities, categorical_crossentropy{}>();
  laws::check_gradients<probabilities, categorical_crossentropy{.label_smoothing = 0.1F}>();
}

TEST_CASE("binary cross-entropy") {
  laws::check_gradients<rows, binary_crossentropy{.from_logits = true}>();
  laws::check_gradients<planes, binary_crossentropy{.from_logits = true, .label_smoothing = 0.2F}>();
  laws::check_gradients<shares, binary_crossentropy{}>();
  laws::check_gradients<shares, binary_crossentropy{.label_smoothing = 0.1F}>();
}

TEST_CASE("errors") {
  laws::check_gradients<rows, mean_squared_error{}>();
  laws::check_gradients<planes, mean_squared_error{}>();
  laws::check_gradients<rows, mean_absolute_error{}>();
  laws::check_gradients<planes, mean_absolute_error{}>();
  laws::check_gradients<rows, huber{}>();
  laws::check_gradients<planes, huber{.delta = 0.3F}>();
}
