// SPDX-License-Identifier: BSD-3-Clause
// Models of a training step: frozen layers stay as they are, layers with several outputs, moving means move once with
// each call.
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <utility>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

constexpr int batch = 4;

template <class Array>
Array fill(Array values, float number) {
  for (float& value : values) value = number = number * 3.7F * (1 - number);
  return values;
}
template <class Step>
using trainer_of = sc::step_trainer<Step, sc::step_options{.batch_size = batch}>;

/// One model that learns to be y.
template <class M>
struct one_model : sc::training_step<one_model<M>, input{4}, input{1}> {
  sc::trained<M, "net"> net;
  static constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 0.1F};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(net(x) - y));
    step.minimize(optimizer, loss, weights_of(net));
    step.metric("error", loss);
  }
};
using base = sc::sequential<input{4}, dense{3, sc::tanh}>;
using fine_tuned = sc::sequential<input{4}, sc::frozen<base>{}, dense{2, {.trainable = false}}, dense{1}>;
using frozen_whole = sc::sequential<input{4}, sc::frozen<base>{}, dense{1, {.trainable = false}}>;
static_assert(sc::detail::facts_of_step<one_model<frozen_whole>>.problem.code == 2084);

// A step that is planned as graphs has as many weights as its models, not those of one layer: E1028.
using block = sc::sequential<input{4}, dense{4}, dense{4}, dense{4}, dense{4}>;
using deep = sc::sequential<input{4}, block{}, block{}, block{}, block{}, dense{1}>;
static_assert(sc::graph_of<deep>.parameters.size() == 34);
static_assert(sc::trainers::has_graphs<one_model<deep>> && sizeof(trainer_of<one_model<deep>>) > 0);

struct last_state : sc::functional<last_state> {
  static constexpr auto build(auto& model) {
    auto [y, h, c] = lstm(3, {.return_state = true})(reshape(2, 2)(model.input(4)));
    return dense(1)(h);
  }
};
using plain_lstm = sc::sequential<input{4}, reshape{2, 2}, lstm{3}, dense{1}>;

/// Two models, the first of which ends in a loop.
template <bool IsStale>
struct after_a_loop : sc::training_step<after_a_loop<IsStale>, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, reshape{2, 2}, lstm{3}>, "loop"> loop;
  sc::trained<sc::sequential<input{3}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 0.1F};
  constexpr void train(auto& step, auto x, auto y) const {
    auto found = loop(x);
    step.minimize(optimizer, step.mean(square(found - y)), weights_of(loop));
    if (!IsStale) found = loop(x);
    step.minimize(optimizer, step.mean(square(line(found) - y)), weights_of(line));
  }
};
static_assert(sc::detail::facts_of_step<after_a_loop<true>>.problem.code == 2086);
static_assert(!sc::detail::facts_of_step<after_a_loop<false>>.problem.failed());

struct normalized : sc::training_step<normalized, input{1}, input{1}> {
  sc::trained<sc::sequential<input{1}, batch_normalization{{.momentum = 0.5}}, dense{1}>, "net"> net;
  sc::trained<sc::sequential<input{1}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 0.1F};
  constexpr void train(auto& step, auto x, auto z) const {
    auto const both = net(x) - net(z), more = net(z + 16);
    step.minimize(optimizer, step.mean(square(both + more)), weights_of(net));
    step.minimize(optimizer, step.mean(square(line(net(x)) - 1)), weights_of(line));
  }
};

/// A normalization that is called three times. With a gradient, which changes nothing, it is no graph.
template <bool TakesGradient>
struct compared : sc::training_step<compared<TakesGradient>, input{3}, input{3}> {
  sc::trained<sc::sequential<input{3}, dense{5}, batch_normalization{{.momentum = 0.5}}, dense{2}>, "net"> net;
  static constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 0.1F};
  constexpr void train(auto& step, auto x, auto z) const {
    auto loss = step.mean(square(net(x) - net(z) * 2 + net(z + 1)));
    if (TakesGradient) loss = loss + 0 * step.mean(step.gradient(loss, weights_of(net))[0]);
    step.minimize(optimizer, loss, weights_of(net));
    step.metric("error", loss);
  }
};
static_assert(sc::trainers::has_graphs<compared<false>> && !sc::trainers::has_graphs<compared<true>>);

