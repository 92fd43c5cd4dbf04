// SPDX-License-Identifier: BSD-3-Clause
// Wrong data and options are refused before anything has run.
#include "trainer_cases.hpp"

using cases::recorder, cases::samples, cases::trainer;

namespace {

inline constexpr auto regression = sc::training{.batch_size = 8};

/// Runs something that must be refused; the model is as before, and no callback was called.
template <class Model, class Run>
void check_refused(char const* text, Model& model, Run const& run) {
  auto const before = model.get_weights();
  recorder calls;
  CHECK_THROWS_WITH_AS(run(calls), text, sc::data_error);
  CHECK(model.get_weights() == before);
  CHECK(calls.text.empty());
}

void check_fit(char const* text, sc::sample_set const& x, sc::sample_set const& y, sc::fit_options options = {}) {
  trainer model;
  options.verbose = 0;
  check_refused(text, model, [&](recorder& calls) {
    options.callbacks = {&calls};
    model.fit(x, y, options);
  });
}

}  // namespace

TEST_CASE("samples") {
  samples const data(20);
  xt::xtensor<float, 2> const wide({20, 5}, 0.0F), none({0, 4}, 0.0F);
  std::vector<int> short_y(19, 0), no_class(data.y), no_number(data.y);
  no_class[7] = 3;
  no_number[3] = -1;
  check_fit("x: expected samples of shape (4,), found (5,) [E4001]", wide, data.y);
  check_fit("y: expected 20 samples, as many as x has, found 19 [E4002]", data.x, short_y);
  check_fit("x: expected at least 1 sample, found 0 [E4003]", none, std::vector<int>());
  check_fit("y: expected class numbers from 0 to 2, found 3 at sample 7 [E4004]", data.x, no_class);
  check_fit("y: expected class numbers from 0 to 2, found -1 at sample 3 [E4004]", data.x, no_number);
  check_fit("x: expected 1 array, found 2 [E4010]", sc::inputs(data.x, data.x), data.y);
  check_fit("y: expected 1 array, found 0 [E4010]", data.x, {});
  xt::xtensor<float, 2> const one_hot({20, 3}, 0.0F);
  check_fit(
      "y: expected samples of shape (), found (3,); one value per class needs the loss categorical_crossentropy "
      "[E4001]",
      data.x, one_hot);
}

TEST_CASE("weights of samples and classes") {
  samples const data(20);
  check_fit("sample_weight: expected 20 numbers, one per sample, found 3 [E4005]", data.x, data.y,
            {.sample_weight = std::vector<float>(3, 1.0F)});
  check_fit("class_weight: expected the classes from 0 to 0, as there are 1, found 3 [E4006]", data.x, data.y,
            {.class_weight = {{3, 1.0F}}});
  check_fit("class_weight: expected the classes from 0 to 1, as there are 2, found 2 [E4006]", data.x, data.y,
            {.class_weight = {{0, 1.0F}, {2, 1.0F}}});
  check_fit("class_weight: expected targets from 0 to 1, found 2 at sample 2 [E4006]", data.x, data.y,
            {.class_weight = {{0, 1.0F}, {1, 1.0F}}});
  // Classes that do not occur change nothing.
  trainer model, other;
  model.fit(data.x, data.y, {.verbose = 0, .class_weight = {{0, 1.0F}, {1, 2.0F}, {2, 3.0F}}});
  other.fit(data.x, data.y, {.verbose = 0, .class_weight = {{0, 1.0F}, {1, 2.0F}, {2, 3.0F}, {3, 4.0F}, {4, 5.0F}}});
  CHECK(model.get_weights() == other.get_weights());
}

TEST_CASE("class weights where a target is no class") {
  using one_output = sc::sequential<input{4}, dense{1}>;
  sc::trainer<one_output, regression> model;
  samples const data(4);
  std::vector<float> const y{0, 1, 7.5F, 1};
  sc::fit_options options{.verbose = 0, .class_weight = {{0, 1.0F}, {1, 2.0F}}};
  check_refused("class_weight: expected targets from 0 to 1, found 7.5 at sample 2 [E4006]", model,
                [&](recorder&) { model.fit(data.x, y, options); });
}

