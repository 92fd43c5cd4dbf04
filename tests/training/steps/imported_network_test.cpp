// SPDX-License-Identifier: BSD-3-Clause
// Fine-tuning of an imported network, frozen but for its new last layer, beside ten steps of a Keras model with a
// train_step: its batch normalizations use their moving statistics.
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>

#include "../../../examples/models/bars.hpp"
#include "../../golden/ten_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using known = sc::frozen<sc::without_top<models::bars, 1>>;
struct tuning : sc::training_step<tuning, input{12, 12, 1}, input{1}> {
  sc::trained<sc::sequential<input{12, 12, 1}, known{}, dense{4}>, "network"> network;
  static constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 0.2F, .momentum = 0.9F};

  constexpr void train(auto& step, auto x, auto y) const {
    auto const scores = network(x);
    auto const loss = step.loss(sc::losses::sparse_categorical_crossentropy{.from_logits = true}, y, scores) +
                      0.01F * step.mean(square(scores));
    step.minimize(optimizer, loss, weights_of(network));
    step.metric("loss", loss);
  }
};

}  // namespace

TEST_CASE("an imported network with a new last layer has Keras's losses and weights") {
  auto const file = golden::read("imported_network.txt");
  sc::step_trainer<tuning, sc::step_options{.batch_size = 4}> model;
  golden::check_ten_steps(file, "tuned", model, [&](std::string const& step) {
    return model.train_on_batch(sc::inputs(golden::array_of<xt::xtensor<float, 4>>(file["tuned/x" + step]),
                                           golden::array_of<xt::xtensor<float, 2>>(file["tuned/y" + step])));
  });
  auto const before = golden::weights_of<sc::weight_array>(file, "tuned/before");
  auto const after = model.get_weights();
  REQUIRE(after.size() == 12);
  for (std::size_t i = 0; i < after.size(); ++i) CHECK((after[i].values == before[i].values) == (i < 10));
}