/// What layer_normalization computes, as operations without a name.
struct plain_normalization : sc::layer<plain_normalization> {
  static constexpr std::string_view class_name = "PlainNormalization";
  constexpr auto call(auto& ops, auto x) const {
    int const columns = x.length(-1);
    auto const centred = x - ops.mean(x, -1);
    auto const y = centred * rsqrt(ops.mean(square(centred), -1) + 0.001F);
    auto const gamma =
        ops.weight({.name = "gamma", .shape = {columns}, .initializer = sc::initializers::constant{.value = 1.5F}});
    return y * gamma + ops.weight({.name = "beta", .shape = {columns}, .initializer = sc::initializers::zeros{}});
  }
};
/// What batch_normalization computes, as operations without a name.
struct plain_batch_normalization : sc::layer<plain_batch_normalization> {
  static constexpr std::string_view class_name = "PlainBatchNormalization";
  constexpr auto call(auto& ops, auto x) const {
    int const columns = x.length(-1);
    auto const numbers = [&](std::string_view name, float first, bool is_trained) {
      return ops.weight({.name = name,
                         .shape = {columns},
                         .initializer = sc::initializers::constant{.value = first},
                         .trainable = is_trained});
    };
    auto const gamma = numbers("gamma", 1.5F, true), beta = numbers("beta", 0, true),
               moving_mean = numbers("moving_mean", 0, false), moving_variance = numbers("moving_variance", 1, false);
    auto const mean = ops.mean(x, 0), centred = x - mean, variance = ops.mean(square(centred), 0);
    auto const move = [&](auto weight, auto batch) {
      ops.update(weight, weight * 0.99F + ops.reshape(batch, sc::operations::extents(columns)) * 0.01F);
    };
    move(moving_mean, mean);
    move(moving_variance, variance);
    return centred * rsqrt(variance + 0.001F) * gamma + beta;
  }
};
/// A gradient penalty, whose second gradient goes through a normalization.
template <class Normalization>
struct penalized : sc::training_step<penalized<Normalization>, input{5}> {
  sc::trained<sc::sequential<input{5}, dense{24, sc::tanh}, Normalization{}, activation{sc::tanh}, dense{1}>, "critic">
      critic;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};
  constexpr void train(auto& step, auto x) const {
    auto const slope = step.gradient(critic(x), x), norm = sqrt(step.sum(square(slope), -1) + 1e-12F);
    auto const loss = step.mean(square(norm - 1)) + step.mean(critic(x * 2));
    step.minimize(optimizer, loss, weights_of(critic));
    step.metric("loss", loss);
  }
};
/// The groups that kernels carry out in the steps of a penalized critic.
template <class Normalization, bool IsForward>
constexpr int count_kernels() {
  using layer = sc::trainers::sub_step_layer<penalized<Normalization>, 0>;
  sc::shape const in[]{{5}};
  sc::operations::traced_plan const plan(sc::layers::detail::trace_layer(layer{}, in, 12, true, true), true, {}, 1, {},
                                         true);
  int count = 0;
  for (int const id : IsForward ? plan.forward : plan.backward) {
    auto const* group = plan.traced.list.node_of(id).what.if_is<sc::operations::composite>();
    count += group != nullptr && group->has_kernel ? 1 : 0;
  }
  return count;
}
// Both calls and the gradient of one; then its gradient by the layer's input, and what those of gamma read.
static_assert(count_kernels<layer_normalization, true>() == 3 && count_kernels<layer_normalization, false>() >= 4);
static_assert(count_kernels<plain_normalization, true>() == 0 && count_kernels<plain_normalization, false>() == 0);
// Statistics and results of both calls, then sums and gradient of one; backward, sums and gradients of both.
static_assert(count_kernels<batch_normalization, true>() == 6 && count_kernels<batch_normalization, false>() >= 4);
static_assert(count_kernels<plain_batch_normalization, true>() == 0);

