// SPDX-License-Identifier: BSD-3-Clause
// fit, evaluate and predict with a partial last batch, against real Keras.
#include "golden_trainer.hpp"

namespace {

using namespace sc::regularizers;

using perceptron = sc::sequential<input{20}, dense{16, sc::relu}, dense{12, sc::relu}, dense{10}>;
/// As a user writes them, with Keras's values to compare with.
struct own_l1 : sc::own_regularizer<own_l1> {
  float factor;
  constexpr explicit own_l1(float factor_ = 0.01F) : factor(factor_) {}
  constexpr auto call(auto& ops, auto weight) const { return ops.sum(abs(weight), {0, 1}) * factor; }
};
struct own_l2 : sc::own_regularizer<own_l2> {
  float factor;
  constexpr explicit own_l2(float factor_ = 0.01F) : factor(factor_) {}
  constexpr auto call(auto& ops, auto weight) const { return ops.sum(square(weight), 0) * factor; }
};

using regularized =
    sc::sequential<input{20},
                   dense{16, sc::relu, {.kernel_regularizer = own_l1{0.01F}, .bias_regularizer = own_l2{0.1F}}},
                   dense{12, sc::relu, {.kernel_regularizer = l2{0.02F}, .bias_regularizer = l1{0.05F}}},
                   dense{10, {.kernel_regularizer = l1_l2{.l1 = 0.003F, .l2 = 0.004F}}}>;

/// Adds to the loss by itself.
struct adds_loss : sc::layer<adds_loss> {
  static constexpr std::string_view class_name = "AddsLoss";
  constexpr auto call(auto& ops, auto x) const {
    ops.add_loss(square(x));
    return x * 0.5F;
  }
};
using activity = sc::sequential<input{20}, dense{16, sc::relu, {.activity_regularizer = l1{0.001F}}},
                                dense{12, sc::relu, {.activity_regularizer = l1_l2{.l1 = 0.002F, .l2 = 0.003F}}},
                                activity_regularization{{.l2 = 0.004F}}, adds_loss{}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 8};
inline constexpr auto training_weighted =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .weighted_metrics = sc::metrics::accuracy{},
                 .batch_size = 8};
// A program for larger batches runs smaller ones by padding them.
inline constexpr auto training_32 =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 32};

struct data {
  golden::file file = golden::read("perceptron_fit.txt");
  xt::xtensor<float, 2> x = golden::rows(file["x"], 0, 20), held_out_x = golden::rows(file["x"], 20, 10);
  std::vector<int> y = golden::labels(file["y"], 0, 20), held_out_y = golden::labels(file["y"], 20, 10);
  std::vector<float> sample_weight{file["sample_weight"].values.begin(), file["sample_weight"].values.begin() + 20};
  std::vector<sc::trainers::class_weight_entry> class_weight;
  data() {
    for (int i = 0; i < 10; ++i) class_weight.push_back({i, file["class_weight"][static_cast<std::size_t>(i)]});
  }
};

template <class Trainer>
void check_fit(std::string const& name, data const& given, sc::fit_options options,
               sc::trainers::sample_source const& evaluation_weight = {}, bool after = true) {
  CAPTURE(name);
  auto const& file = given.file;
  Trainer model;
  golden::set_weights(model, file, "initial");
  options.batch_size = 8;
  options.epochs = 2;
  options.verbose = 0;
  options.shuffle = false;
  auto const history = model.fit(given.x, given.y, options);
  golden::check_history(history.history, file, name + "/history/");
  CHECK(history.epoch == std::vector<int>{0, 1});
  if (!after) return;
  double const of_weights = golden::weight_deviation(model, file, name);
  CHECK(of_weights < golden::weight_tolerance);
  auto const evaluated =
      model.evaluate(given.x, given.y, {.batch_size = 8, .verbose = 0, .sample_weight = evaluation_weight});
  CHECK(golden::deviation(evaluated, file[name + "/evaluate"].values) < golden::loss_tolerance);
  xt::xtensor<float, 2> const predicted = model.predict(given.x, {.batch_size = 8});
  double const of_predictions = golden::deviation(predicted.storage(), file[name + "/predict"].values);
  CHECK(of_predictions < golden::weight_tolerance);
}

using trainer = sc::trainer<perceptron, training>;
using weighted_trainer = sc::trainer<perceptron, training_weighted>;

}  // namespace

TEST_CASE("plain") {
  data const given;
  check_fit<trainer>("plain", given, {});
  check_fit<sc::trainer<perceptron, training_32>>("plain", given, {});
}
TEST_CASE("validation data") {
  data const given;
  check_fit<trainer>("validation_data", given, {.validation_data = {given.held_out_x, given.held_out_y}}, {}, false);
}
TEST_CASE("validation split") { check_fit<trainer>("validation_split", data(), {.validation_split = 0.25}); }
TEST_CASE("regularizers") { check_fit<sc::trainer<regularized, training>>("regularized", data(), {}); }
TEST_CASE("sample weights") {
  data const given;
  check_fit<weighted_trainer>("sample_weight", given, {.sample_weight = given.sample_weight}, given.sample_weight);
}
TEST_CASE("class weights") {
  data const given;
  check_fit<weighted_trainer>("class_weight", given, {.class_weight = given.class_weight});
}
TEST_CASE("the history has Keras's names in Keras's order") {
  data const given;
  trainer model;
  auto const history =
      model.fit(given.x, given.y, {.verbose = 0, .validation_data = {given.held_out_x, given.held_out_y}});
  std::vector<std::string> names;
  for (auto const& series : history.history) names.push_back(series.name);
  CHECK(names == given.file.names("validation_data/history/"));
}
TEST_CASE("activity regularizers, add_loss") { check_fit<sc::trainer<activity, training>>("activity", data(), {}); }
// Keras's mean over steps counts each step by the square of its samples.
TEST_CASE("losses that are not reduced") {
  constexpr auto none =
      sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.01F},
                   .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true,
                                                                       .reduction = sc::losses::reduction::none},
                   .batch_size = 8};
  data const given;
  check_fit<sc::trainer<perceptron, none>>("none", given, {.sample_weight = given.sample_weight}, given.sample_weight);
}
