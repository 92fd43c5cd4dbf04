// SPDX-License-Identifier: BSD-3-Clause
// Models with shared layers, branches, operators, slices, inputs that are repeated, and nested models, against real
// Keras.
#include "golden_trainer.hpp"

namespace {

struct shared_model : sc::functional<shared_model> {
  static constexpr auto build(auto& model) {
    auto x = model.input(6);
    dense shared(6, sc::tanh, {.name = "shared"});
    auto first = shared(x);
    auto second = shared(first);
    auto left = dense(4, sc::relu, {.name = "left"})(second);
    auto right = dense(3, sc::sigmoid, {.name = "right"})(first);
    auto joined = concatenate()(left, right);
    auto gate = dense(1, {.name = "gate"})(first);
    auto gated = multiply()(joined, gate);
    auto mixed = 1 - (joined * gate + gated / 4) - joined / (gate * gate + 2);
    auto table = add()(reshape(7, 1)(mixed), joined);
    auto parts = maximum()(table[{sc::all(), sc::slice(1, -1)}] - table[{sc::all(), sc::slice(2, {})}],
                           table[{sc::all(), -1}] * table[{sc::ellipsis(), 3}]);
    return dense(5, {.name = "out"})(flatten()(maximum()(parts, mixed)));
  }
};

struct block : sc::functional<block> {
  static constexpr auto build(auto& model) {
    auto inside = model.input(6);
    auto x = sc::sequential<dense{6, sc::tanh, {.name = "inner_1"}}>{}(inside);
    auto added = add()(inside, dense(6, sc::relu, {.name = "block_dense"})(x));
    auto out = dense(6, sc::tanh, {.name = "block_out"})(added);
    return sc::outputs(out, dense(2, {.name = "block_unused"})(added));
  }
};

using tail = sc::sequential<dense{4, sc::relu, {.name = "tail_1"}}, dense{6, {.name = "tail_2"}}>;

struct nested_model : sc::functional<nested_model> {
  static constexpr auto build(auto& model) {
    block inner;
    auto x = model.input(6);
    auto a = inner(x)[0];
    return dense(5, {.name = "out"})(add()(a, tail{}(inner(a)[0])));
  }
};

/// nested_model as a subclass.
struct nested_subclass : sc::model<nested_subclass> {
  block inner;
  tail end;
  dense out{5, {.name = "out"}};
  add sum;
  constexpr auto call(auto&, auto x) {
    auto a = inner(x)[0];
    return out(sum(a, end(inner(a)[0])));
  }
};

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 4};

template <class M>
void check_model(std::string const& name, bool same_order = true) {
  auto const file = golden::read("functional.txt");
  sc::trainer<M, training> model;
  golden::set_weights(model, file, name + "/initial");
  std::vector<std::string> names;
  for (auto const& weight : model.get_weights()) names.push_back(golden::without_index(weight.name));
  if (same_order) CHECK(names == file.names(name + "/initial/"));
  std::vector<double> losses;
  for (std::size_t step = 0; step < 5; ++step)
    losses.push_back(model.train_on_batch(golden::rows(file[name + "/x"], step * 4, 4),
                                          golden::labels(file[name + "/y"], step * 4, 4))[0]);
  golden::check_steps(model, losses, file, name, name + "/final");
  auto const predicted = model.predict_on_batch(golden::rows(file[name + "/x"], 0, 4));
  double const of_predictions = golden::deviation(predicted.storage(), file[name + "/predict"].values);
  CHECK(of_predictions < golden::weight_tolerance);
}

}  // namespace

template <sc::fixed_name Name>
constexpr int count_of = sc::detail::find_weight<nested_model>(Name).count;
static_assert(count_of<"block_out/kernel"> == 1 && count_of<"model/block_out/kernel:0"> == 1);
static_assert(count_of<"model/sequential/inner_1/bias"> == 1 && count_of<"sequential_1/inner_1/bias"> == 0);
static_assert(count_of<"out/kernel"> == 1 && count_of<"lock_out/kernel"> == 0 && count_of<"kernel"> == 0);

TEST_CASE("a shared layer and branches") { check_model<shared_model>("shared_model"); }
TEST_CASE("nested models") { check_model<nested_model>("nested_model"); }
TEST_CASE("nested models in a subclass") { check_model<sc::build<nested_subclass, input{6}>>("nested_model"); }

TEST_CASE("the weights of a nested model go from one trainer to another") {
  sc::trainer<nested_model, training> from(1);
  sc::trainer<sc::build<nested_subclass, input{6}>, training> to(2);
  auto const block_weights = from.get_weights<"model">();
  CHECK(block_weights.size() == 8);
  CHECK(block_weights[2].values == from.get_weights()[2].values);
  CHECK(to.get_weights<"model">() != block_weights);
  to.set_weights<"model">(from.get_weights<"model">());
  CHECK(to.get_weights<"model">() == block_weights);
  to.set_weights<"out">(from.get_weights<"out">());
  CHECK(to.get_weights<"out">() == from.get_weights<"out">());
  CHECK_THROWS_AS(to.set_weights<"out">(block_weights), sc::data_error);
}
static_assert(sc::detail::part_name_problem<nested_model, "nobody">.code == 1067);