TEST_CASE("class weights where a sample has several rows, or a model several outputs") {
  samples const data(4);
  static constexpr auto per_row =
      sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 8};
  sc::trainer<sc::sequential<input{4}, reshape{2, 2}>, per_row> rows;
  xt::xtensor<int, 2> const y({4, 2}, 1);
  check_refused("class_weight: expected a model with one class per sample, found one with 2 [E4006]", rows,
                [&](recorder&) { rows.fit(data.x, y, {.verbose = 0, .class_weight = {{0, 1.0F}, {1, 2.0F}}}); });
  // Four rows of one number each, along which the classes lie: one class.
  static constexpr auto along_rows = sc::training{
      .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true, .axis = 1}, .batch_size = 8};
  sc::trainer<sc::sequential<input{4}, reshape{4, 1}>, along_rows> one_class;
  xt::xtensor<int, 2> const classes({4, 1}, 1);
  double const plain = one_class.evaluate(data.x, classes, {.verbose = 0})[0];
  auto const weighted = one_class.fit(data.x, classes, {.verbose = 0, .class_weight = {{0, 1.0F}, {1, 2.0F}}});
  CHECK(weighted.at("loss")[0] == doctest::Approx(2 * plain));
}

TEST_CASE("validation data") {
  samples const data(20);
  xt::xtensor<float, 2> const wide({20, 5}, 0.0F);
  std::vector<int> no_class(data.y);
  no_class[7] = 3;
  check_fit("validation_data.x: expected samples of shape (4,), found (5,) [E4001]", data.x, data.y,
            {.validation_data = {wide, data.y}});
  check_fit("validation_data.y: expected class numbers from 0 to 2, found 3 at sample 7 [E4004]", data.x, data.y,
            {.validation_data = {data.x, no_class}});
  check_fit("validation_data.sample_weight: expected 20 numbers, one per sample, found 1 [E4005]", data.x, data.y,
            {.validation_data = {data.x, data.y, std::vector<float>(1, 1.0F)}});
  check_fit("validation_split: expected a number from 0 to below 1, found 1 [E4007]", data.x, data.y,
            {.validation_split = 1});
  check_fit("validation_split: 0.5 of 1 samples leaves none to train with [E4007]", samples(1).x, samples(1).y,
            {.validation_split = 0.5});
}

TEST_CASE("sizes and steps") {
  samples const data(20);
  check_fit("batch_size: expected 1 to 8, the description's batch_size, found 9 [E4008]", data.x, data.y,
            {.batch_size = 9});
  check_fit("epochs: expected at least 0, found -1 [E4011]", data.x, data.y, {.epochs = -1});
  check_fit("validation_freq: expected at least 1, found 0 [E4011]", data.x, data.y, {.validation_freq = 0});
  check_fit("steps_per_epoch: expected data for 4 batches, found 3 [E4003]", data.x, data.y, {.steps_per_epoch = 4});
  check_fit("validation_steps: expected data for 5 batches, found 3 [E4003]", data.x, data.y,
            {.validation_data = data, .validation_steps = 5});
  samples const few(5);
  check_fit("x: expected at least 8 samples (one batch, with drop_remainder), found 5 [E4003]", few.x, few.y,
            {.drop_remainder = true});
}

TEST_CASE("evaluate, predict and single batches") {
  samples const data(20);
  std::vector<int> const short_y(19, 0);
  trainer model;
  check_refused("y: expected 20 samples, as many as x has, found 19 [E4002]", model,
                [&](recorder& calls) { model.evaluate(data.x, short_y, {.verbose = 0, .callbacks = {&calls}}); });
  check_refused("steps: expected data for 4 batches, found 3 [E4003]", model, [&](recorder& calls) {
    model.evaluate(data.x, data.y, {.verbose = 0, .steps = 4, .callbacks = {&calls}});
  });
  check_refused("steps: expected at least 0, found -1 [E4011]", model,
                [&](recorder& calls) { model.predict(data.x, {.steps = -1, .callbacks = {&calls}}); });
  char const* const too_many = "x: expected at most 8 samples, the description's batch_size, found 20 [E4008]";
  check_refused(too_many, model, [&](recorder&) { model.train_on_batch(data.x, data.y); });
  check_refused(too_many, model, [&](recorder&) { model.test_on_batch(data.x, data.y); });
  check_refused(too_many, model, [&](recorder&) { model.predict_on_batch(data.x); });
}

TEST_CASE("weights of other models") {
  trainer model;
  auto weights = model.get_weights();
  auto const with = [&](auto change) {
    auto changed = weights;
    change(changed);
    CHECK_THROWS_AS(model.set_weights(changed), sc::data_error);
    CHECK(model.get_weights() == weights);
  };
  with([](auto& w) { w.pop_back(); });
  with([](auto& w) { w[0].name = "other/kernel:0"; });
  with([](auto& w) { w[0].shape = {8, 4}; });
  with([](auto& w) { w[3].values.pop_back(); });
}
