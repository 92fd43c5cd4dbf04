// SPDX-License-Identifier: BSD-3-Clause
// Learning rates that differ from layer to layer: ten steps beside those of two TensorFlow optimizers over disjoint
// weights, in a trainer and in a training step.
#include <stagecraft/description/layer_rates.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/steps.hpp>
#include <doctest/doctest.h>
#include <string>

#include "../golden/ten_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using network = sc::sequential<input{5}, dense{6, sc::tanh, {.name = "first"}}, dense{4, sc::tanh, {.name = "second"}},
                               dense{2, {.name = "last"}}>;
inline constexpr auto optimizer = sc::optimizers::layer_rates{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                                              .rates = {{"f.*t$", 0.1F}, {"first|second", 0.5F}}};
inline constexpr auto training =
    sc::training{.optimizer = optimizer, .loss = sc::losses::mean_squared_error{}, .batch_size = 8};

struct own_step : sc::training_step<own_step, input{5}, input{2}> {
  sc::trained<network, "net"> model;
  static constexpr auto optimizer = ::optimizer;
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(model(x) - y));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("loss", loss);
  }
};

template <class Trainer>
void check(Trainer& model) {
  auto const file = golden::read("step_examples.txt");
  auto const of = [&](std::string const& name) { return golden::array_of<xt::xtensor<float, 2>>(file[name]); };
  golden::check_ten_steps(file, "rates", model, [&](std::string const& step) {
    return model.train_on_batch(of("rates/x" + step), of("rates/y" + step));
  });
}

}  // namespace

TEST_CASE("a trainer has the weights of optimizers over disjoint weights") {
  sc::trainer<network, training> model;
  check(model);
}

TEST_CASE("a training step has them, too") {
  sc::step_trainer<own_step, sc::step_options{.batch_size = 8}> model;
  check(model);
}

TEST_CASE("files have the patterns and the wrapped optimizer") {
  auto const json = sc::io::json_of_object(optimizer);
  CHECK(json["class_name"] == "layer_rates");
  CHECK(json["config"]["rates"].dump() == R"([["f.*t$",0.1],["first|second",0.5]])");
  CHECK(json["config"]["optimizer"]["class_name"] == "adam");
}
