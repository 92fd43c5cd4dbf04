// SPDX-License-Identifier: BSD-3-Clause
// Layers in models made of others, beside ten steps of Keras's: a frozen normalization in time_distributed, and
// penalties of layers that are left, or removed.
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/stagecraft.hpp>
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

TEST_CASE("layers that are left add to the loss, those that are removed do not") {
  sc::trainer<shortened, training> model;
  check<2>(model, "penalties");
}
