// SPDX-License-Identifier: BSD-3-Clause
// Ten steps of a perceptron with each optimizer, against real Keras.
#include "golden_trainer.hpp"

namespace {

using perceptron = sc::sequential<input{20}, dense{16, sc::relu}, dense{12, sc::relu}, dense{10}>;

inline constexpr sc::losses::sparse_categorical_crossentropy mean{.from_logits = true},
    sum{.from_logits = true, .reduction = sc::losses::reduction::sum};
template <auto Optimizer, auto Loss>
inline constexpr auto compiled = sc::training{.optimizer = Optimizer, .loss = Loss, .batch_size = 8};

template <auto Optimizer, auto Loss = mean>
void check_optimizer(char const* name) {
  auto const file = golden::read("perceptron.txt");
  sc::trainer<perceptron, compiled<Optimizer, Loss>> model;
  golden::set_weights(model, file, "initial");
  std::vector<double> losses;
  for (std::size_t step = 0; step < 10; ++step) {
    losses.push_back(
        model.train_on_batch(golden::rows(file["x"], step * 8, 8), golden::labels(file["y"], step * 8, 8))[0]);
    if constexpr (requires { Optimizer.dynamic; })
      CHECK(model.loss_scale() == file[std::string(name) + "/scales"][step]);
    else
      CHECK(model.loss_scale() == 1);
  }
  golden::check_steps(model, losses, file, name, name);
  CHECK(model.learning_rate() == file[std::string(name) + "/learning_rate"].scalar());
}

}  // namespace

TEST_CASE("sgd with momentum") {
  check_optimizer<sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F}>("sgd_momentum");
}
TEST_CASE("sgd with nesterov") {
  check_optimizer<sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F, .nesterov = true}>("sgd_nesterov");
}
TEST_CASE("rmsprop") { check_optimizer<sc::optimizers::rmsprop{.learning_rate = 0.01F}>("rmsprop"); }
TEST_CASE("adam") { check_optimizer<sc::optimizers::adam{.learning_rate = 0.01F}>("adam"); }
TEST_CASE("adamw with weights that do not shrink") {
  check_optimizer<sc::optimizers::adamw{
      .weight_decay = 0.05F, .learning_rate = 0.01F, .exclude_from_weight_decay = {"bias"}}>("adamw");
}
TEST_CASE("a loss scale that grows until gradients are not finite") {
  check_optimizer<sc::optimizers::loss_scale_optimizer{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                                       .initial_scale = 0x1p126F,
                                                       .dynamic_growth_steps = 2},
                  sum>("loss_scale");
}
