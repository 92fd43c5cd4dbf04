// SPDX-License-Identifier: BSD-3-Clause
// Weights that are not trained, as batch_normalization has them: names, order and numbers are those of real Keras.
#include "trainer_cases.hpp"

#include <stagecraft/models/summary.hpp>

namespace {

using network = sc::sequential<input{8, 8, 3}, dense{4}, batch_normalization{}, sc::layers::activation{sc::relu},
                               flatten{}, dense{10}, layer_normalization{}>;

static_assert(sc::count_parameters<network>() == 2622);
static_assert(sc::count_trainable_parameters<network>() == 2614);
static_assert(sc::models::summary_rows<network>[1].parameter_count == 16);
static_assert(sc::models::summary_rows<network>[5].parameter_count == 20);

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{}, .loss = sc::losses::mean_squared_error{}, .batch_size = 2};

}  // namespace

TEST_CASE("the summary counts what training does not change") {
  std::string text;
  sc::summary<network>({.print_fn = [&](std::string_view line) { text.append(line) += '\n'; }});
  CHECK(text.find("\nbatch_normalization (BatchNo (None, 8, 8, 4)           16        \n") != std::string::npos);
  CHECK(text.find("\nlayer_normalization (LayerNo (None, 10)                20        \n") != std::string::npos);
  CHECK(text.find("Total params: 2,622\nTrainable params: 2,614\nNon-trainable params: 8\n") != std::string::npos);
}

TEST_CASE("get_weights and set_weights have Keras's order, with the moving statistics") {
  sc::trainer<network, training> model;
  auto weights = model.get_weights();
  std::vector<std::string> names;
  for (auto const& weight : weights) names.push_back(weight.name);
  CHECK(names == std::vector<std::string>{"dense/kernel:0", "dense/bias:0", "batch_normalization/gamma:0",
                                          "batch_normalization/beta:0", "batch_normalization/moving_mean:0",
                                          "batch_normalization/moving_variance:0", "dense_1/kernel:0", "dense_1/bias:0",
                                          "layer_normalization/gamma:0", "layer_normalization/beta:0"});
  CHECK(weights[4].values == std::vector<float>(4, 0.0F));
  CHECK(weights[5].values == std::vector<float>(4, 1.0F));
  weights[4].values = {1, 2, 3, 4};
  model.set_weights(weights);
  CHECK(model.template weight<"batch_normalization/moving_mean">()(2) == 3.0F);

  // A model that has the weights of another one predicts the same.
  xt::xtensor<float, 4> x = xt::xtensor<float, 4>::from_shape({2, 8, 8, 3});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 11) * 0.1F - 0.4F;
  xt::xtensor<float, 2> const y = xt::ones<float>({2, 10});
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  CHECK(model.get_weights()[4].values != weights[4].values);
  sc::trainer<network, training> other(77);
  other.set_weights(model.get_weights());
  CHECK(other.predict(x) == model.predict(x));
}

// As in Keras: all weights of a frozen layer count as not trainable, get_weights has them in the same order, and
// training changes none of them, moving statistics included.
TEST_CASE("frozen layers keep their weights") {
  using frozen = sc::sequential<input{8}, dense{4, sc::relu, {.trainable = false}},
                                batch_normalization{{.trainable = false}}, dense{10}>;
  static_assert(sc::count_parameters<frozen>() == 102 && sc::count_trainable_parameters<frozen>() == 50);
  static_assert(sc::plan::model_plan_of<frozen, 2, sc::execution_mode::training>.calls[1].needs_gradient == false);
  static_assert(sc::plan::model_plan_of<frozen, 2, sc::execution_mode::training>.calls[2].needs_gradient == false);
  std::string text;
  sc::summary<frozen>({.print_fn = [&](std::string_view line) { text.append(line) += '\n'; }});
  CHECK(text.find("Total params: 102\nTrainable params: 50\nNon-trainable params: 52\n") != std::string::npos);

  sc::trainer<frozen, training> model;
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({6, 8});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 11) * 0.1F - 0.4F;
  xt::xtensor<float, 2> const y = xt::ones<float>({6, 10});
  auto const before = model.get_weights();
  auto const predicted = model.predict(x);
  auto const tested = model.evaluate(x, y, {.verbose = 0})[0];
  model.set_learning_rate(0);
  CHECK(model.fit(x, y, {.verbose = 0}).at("loss")[0] ==
        doctest::Approx(tested));  // the layers are those of prediction
  model.set_learning_rate(0.01F);
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  auto const after = model.get_weights();
  REQUIRE(after.size() == 8);
  for (std::size_t i = 0; i < 6; ++i) CHECK(after[i] == before[i]);
  for (std::size_t i = 6; i < 8; ++i) CHECK(after[i] != before[i]);
  CHECK(model.predict(x) != predicted);
}
