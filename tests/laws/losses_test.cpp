// SPDX-License-Identifier: BSD-3-Clause
#include "../session_steps.hpp"
#include "model_laws.hpp"

namespace {

using namespace sc::losses;

using rows = sc::sequential<input{4}, dense{3}>;
using planes = sc::sequential<input{2, 3}, dense{5}>;
using probabilities = sc::sequential<input{4}, dense{3, sc::softmax}>;
using shares = sc::sequential<input{2, 3}, dense{5, sc::sigmoid}>;
// The activation as a layer of its own, after one that needs its output's values; and read by a layer and a loss.
using layer_of_shares = sc::sequential<input{2, 3}, dense{5, sc::tanh}, activation{sc::sigmoid}>;
using head = sc::sequential<input{4}, dense{3, sc::tanh}, softmax_layer{}>;
using nested_head = sc::sequential<input{4}, head{}>;
struct read_twice : sc::functional<read_twice> {
  static constexpr auto build(auto& model) {
    auto x = dense(3, sc::softmax)(model.input(4));
    return sc::outputs(x, dense(3, sc::softmax)(x));
  }
};
using one_number = sc::sequential<input{1}, dense{1, sc::sigmoid}>;

/// What Keras's losses are: after softmax and sigmoid, those of the logits.
template <class M, auto Loss>
constexpr bool with_logits = sc::plan::takes_logits<sc::jobs::job<M, sc::training{.loss = Loss}>, 0>;
static_assert(with_logits<probabilities, sparse_categorical_crossentropy{}> &&
              with_logits<probabilities, sparse_categorical_crossentropy{.from_logits = true}> &&
              with_logits<probabilities, binary_crossentropy{}> && with_logits<shares, categorical_crossentropy{}>);
static_assert(with_logits<layer_of_shares, binary_crossentropy{}>);
static_assert(with_logits<nested_head, categorical_crossentropy{}> &&
              !with_logits<nested_head, categorical_crossentropy{.from_logits = true}> &&
              !with_logits<nested_head, binary_crossentropy{}>);
static_assert(!with_logits<rows, categorical_crossentropy{}> && !with_logits<shares, mean_squared_error{}>);
static_assert(!with_logits<read_twice, categorical_crossentropy{}> &&
              sc::plan::takes_logits<sc::jobs::job<read_twice, sc::training{.loss = categorical_crossentropy{}}>, 1>);

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
  laws::check_gradients<nested_head, categorical_crossentropy{.label_smoothing = 0.1F}>();
}

TEST_CASE("binary cross-entropy") {
  laws::check_gradients<rows, binary_crossentropy{.from_logits = true}>();
  laws::check_gradients<planes, binary_crossentropy{.from_logits = true, .label_smoothing = 0.2F}>();
  laws::check_gradients<shares, binary_crossentropy{}>();
  laws::check_gradients<layer_of_shares, binary_crossentropy{.label_smoothing = 0.1F}>();
}

TEST_CASE("errors") {
  laws::check_gradients<rows, mean_squared_error{}>();
  laws::check_gradients<planes, mean_squared_error{}>();
  laws::check_gradients<rows, mean_absolute_error{}>();
  laws::check_gradients<planes, mean_absolute_error{}>();
  laws::check_gradients<rows, huber{}>();
  laws::check_gradients<planes, huber{.delta = 0.3F}>();
}

// In Keras 2.6 the losses of this are 20, 15.99, ... 0.08: a probability of 1 - 2e-9 is 1 in float32, and clipped.
TEST_CASE("a saturated output learns") {
  session_steps<one_number,
                sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.01F},
                             .loss = binary_crossentropy{},
                             .batch_size = 1},
                sc::host<>>
      session;
  float const one = 1;
  session.write_weight<0>(&one);
  double logit = 20;
  for (int step = 0; step < 8; ++step) {
    *session.input(0) = 20;
    *session.target<0>() = 0;
    *session.scale(0) = 1;
    session.train_step([] {});
    CHECK(session.loss(0) == doctest::Approx(std::log1p(std::exp(logit))).epsilon(1e-4));
    double const probability = 1 / (1 + std::exp(-logit));
    CHECK(*session.prediction(0) == doctest::Approx(probability).epsilon(1e-4));
    session.test_step();
    logit -= 4.01 * probability;
    CHECK(session.loss(0) == doctest::Approx(std::log1p(std::exp(logit))).epsilon(1e-4));
    session.predict_step();
    CHECK(*session.prediction(0) == doctest::Approx(1 / (1 + std::exp(-logit))).epsilon(1e-4));
  }
  CHECK(session.loss(0) < 0.1F);
}
