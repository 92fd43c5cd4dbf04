// SPDX-License-Identifier: BSD-3-Clause
// Layers in time_distributed against real Keras.
#include <stagecraft/ipu.hpp>

#include "golden_layers.hpp"
#include "golden_trainer.hpp"

namespace {

template <sc::layers::input Input, auto Each>
void check(std::string const& name) {
  static auto const file = golden::read("time_distributed.txt");
  golden::check_layer<golden::one<2, Input, time_distributed{Each}>, 2>(file, name);
}

using rows_of_steps = sc::sequential<input{3, 4}, time_distributed{dense{5, sc::tanh}}, flatten{}, dense{2}>;
inline constexpr auto training = sc::training{
    .optimizer = sc::optimizers::sgd{.learning_rate = 0.1F}, .loss = sc::losses::mean_squared_error{}, .batch_size = 4};

template <class Machine>
void check_training() {
  auto const file = golden::read("time_distributed.txt");
  sc::trainer<rows_of_steps, training, Machine> model;
  golden::set_weights(model, file, "initial");
  std::vector<double> losses;
  for (std::size_t step = 0; step < 10; ++step) {
    auto const flat = golden::rows(file["x"], 4 * step, 4);
    xt::xtensor<float, 3> x = xt::xtensor<float, 3>::from_shape({4, 3, 4});
    std::copy(flat.begin(), flat.end(), x.begin());
    losses.push_back(model.train_on_batch(x, golden::rows(file["y"], 4 * step, 4))[0]);
  }
  golden::check_steps(model, losses, file, "trained", "trained");
}

/// The weights behind a step of training.
template <auto Normalization>
auto trained_weights() {
  sc::trainer<sc::sequential<input{3, 4}, Normalization, flatten{}, dense{2}>, training> model;
  auto const file = golden::read("time_distributed.txt");
  auto const flat = golden::rows(file["x"], 0, 4);
  xt::xtensor<float, 3> x = xt::xtensor<float, 3>::from_shape({4, 3, 4});
  std::copy(flat.begin(), flat.end(), x.begin());
  model.train_on_batch(x, golden::rows(file["y"], 0, 4));
  return model.get_weights();
}

}  // namespace

TEST_CASE("ten steps of training") {
  check_training<sc::host<>>();
  check_training<sc::ipu<>>();
}

TEST_CASE("rows") {
  check<input{3, 4}, dense{5, sc::tanh}>("dense");
  check<input{3, 2, 4}, dense{2, sc::relu}>("dense_rank4");
  check<input{3, 4}, layer_normalization{}>("layer_normalization");
  check<input{3, 4}, activation{sc::softmax}>("softmax");
}

TEST_CASE("a normalization of all steps is one of sequences") {
  auto const of_steps = trained_weights<time_distributed{batch_normalization{}}>();
  auto const of_sequences = trained_weights<batch_normalization{}>();
  REQUIRE(of_steps.size() == 6);
  for (std::size_t i = 0; i < of_steps.size(); ++i) CHECK(of_steps[i].values == of_sequences[i].values);
}

TEST_CASE("images") {
  check<input{3, 4, 4, 2}, conv2d{3, 2, sc::relu}>("conv2d");
  check<input{3, 4, 4, 2}, max_pooling2d{2}>("max_pooling2d");
  check<input{3, 2, 4}, flatten{}>("flatten");
}

TEST_CASE("sequences of sequences") {
  check<input{3, 4, 2}, lstm{3}>("lstm");
  check<input{2, 3, 4, 2}, time_distributed{conv1d{2, 2}}>("nested");
}
