// SPDX-License-Identifier: BSD-3-Clause
// Ten steps with regularizers, weights of samples and classes, other heads and losses, against real Keras.
#include "golden_trainer.hpp"

namespace {

using namespace sc::regularizers;

using perceptron = sc::sequential<input{20}, dense{16, sc::relu}, dense{12, sc::relu}, dense{10}>;
using with_softmax = sc::sequential<input{20}, dense{16, sc::relu}, dense{12, sc::relu}, dense{10, sc::softmax}>;
using regularized =
    sc::sequential<input{20}, dense{16, sc::relu, {.kernel_regularizer = l1{0.01F}, .bias_regularizer = l2{0.1F}}},
                   dense{12, sc::relu, {.kernel_regularizer = l2{0.02F}, .bias_regularizer = l1{0.05F}}},
                   dense{10, {.kernel_regularizer = l1_l2{.l1 = 0.003F, .l2 = 0.004F}}}>;

/// Adds to the loss in its code, in place of an option and a layer.
struct adding : sc::functional<adding> {
  static constexpr auto build(auto& model) {
    auto x = dense(16, sc::relu, {.activity_regularizer = l1{0.001F}})(model.input(20));
    x = dense(12, sc::relu, {.activity_regularizer = l1_l2{.l1 = 0.002F, .l2 = 0.003F}})(x);
    x = activity_regularization({.l2 = 0.004F})(x);
    model.add_loss(x * x);
    return dense(10)(0.5F * x);
  }
};

template <auto Loss>
inline constexpr auto compiled =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F}, .loss = Loss, .batch_size = 8};
inline constexpr auto from_logits = sc::losses::sparse_categorical_crossentropy{.from_logits = true};

struct weights_of_step {
  bool samples = false, classes = false;
};

template <class Trainer>
void check_option(char const* name, weights_of_step use = {}, bool one_hot = false, float scale = 1) {
  auto const file = golden::read("perceptron_options.txt");
  Trainer model;
  golden::set_weights(model, file, "initial");
  std::vector<double> losses;
  for (std::size_t step = 0; step < 10; ++step) {
    auto const labels = golden::labels(file["y"], step * 8, 8);
    xt::xtensor<float, 2> rows({8, 10}, 0.0F);
    for (std::size_t i = 0; i < 8; ++i) rows(i, static_cast<std::size_t>(labels[i])) = 1;
    sc::trainers::sample_source sample_weight;
    if (use.samples) {
      auto const first = file["sample_weight"].values.begin() + static_cast<std::ptrdiff_t>(step) * 8;
      sample_weight = std::vector<float>(first, first + 8);
    }
    std::vector<sc::trainers::class_weight_entry> class_weight;
    if (use.classes)
      for (int i = 0; i < 10; ++i) class_weight.push_back({i, file["class_weight"][static_cast<std::size_t>(i)]});
    sc::sample_set const y = one_hot ? sc::sample_set(rows) : sc::sample_set(labels);
    losses.push_back(model.train_on_batch(golden::rows(file["x"], step * 8, 8), y, sample_weight, class_weight)[0]);
    if (auto const scales = std::string(name) + "/scales"; file.contains(scales))
      CHECK(model.loss_scale() == scale * file[scales][step]);
  }
  golden::check_steps(model, losses, file, name, name);
}

}  // namespace

TEST_CASE("regularizers") { check_option<sc::trainer<regularized, compiled<from_logits>>>("regularized"); }
// Norms of gradients with their penalties, and of all weights; a weight's own, but for those that are left out.
TEST_CASE("regularizers, and gradients that are clipped by their norm") {
  constexpr auto clipped = sc::training{.optimizer = sc::optimizers::lamb{.learning_rate = 0.05F,
                                                                          .weight_decay = 0.1F,
                                                                          .exclude_from_weight_decay = {"bias"},
                                                                          .global_clipnorm = 0.5F},
                                        .loss = from_logits,
                                        .batch_size = 8};
  check_option<sc::trainer<regularized, clipped>>("clipped");
}
TEST_CASE("activity regularizers, add_loss of a model") {
  check_option<sc::trainer<adding, compiled<from_logits>>>("activity");
}
TEST_CASE("a loss scale by the share of gradients that do not fit float16") {
  using sgd = sc::optimizers::sgd;
  constexpr auto als = [](auto const& optimizer) {
    return sc::training{.optimizer = optimizer, .loss = from_logits, .batch_size = 8};
  };
  constexpr sc::optimizers::als_optimizer plain{
      sgd{.learning_rate = 0.1F}, 0x1p19F, 2, 2, 0x1p22F, true, 0.01F, false, 65504};
  static constexpr auto of_plain = als(plain);
  check_option<sc::trainer<perceptron, of_plain>>("als");
  // What overflows is a quarter, and so is the factor.
  static constexpr auto of_quarter = als(sc::optimizers::als_optimizer<sgd>{.optimizer = {.learning_rate = 0.1F},
                                                                            .initial_loss_scaling_factor = 0x1p17F,
                                                                            .update_frequency = 2,
                                                                            .max_loss_scaling_factor = 0x1p20F,
                                                                            .ratio_threshold = 0.01F,
                                                                            .histogram_bin_edge = 65504.0F / 4});
  check_option<sc::trainer<perceptron, of_quarter>>("als", {}, false, 0.25F);
}
TEST_CASE("weights of samples and classes") {
  using trainer = sc::trainer<perceptron, compiled<from_logits>>;
  check_option<trainer>("sample_weight", {.samples = true});
  check_option<trainer>("class_weight", {.classes = true});
  check_option<trainer>("both_weights", {.samples = true, .classes = true});
}
TEST_CASE("a softmax head") {
  check_option<sc::trainer<with_softmax, compiled<sc::losses::sparse_categorical_crossentropy{}>>>("softmax");
}
TEST_CASE("binary cross-entropy") {
  check_option<sc::trainer<perceptron, compiled<sc::losses::binary_crossentropy{.from_logits = true}>>>("binary", {},
                                                                                                        true);
}