/// Trains penalized critics with a layer that has kernels and with its operations, from the same weights.
template <class Layer, class Plain>
void compare_with_operations(std::size_t count) {
  auto const x = fill(xt::xtensor<float, 2>(xt::zeros<float>({12, 5})), 0.1F);
  sc::step_trainer<penalized<Layer>, sc::step_options{.batch_size = 12}> by_kernels;
  sc::step_trainer<penalized<Plain>, sc::step_options{.batch_size = 12}> plain;
  auto weights = by_kernels.get_weights(), before = plain.get_weights();
  REQUIRE(weights.size() == count);
  weights[2] = before[2];  // gamma, which is not 1
  for (std::size_t i = 0; i < weights.size(); ++i) before[i].values = weights[i].values;
  for (auto& each : weights) each.name.clear();
  by_kernels.set_weights(weights);
  plain.set_weights(before);
  for (int i = 0; i < 10; ++i)
    CHECK(by_kernels.train_on_batch(x)[0] == doctest::Approx(plain.train_on_batch(x)[0]).epsilon(1e-5));
  auto const found = by_kernels.get_weights(), expected = plain.get_weights();
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK_FALSE(found[i].values == weights[i].values);
    for (std::size_t k = 0; k < found[i].values.size(); ++k)
      CHECK(found[i].values[k] == doctest::Approx(expected[i].values[k]).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("a graph of layers with their kernels computes what traced operations do") {
  auto const x = fill(xt::xtensor<float, 2>(xt::zeros<float>({batch, 3})), 0.1F),
             z = fill(xt::xtensor<float, 2>(xt::zeros<float>({batch, 3})), 0.3F);
  trainer_of<compared<false>> graph;
  trainer_of<compared<true>> traced;
  traced.set_weights(graph.get_weights());
  auto const before = graph.get_weights();
  for (int i = 0; i < 5; ++i)
    CHECK(graph.train_on_batch(sc::inputs(x, z))[0] ==
          doctest::Approx(traced.train_on_batch(sc::inputs(x, z))[0]).epsilon(1e-4));
  auto const weights = graph.get_weights(), expected = traced.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].values.size(); ++k)
      CHECK(weights[i].values[k] == doctest::Approx(expected[i].values[k]).epsilon(1e-4));
  CHECK_FALSE(weights[4] == before[4]);  // the moving mean
  CHECK(weights[4].name == "net/batch_normalization/moving_mean:0");
}

TEST_CASE("a normalization whose gradient the step takes has kernels, and computes what its operations do") {
  compare_with_operations<layer_normalization, plain_normalization>(6);
  compare_with_operations<batch_normalization, plain_batch_normalization>(8);
}

TEST_CASE("frozen layers stay as they are") {
  trainer_of<one_model<fine_tuned>> model;
  auto const before = model.get_weights<"net">();
  auto const x = fill(xt::xtensor<float, 2>(xt::zeros<float>({batch, 4})), 0.1F);
  model.train_on_batch(x, fill(xt::xtensor<float, 2>(xt::zeros<float>({batch, 1})), 0.3F));
  auto const after = model.get_weights<"net">();
  REQUIRE(after.size() == 6);
  int moved = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    CAPTURE(after[i].name);
    bool const is_last = after[i].shape.back() == 1;
    CHECK((after[i] == before[i]) == !is_last);
    moved += is_last ? 1 : 0;
  }
  CHECK(moved == 2);
}

TEST_CASE("a layer with several outputs is one that has one of them") {
  trainer_of<one_model<last_state>> model;
  trainer_of<one_model<plain_lstm>> expected;
  expected.set_weights<"net">(model.get_weights<"net">());
  auto const x = fill(xt::xtensor<float, 2>(xt::zeros<float>({batch, 4})), 0.1F);
  auto const y = fill(xt::xtensor<float, 2>(xt::zeros<float>({batch, 1})), 0.3F);
  for (int i = 0; i < 3; ++i) {
    auto const value = expected.train_on_batch(x, y)[0];
    CHECK(value > 0);
    CHECK(model.train_on_batch(x, y)[0] == doctest::Approx(value));
  }
}

TEST_CASE("moving means move once with each call") {
  trainer_of<normalized> model;
  xt::xtensor<float, 2> const x{{1}, {2}, {3}, {2}}, z{{5}, {7}, {5}, {7}};
  model.train_on_batch(x, z);
  auto const weights = model.get_weights<"net">();
  double mean = 0, variance = 1;
  // Calls with x, z, z + 16 and x: their means and variances.
  for (auto const& [of_mean, of_variance] : {std::pair{2.0, 0.5}, {6.0, 1.0}, {22.0, 1.0}, {2.0, 0.5}}) {
    mean = (mean + of_mean) / 2;
    variance = (variance + of_variance) / 2;
  }
  int found = 0;
  for (auto const& each : weights) {
    bool const is_mean = each.name.find("moving_mean") != std::string::npos;
    if (!is_mean && each.name.find("moving_variance") == std::string::npos) continue;
    CHECK(static_cast<double>(each.values[0]) == doctest::Approx(is_mean ? mean : variance).epsilon(1e-5));
    ++found;
  }
  CHECK(found == 2);
}
