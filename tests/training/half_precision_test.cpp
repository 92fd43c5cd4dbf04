// SPDX-License-Identifier: BSD-3-Clause
// Trainers learn to tell digits apart in half precision as well as in float32, on emulated IPUs and on the host, where
// they do what Keras does.
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/emulation/ipu.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

#include <stagecraft/training/predictor.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "golden_trainer.hpp"

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

/// Ten pictures of 8 by 8, drawn at random, with so much noise that some are hard to tell apart.
struct digits {
  xt::xtensor<float, 2> x;
  std::vector<int> y;

  explicit digits(std::size_t count, std::uint32_t seed) : x(xt::xtensor<float, 2>::from_shape({count, 64})), y(count) {
    auto const draw = [](std::uint32_t& state) {
      state = state * 1664525U + 1013904223U;
      return static_cast<float>(state >> 8U) * 0x1p-24F;
    };
    float pictures[10][64];
    std::uint32_t state = 77;
    for (auto& picture : pictures)
      for (float& pixel : picture) pixel = draw(state) < 0.5F ? 0.0F : 1.0F;
    for (std::size_t i = 0; i < count; ++i) {
      y[i] = static_cast<int>(draw(seed) * 10);
      for (std::size_t k = 0; k < 64; ++k) x(i, k) = pictures[y[i]][k] + 3 * (draw(seed) - 0.5F);
    }
  }
};

using mlp = sc::sequential<input{64}, dense{32, sc::relu}, dense{10}>;
/// With sizes that make no pairs, and a layer that is called twice.
struct uneven : sc::functional<uneven> {
  static constexpr auto build(auto& model) {
    auto hidden = dense(33, sc::relu);
    auto x = hidden(hidden(dense(33, sc::relu)(model.input(64))));
    return dense(10)(x);
  }
};

template <auto Optimizer, sc::dtype_policy Policy>
inline constexpr auto training = sc::training{.optimizer = Optimizer,
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 32,
                                              .dtype_policy = Policy};

template <auto Training, class Machine, class Model = mlp>
double accuracy_after_training() {
  static digits const train(2048, 1), test(1024, 2);
  sc::trainer<Model, Training, Machine> model;
  model.fit(train.x, train.y, {.epochs = 6, .verbose = 0});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  return accuracy;
}

using nearest = sc::ipu<>;
using at_random = sc::ipu<sc::ipu_config{
    .floating_point_behaviour = {.inv = true, .oflo = true, .esr = sc::stochastic_rounding_behaviour::on}}>;

}  // namespace

namespace {

using images = sc::sequential<input{6, 5, 2}, conv2d{6, 3, sc::relu}, batch_normalization{}, flatten{},
                              dense{12, sc::tanh}, dense{4}>;

struct sequences : sc::functional<sequences> {
  static constexpr auto build(auto& model) {
    auto features = dense(16, sc::tanh)(reshape(10, 6)(model.input(6, 5, 2)));
    auto states = lstm(16, {.return_sequences = true})(features);
    return dense(4)(simple_rnn(16)(multi_head_attention(1, 16)(states, states)));
  }
};

/// Ten steps from Keras's weights; by how much the mean loss, the weights and the outputs differ from Keras's.
template <class Model, sc::dtype_policy Policy, auto Optimizer>
void check_golden(std::string const& prefix, std::string const& policy, double tolerance) {
  CAPTURE(prefix);
  CAPTURE(policy);
  std::string const name = prefix + policy;
  constexpr auto training = sc::training{.optimizer = Optimizer,
                                         .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                         .batch_size = 8,
                                         .dtype_policy = Policy};
  auto const file = golden::read("half.txt");
  sc::trainer<Model, training> model;
  auto weights = model.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i].values = file[prefix + "initial/" + std::to_string(i)].values;
  model.set_weights(weights);
  xt::xtensor<float, 4> x = xt::xtensor<float, 4>::from_shape({80, 6, 5, 2});
  std::copy(file["x"].values.begin(), file["x"].values.end(), x.begin());
  auto const y = file["y"].integers();
  std::vector<double> losses;
  for (std::size_t step = 0; step < 10; ++step) {
    xt::xtensor<float, 4> const batch = xt::view(x, xt::range(8 * step, 8 * step + 8));
    losses.push_back(model.train_on_batch(batch, std::vector<int>(&y[8 * step], &y[8 * step] + 8))[0]);
  }
  CHECK(golden::deviation(losses, file[name + "/losses"].values) < tolerance);
  weights = model.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    CAPTURE(i);
    CHECK(golden::deviation(weights[i].values, file[name + "/" + std::to_string(i)].values) < tolerance);
  }
  auto const outputs = model.predict(x);
  CHECK(golden::deviation(outputs, file[name + "/outputs"].values) < tolerance);
  sc::predictor<Model, sc::inference{.batch_size = 8, .dtype_policy = Policy}> predictor;
  predictor.set_weights(weights);
  CHECK(predictor.predict(x) == outputs);
}

}  // namespace

TEST_CASE("the host trains as Keras in half precision") {
  using namespace sc::dtype_policies;
  constexpr sc::optimizers::sgd sgd{.learning_rate = 0.05F, .momentum = 0.9F};
  check_golden<images, float32, sgd>("", "float32", 1e-4);
  check_golden<images, mixed_float16, sc::optimizers::loss_scale_optimizer{sgd, false, 128}>("", "mixed_float16", 0.02);
  check_golden<images, mixed_bfloat16, sgd>("", "mixed_bfloat16", 0.1);
  check_golden<sequences, mixed_bfloat16, sgd>("sequences/", "mixed_bfloat16", 0.1);
}

TEST_CASE("digits are learned in half precision") {
  constexpr sc::optimizers::adam adam{.learning_rate = 0.003F};
  constexpr sc::optimizers::sgd sgd{.learning_rate = 0.1F};
  using sc::dtype_policies::float16, sc::dtype_policies::float32, sc::dtype_policies::mixed_float16;
  double const expected = accuracy_after_training<training<adam, float32>, sc::host<>>();
  CHECK(expected > 0.9);
  CHECK(accuracy_after_training<training<adam, float32>, nearest>() == expected);
  CHECK(accuracy_after_training<training<adam, mixed_float16>, nearest>() > expected - 0.02);
  CHECK(accuracy_after_training<training<adam, mixed_float16>, at_random>() > expected - 0.02);
  CHECK(accuracy_after_training<training<adam, mixed_float16>, sc::host<2>>() > expected - 0.02);
  CHECK(accuracy_after_training<training<adam, sc::dtype_policies::mixed_bfloat16>, sc::host<>, uneven>() >
        expected - 0.02);
  double const with_sgd = accuracy_after_training<training<sgd, float32>, sc::host<>>();
  CHECK(with_sgd > 0.9);
  CHECK(accuracy_after_training<training<sgd, float16>, at_random>() > with_sgd - 0.02);
}
