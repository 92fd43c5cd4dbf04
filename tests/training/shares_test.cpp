// SPDX-License-Identifier: BSD-3-Clause
// Trainers and predictors with the weights of another one: the bits of trainers that copy them, in one memory, which
// lasts as long as one of them does.
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/stagecraft.hpp>
#include <stagecraft/training/shares.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <memory>
#include <span>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

struct generator : sc::functional<generator> {
  static constexpr std::string_view name = "generator";
  static constexpr auto build(auto& model) {
    auto const x = batch_normalization()(dense(6, {.use_bias = false})(model.input(3)));
    return dense(4)(activation(sc::tanh)(x));
  }
};
struct critic : sc::functional<critic> {
  static constexpr std::string_view name = "critic";
  static constexpr auto build(auto& model) { return dense(1)(dense(5, sc::relu)(model.input(4))); }
};
struct both : sc::functional<both> {
  static constexpr auto build(auto& model) { return sc::frozen<critic>{}(generator{}(model.input(3))); }
};

inline constexpr auto of_both = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.02F},
                                             .loss = sc::losses::mean_squared_error{},
                                             .batch_size = 8};
inline constexpr auto of_critic =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.5F},
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = 8,
                 .seed = 7};
inline constexpr auto drawing = sc::inference{.batch_size = 8};

xt::xtensor<float, 2> filled(std::size_t columns, float number) {
  xt::xtensor<float, 2> result = xt::zeros<float>({std::size_t{8}, columns});
  for (float& value : result) value = number = number * 3.7F * (1 - number);
  return result;
}

}  // namespace

TEST_CASE("parts of a trainer's model are shared, with the bits of copies") {
  auto const noise = filled(3, 0.1F), real = filled(4, 0.2F), yes = filled(1, 0.3F), no = filled(1, 0.4F);
  sc::trainer<both, of_both> first, copied;
  sc::trainer<critic, of_critic> judge{sc::shares<"critic">(first)}, copied_judge;
  sc::predictor<generator, drawing> draw{sc::shares<"generator">(first)}, copied_draw;
  CHECK(judge.get_weights() == [&] {
    auto expected = first.get_weights<"critic">();
    auto const names = judge.get_weights();
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i].name = names[i].name;
    return expected;
  }());
  copied_judge.set_weights(copied.get_weights<"critic">());
  for (int step = 0; step < 4; ++step) {
    CAPTURE(step);
    copied_draw.set_weights(copied.get_weights<"generator">());
    xt::xtensor<float, 2> const drawn = draw.predict(noise), expected = copied_draw.predict(noise);
    CHECK(drawn == expected);
    CHECK(judge.train_on_batch(drawn, no) == copied_judge.train_on_batch(expected, no));
    CHECK(judge.train_on_batch(real, yes) == copied_judge.train_on_batch(real, yes));
    copied.set_weights<"critic">(copied_judge.get_weights());
    CHECK(first.train_on_batch(noise, yes) == copied.train_on_batch(noise, yes));
  }
  CHECK(first.get_weights() == copied.get_weights());
  CHECK(judge.get_weights() == copied_judge.get_weights());
  copied_draw.set_weights(copied.get_weights<"generator">());
  xt::xtensor<float, 2> const now = draw(noise), expected = copied_draw(noise);  // the normalization is folded anew
  CHECK(now == expected);
  CHECK(&judge.weight<"dense/kernel">()(0, 0) == &first.weight<"critic/dense_2/kernel">()(0, 0));
}

TEST_CASE("whole models are shared for as long as one of them is there") {
  auto const x = filled(4, 0.5F), y = filled(1, 0.6F);
  auto first = std::make_unique<sc::trainer<critic, of_critic>>();
  sc::trainer<critic, of_both> second{sc::shares(*first)};
  sc::predictor<critic, drawing> third{sc::shares(second)};
  first->train_on_batch(x, y);
  auto weights = first->get_weights();
  CHECK(second.get_weights() == weights);
  first.reset();
  CHECK(second.get_weights() == weights);
  second.train_on_batch(x, y);
  CHECK_FALSE(second.get_weights() == weights);
  CHECK(third.get_weights() == second.get_weights());
  weights[0].values[0] = 3;
  CHECK_THROWS_WITH_AS(third.set_weights(weights), doctest::Contains("E4108"), sc::data_error);
  second.set_weights(weights);
  CHECK(third.get_weights() == weights);
  sc::trainer<critic, of_both> moved = std::move(second);
  CHECK(moved.get_weights() == weights);
  sc::predictor<critic, drawing> fourth = third.sharing_weights();
  weights[0].values[0] = 4;
  moved.set_weights(weights);
  xt::xtensor<float, 2> const expected = third.predict(x), found = fourth.predict(x);
  CHECK(found == expected);
  sc::trainer<critic, of_both> alone;
  alone.set_weights(weights);
  xt::xtensor<float, 2> const predicted = alone.predict(x);
  CHECK(predicted == expected);
}

TEST_CASE("a predictor whose weights a trainer learns prepares them before each run") {
  auto const noise = filled(3, 0.7F), y = filled(4, 0.8F);
  sc::predictor<generator, drawing> source;
  std::array<float, decltype(source)::call_outputs> called{};
  std::copy_n(source(noise).data(), called.size(), called.data());  // the normalization is folded now
  sc::trainer<generator, of_both> learner{sc::shares(source)};
  sc::predictor<generator, drawing> copied;
  for (int step = 0; step < 3; ++step) {
    CAPTURE(step);
    learner.train_on_batch(noise, y);
    copied.set_weights(learner.get_weights());
    xt::xtensor<float, 2> const expected = copied(noise);
    if (step == 0) {
      source.call(std::span<float const, decltype(source)::call_inputs>(noise.data(), noise.size()), called);
      CHECK(std::equal(called.begin(), called.end(), expected.data()));
    }
    xt::xtensor<float, 2> const found = step == 1 ? source.predict(noise) : source(noise);
    CHECK(found == expected);
  }
}

TEST_CASE("predictors that count on their weights are E4108") {
  sc::predictor<critic, drawing> source;
  {
    sc::predictor<critic, drawing> const other = source.sharing_weights();
    using learner = sc::trainer<critic, of_critic>;
    CHECK_THROWS_WITH_AS(static_cast<void>(learner{sc::shares(source)}), doctest::Contains("E4108"), sc::data_error);
  }
  sc::trainer<critic, of_critic> first{sc::shares(source)}, second{sc::shares(source)};
  first.train_on_batch(filled(4, 0.5F), filled(1, 0.6F));
  CHECK(source.get_weights() == first.get_weights());
  CHECK(second.get_weights() == first.get_weights());
}
