// SPDX-License-Identifier: BSD-3-Clause
// Losses of a training step: reductions and penalties are those of `fit`, whichever trainer carries the step out.
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

constexpr int batch = 8;
inline constexpr auto sgd = sc::optimizers::sgd{.learning_rate = 0.05F};

/// `IsNamed`: in the way of `fit`, else with a metric of its own.
template <class M, auto Loss, bool IsNamed>
struct one_loss : sc::training_step<one_loss<M, Loss, IsNamed>, input{4}, input{2}> {
  sc::trained<M, "net"> net;
  static constexpr auto optimizer = sgd;
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(Loss, y, net(x));
    step.minimize(optimizer, loss, weights_of(net));
    step.metric(IsNamed ? "loss" : "error", loss);
  }
};
template <class Step>
using trainer_of = sc::step_trainer<Step, sc::step_options{.batch_size = batch}>;
template <class Step>
constexpr bool is_fit = !sc::detail::same_type(sc::detail::facts_of_step<Step>.loss_of_fit, sc::detail::no_type);

using net = sc::sequential<input{4}, dense{3, sc::tanh}, dense{2}>;
using penalized =
    sc::sequential<input{4}, dense{3, sc::tanh, {.activity_regularizer = sc::regularizers::l2{0.5F}}}, dense{2}>;
/// Adds to the loss in its call.
struct small : sc::layer<small> {
  static constexpr std::string_view class_name = "Small";
  constexpr auto call(auto& ops, auto x) const {
    ops.add_loss(square(x) * 0.5F);
    return x * 2;
  }
};
using adds_loss = sc::sequential<input{4}, dense{3, sc::tanh}, small{}, dense{2}>;
struct two_outputs : sc::functional<two_outputs> {
  static constexpr auto build(auto& model) {
    auto x = dense(3, sc::tanh)(model.input(4));
    return sc::outputs(dense(2)(x), dense(1)(x));
  }
};
struct first_of_two : sc::training_step<first_of_two, input{4}, input{2}> {
  sc::trained<two_outputs, "net"> net;
  static constexpr auto optimizer = sgd;
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(sc::losses::mean_squared_error{}, y, net(x)[0]);
    step.minimize(optimizer, loss, weights_of(net));
    step.metric("loss", loss);
  }
};

inline constexpr auto mean = sc::losses::mean_squared_error{};
inline constexpr auto sum = sc::losses::mean_squared_error{.reduction = sc::losses::reduction::sum};
inline constexpr auto none = sc::losses::mean_squared_error{.reduction = sc::losses::reduction::none};
static_assert(is_fit<one_loss<net, mean, true>> && !is_fit<one_loss<net, mean, false>>);
static_assert(is_fit<one_loss<net, sum, true>> && !is_fit<one_loss<net, none, true>>);
static_assert(!is_fit<one_loss<penalized, mean, true>> && !is_fit<one_loss<adds_loss, mean, true>>);
static_assert(!is_fit<first_of_two>);

/// The step's weights after some batches are those of `fit`.
template <class M, auto Loss>
void compare() {
  sc::trainer<M, sc::training{.optimizer = sgd, .loss = Loss, .batch_size = batch}> expected;
  trainer_of<one_loss<M, Loss, false>> model;
  auto const before = expected.get_weights();
  model.template set_weights<"net">(before);
  xt::xtensor<float, 2> x = xt::zeros<float>({batch, 4}), y = xt::zeros<float>({batch, 2});
  float number = 0.1F;
  for (auto* const each : {&x, &y})
    for (float& value : *each) value = number = number * 3.7F * (1 - number);
  for (int i = 0; i < 3; ++i) {
    expected.train_on_batch(x, y);
    model.train_on_batch(x, y);
  }
  auto const found = model.template get_weights<"net">(), after = expected.get_weights();
  REQUIRE(found.size() == after.size());
  CHECK_FALSE(after == before);
  for (std::size_t i = 0; i < after.size(); ++i)
    for (std::size_t k = 0; k < after[i].values.size(); ++k)
      CHECK(static_cast<double>(found[i].values[k]) == doctest::Approx(after[i].values[k]).epsilon(1e-4));
}

}  // namespace

TEST_CASE("a summed loss") { compare<net, sum>(); }
TEST_CASE("penalties of activities") { compare<penalized, mean>(); }
TEST_CASE("losses that layers add") { compare<adds_loss, mean>(); }
