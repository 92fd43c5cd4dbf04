// SPDX-License-Identifier: BSD-3-Clause
// Layers in models made of others, beside ten steps of Keras's: a frozen normalization in time_distributed or in a
// layer of one's own, and penalties of layers that are left, or removed.
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>

#include "../golden/ten_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using in_time =
    sc::sequential<input{3, 4}, time_distributed{dense{5, sc::tanh}}, time_distributed{batch_normalization{}}>;
using time_model = sc::sequential<input{3, 4}, sc::frozen<in_time>{}, time_distributed{dense{3}},
                                  time_distributed{batch_normalization{}}, flatten{}, dense{2}>;

/// A normalization inside of a layer of one's own.
struct block : sc::layer<block> {
  static constexpr std::string_view class_name = "Block";
  int units = 1;
  constexpr explicit block(int units_) : units(units_) {}
  constexpr auto call(auto& ops, auto x) const {
    return batch_normalization{{.momentum = 0.9}}.call(ops, dense{units, sc::tanh}.call(ops, x));
  }
};
using block_model = sc::sequential<input{4}, sc::frozen<sc::sequential<input{4}, block{5}>>{}, block{3}, dense{2}>;
struct block_step : sc::training_step<block_step, input{4}, input{2}> {
  sc::trained<block_model, "blocks"> model;
  static constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.mean(square(model(x) - y));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("loss", loss);
  }
};

/// Adds to the loss as activity_regularization does.
struct penalty : sc::layer<penalty> {
  static constexpr std::string_view class_name = "Penalty";
  float l1 = 0;
  constexpr explicit penalty(float l1_) : l1(l1_) {}
  constexpr auto call(auto& ops, auto x) const {
    ops.add_loss(ops.sum(abs(x), -1) * l1);
    return x;
  }
};
struct base : sc::functional<base> {
  static constexpr auto build(auto& model) {
    auto x = model.input(5);
    x = dense(6, sc::tanh, {.activity_regularizer = sc::regularizers::l2{0.1F}, .name = "first"})(x);
    x = penalty(0.05F)(x);
    return dense(3, {.activity_regularizer = sc::regularizers::l2{0.7F}, .name = "removed"})(x);
  }
};
using shortened = sc::sequential<input{5}, sc::without_top<base, 1>{}, dense{2, {.name = "last"}}>;
using frozen_part = sc::sequential<input{5}, sc::frozen<sc::without_top<base, 1>>{}, dense{2, {.name = "last"}}>;

template <class M>
constexpr int penalties() {
  int count = 0;
  for (auto const& call : sc::graph_of<M>.calls) count += call.is_penalty ? 1 : 0;
  return count;
}
static_assert(penalties<base>() == 3);
static_assert(penalties<shortened>() == 2);
static_assert(penalties<sc::layer_output<base, "first">>() == 1, "what the end does not need is gone");
static_assert(penalties<frozen_part>() == 2, "frozen layers are penalized, as in Keras");

inline constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F};
inline constexpr auto training =
    sc::training{.optimizer = optimizer, .loss = sc::losses::mean_squared_error{}, .batch_size = 8};

template <std::size_t Rank, class Trainer>
void check(Trainer& model, std::string const& name) {
  auto const file = golden::read("step_examples.txt");
  golden::check_ten_steps(file, name, model, [&](std::string const& step) {
    return model.train_on_batch(golden::array_of<xt::xtensor<float, Rank>>(file[name + "/x" + step]),
                                golden::array_of<xt::xtensor<float, 2>>(file[name + "/y" + step]));
  });
}

}  // namespace

TEST_CASE("a frozen normalization in time_distributed uses its moving statistics") {
  sc::trainer<time_model, training> model;
  check<3>(model, "time");
  auto const file = golden::read("step_examples.txt");
  auto const before = golden::weights_of<sc::weight_array>(file, "time/before");
  auto const after = model.get_weights();
  for (std::size_t i = 0; i < after.size(); ++i) CHECK((after[i].values == before[i].values) == (i < 6));
}

TEST_CASE("a frozen layer of one's own: the normalization inside of it uses its moving statistics") {
  auto const file = golden::read("step_examples.txt");
  auto const before = golden::weights_of<sc::weight_array>(file, "block/before");
  auto const check_all = [&](auto& model) {
    check<2>(model, "block");
    auto const after = model.get_weights();
    for (std::size_t i = 0; i < after.size(); ++i) CHECK((after[i].values == before[i].values) == (i < 6));
  };
  sc::trainer<block_model, training> model;
  check_all(model);
  sc::step_trainer<block_step, sc::step_options{.batch_size = 8}> step;
  check_all(step);
}

TEST_CASE("layers that are left add to the loss, those that are removed do not") {
  sc::trainer<shortened, training> model;
  check<2>(model, "penalties");
}
