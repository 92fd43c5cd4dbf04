// SPDX-License-Identifier: BSD-3-Clause
// Copies of weights, and views of them by name.
#include "trainer_cases.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

using cases::samples, cases::trainer;

namespace {

// Several panels of a packed kernel, the last one not full.
using wide = sc::sequential<input{5}, dense{70, sc::relu, {.name = "wide"}}, dense{2, {.name = "head"}}>;
inline constexpr auto regression = sc::training{.batch_size = 8};

struct two_heads : sc::functional<two_heads> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3), y = model.input(2);
    return sc::outputs(dense(4)(concatenate()(x, y)), reshape(3, 1)(x));
  }
};

}  // namespace

TEST_CASE("weights go out and back in") {
  samples const data(24);
  trainer model, other(99);
  auto const initial = model.get_weights();
  CHECK(initial.size() == 4);
  CHECK(initial[0].name == "dense/kernel:0");
  CHECK(initial[0].shape == std::vector<int>{4, 8});
  CHECK(initial[1].values == std::vector<float>(8, 0.0F));
  CHECK(initial[3].name == "dense_1/bias:0");
  CHECK(other.get_weights() != initial);
  other.set_weights(initial);
  CHECK(other.get_weights() == initial);
  model.fit(data.x, data.y, {.verbose = 0});
  CHECK(model.get_weights() != initial);
  CHECK(trainer(7).get_weights() == trainer(7).get_weights());
}

TEST_CASE("a trainer moves, and views of its weights stay valid") {
  static_assert(std::is_nothrow_move_constructible_v<trainer> && std::is_nothrow_move_assignable_v<trainer>);
  static_assert(!std::is_copy_constructible_v<trainer> && !std::is_copy_assignable_v<trainer>);
  samples const data(24);
  trainer model, other(99), stays;
  auto kernel = model.weight<"dense/kernel">();
  std::vector<trainer> models;
  models.push_back(std::move(model));
  models.push_back(std::move(other));
  models.front().fit(data.x, data.y, {.verbose = 0});
  stays.fit(data.x, data.y, {.verbose = 0});
  CHECK(models.front().get_weights() == stays.get_weights());
  kernel(0, 0) = 5;
  models.back() = std::move(models.front());
  CHECK(models.back().get_weights()[0].values[0] == 5);
}

TEST_CASE("views by name read and write the model's own memory") {
  sc::trainer<wide, regression> model;
  auto const weights = model.get_weights();
  auto kernel = model.weight<"wide/kernel">();
  CHECK(kernel.dimension() == 2);
  CHECK(kernel.shape()[0] == 5);
  CHECK(kernel.shape()[1] == 70);
  int different = 0;
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t k = 0; k < 70; ++k) different += kernel(i, k) != weights[0].values[i * 70 + k] ? 1 : 0;
  CHECK(different == 0);
  kernel(4, 69) = 5;
  kernel(0, 64) = 6;
  CHECK(model.get_weights()[0].values[4 * 70 + 69] == 5);
  CHECK(model.get_weights()[0].values[64] == 6);
  kernel *= 2.0F;
  CHECK(model.get_weights()[0].values[4 * 70 + 69] == 10);
  CHECK(model.get_weights()[0].values[1] == 2 * weights[0].values[1]);
  xt::xtensor<float, 2> const copy = kernel;
  CHECK(copy(4, 69) == 10);

  auto bias = model.weight<"wide/bias:0">();
  CHECK(bias.dimension() == 1);
  CHECK(bias.shape()[0] == 70);
  bias(69) = 3;
  CHECK(model.get_weights()[1].values[69] == 3);

  // What is written counts in the next step.
  xt::xtensor<float, 2> const x({1, 5}, 0.0F);
  model.weight<"head/bias">()(1) = 42;
  for (float& value : model.weight<"head/kernel">()) value = 0;
  CHECK(model.predict(x)(0, 1) == 42);
}

TEST_CASE("single batches") {
  samples const data(8), more(20, 3);
  trainer model;
  auto const before = model.get_weights();
  auto const [loss, accuracy] = model.test_on_batch(data.x, data.y);
  CHECK(model.get_weights() == before);
  auto const trained = model.train_on_batch(data.x, data.y);
  CHECK(trained[0] == loss);
  CHECK(trained[1] == accuracy);
  CHECK(model.get_weights() != before);
  CHECK(model.test_on_batch(data.x, data.y)[0] < loss);
  samples const three(3);
  CHECK(model.predict_on_batch(three.x).shape()[0] == 3);
  auto const weighted = model.test_on_batch(data.x, data.y, std::vector<float>(8, 0.5F));
  CHECK(weighted[0] == doctest::Approx(0.5 * model.test_on_batch(data.x, data.y)[0]));
}

TEST_CASE("predictions have the outputs' shapes") {
  samples const data(20);
  trainer model;
  xt::xtensor<float, 2> const logits = model.predict(data.x);
  CHECK(logits.shape()[0] == 20);
  CHECK(logits.shape()[1] == 3);
  CHECK(model.predict(data.x, {.batch_size = 3}) == logits);
  CHECK(model.predict(data.x, {.steps = 2}).shape()[0] == 16);

  sc::trainer<two_heads, regression> heads;
  xt::xtensor<float, 2> const x({11, 3}, 0.5F), y({11, 2}, 1.0F);
  auto const [a, b] = heads.predict(sc::inputs(x, y));
  static_assert(std::is_same_v<decltype(a), xt::xtensor<float, 2> const>);
  static_assert(std::is_same_v<decltype(b), xt::xtensor<float, 3> const>);
  CHECK(a.shape()[0] == 11);
  CHECK(a.shape()[1] == 4);
  CHECK(b.shape()[1] == 3);
  CHECK(b.shape()[2] == 1);
  CHECK(std::all_of(b.begin(), b.end(), [](float value) { return value == 0.5F; }));
}

TEST_CASE("two models in one program do not know of each other") {
  samples const data(24);
  trainer a, b;
  a.fit(data.x, data.y, {.verbose = 0});
  trainer alone;
  CHECK(b.get_weights() == alone.get_weights());
  b.fit(data.x, data.y, {.verbose = 0});
  CHECK(a.get_weights() == b.get_weights());
}

TEST_CASE("views of convolution kernels have Keras's shape, with groups and without") {
  using network = sc::sequential<input{5, 5, 4}, conv2d{18, {3, 2}, {.groups = 2, .name = "grouped"}},
                                 conv2d{17, 1, {.name = "plain"}}, flatten{}, dense{2}>;
  sc::trainer<network, sc::training{.batch_size = 2}> model;
  auto const check = [&](auto kernel, std::size_t which, std::vector<int> const& shape) {
    auto const stored = model.get_weights()[which];
    CHECK(stored.shape == shape);
    CHECK(std::vector<int>(kernel.shape().begin(), kernel.shape().end()) == shape);
    CHECK(std::equal(kernel.begin(), kernel.end(), stored.values.begin(), stored.values.end()));
  };
  check(model.weight<"grouped/kernel">(), 0, {3, 2, 2, 18});
  check(model.weight<"plain/kernel">(), 2, {1, 1, 18, 17});

  // Written through the view: filter 9 is the first of the second group.
  model.weight<"grouped/kernel">()(2, 1, 1, 9) = 42;
  CHECK(model.get_weights()[0].values[((2 * 2 + 1) * 2 + 1) * 18 + 9] == 42);
  auto const before = model.get_weights();
  model.set_weights(before);
  CHECK(model.get_weights() == before);
}
