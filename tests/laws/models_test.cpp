// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"
#include "own_training.hpp"

namespace {

using tail = sc::sequential<dense{4, sc::sigmoid}, dense{3}>;

struct block : sc::functional<block> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3);
    return dense(3, sc::tanh)(add()(x, dense(3, sc::softplus)(x)));
  }
};

/// A shared layer, a branch, and nested models, one of which is called twice.
struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3);
    dense shared(3, sc::swish);
    block inner;
    auto a = shared(inner(x));
    auto b = shared(inner(a));
    return dense(2)(concatenate()(tail{}(b), a, dropout(0.2F)(b)));
  }
};

/// The same as a subclass, whose members are layers and models.
struct subclass : sc::model<subclass> {
  dense shared{3, sc::swish}, head{2};
  block inner;
  tail end;
  concatenate join;
  constexpr auto call(auto&, auto x) {
    auto a = shared(inner(x));
    auto b = shared(inner(a));
    return head(join(end(b), a, b));
  }
};

/// A model in a model in a model.
struct outer : sc::functional<outer> {
  static constexpr auto build(auto& model) {
    subclass inner;
    auto x = model.input(3);
    return multiply()(inner(x), inner(dense(3)(x)));
  }
};

/// Two inputs; two outputs with losses of their own, of which one is also an input of the other.
struct two_outputs : sc::functional<two_outputs> {
  static constexpr auto build(auto& model) {
    auto one = model.input(3), two = model.input(2);
    auto joined = concatenate()(dense(4, sc::tanh)(one), dense(3, sc::sigmoid)(two));
    auto a = dense(5)(joined);
    return sc::outputs(a, dense(2)(concatenate()(a, joined)));
  }
};

/// One tensor is two outputs, and a third is a view of it.
struct one_tensor : sc::functional<one_tensor> {
  static constexpr auto build(auto& model) {
    auto x = dense(4)(model.input(3));
    return sc::outputs(x, x, reshape(2, 2)(x));
  }
};

}  // namespace

TEST_CASE("a functional model") { laws::check_gradients<network>(); }
TEST_CASE("a subclass") { laws::check_gradients<sc::build<subclass, input{3}>>(); }
TEST_CASE("nested models") { laws::check_gradients<outer>(); }

TEST_CASE("two inputs and two outputs") {
  static constexpr auto training =
      sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 1},
                   .loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                                  sc::losses::mean_squared_error{}),
                   .loss_weights = {0.25, 2},
                   .batch_size = 3};
  laws::gradient_check<two_outputs, training>::run();
}

TEST_CASE("outputs that are one tensor") {
  static constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 1},
                                                .loss = sc::losses::mean_squared_error{},
                                                .loss_weights = {1, 0.5, 2},
                                                .batch_size = 3};
  laws::gradient_check<one_tensor, training>::run();
}

TEST_CASE("regularizers") {
  using namespace sc::regularizers;
  laws::check_gradients<
      sc::sequential<input{3}, dense{4, {.kernel_regularizer = l1{0.1F}, .bias_regularizer = l2{0.2F}}},
                     dense{2, {.kernel_regularizer = l1_l2{0.05F, 0.3F}}}>>();
  laws::check_gradients<sc::sequential<input{3}, dense{4, {.kernel_regularizer = laws::hoyer{0.1F}}}>>();
}
