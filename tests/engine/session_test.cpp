// SPDX-License-Identifier: BSD-3-Clause
#include "../session_steps.hpp"
#include "session_data.hpp"

#include <algorithm>
#include <array>

namespace {

template <auto Options>
using perceptron =
    sc::sequential<input{9}, dense{33, sc::relu, Options}, dense{7, sc::gelu, Options}, dense{3, Options}>;
using plain = perceptron<sc::layers::dense_options{}>;
// So small that it changes no bit of a gradient, but the update must wait for it.
using penalized = perceptron<sc::layers::dense_options{.kernel_regularizer = sc::regularizers::l2{1e-30F}}>;

template <auto Optimizer, int Batch = 6>
inline constexpr auto training = sc::training{.optimizer = Optimizer, .batch_size = Batch};

template <class M, auto Training>
using session = session_steps<M, Training, sc::host<>>;

template <auto Optimizer>
void check_fused() {
  using fused = session<plain, training<Optimizer>>;
  using separate = session<penalized, training<Optimizer>>;
  static_assert(fused::first_plan::fuses_update(1, 0) && !separate::first_plan::fuses_update(1, 0));
  fused a(3);
  separate b(3);
  CHECK(data::weights(a) == data::weights(b));
  for (int k = 0; k < 5; ++k) {
    data::step(a, 6 * k);
    data::step(b, 6 * k);
  }
  CAPTURE(Optimizer.name);
  CHECK(data::deviation(data::weights(a), data::weights(b)) < 1e-6);
}

using with_dropout = sc::sequential<input{9}, dense{33, sc::relu}, dropout{0.5F}, dense{3}>;
/// Shows the mask of its dropout, whose call has the number of a weight.
struct shows_mask : sc::functional<shows_mask> {
  static constexpr auto build(auto& model) {
    auto x = model.input(64);
    auto const dropped = dropout{0.5F}(x);
    return std::array{dropped, dense{64}(dense{4}(dropped))};
  }
};
using without_dropout = sc::sequential<input{9}, dense{33, sc::relu}, dense{3}>;

}  // namespace

TEST_CASE("an update fused into the product is the update after it") {
  check_fused<sc::optimizers::sgd{}>();
  check_fused<sc::optimizers::sgd{.momentum = 0.9F, .nesterov = true}>();
  check_fused<sc::optimizers::rmsprop{.momentum = 0.5F, .centered = true}>();
  check_fused<sc::optimizers::adam{.amsgrad = true}>();
}

TEST_CASE("a partial batch is a smaller batch") {
  static constexpr auto optimizer = sc::optimizers::adam{};
  session<plain, training<optimizer, 16>> large(3);
  session<plain, training<optimizer, 5>> small(3);
  for (int k = 0; k < 4; ++k) {
    data::step(large, 5 * k, 5);
    data::step(small, 5 * k);
    CHECK(std::abs(large.total_loss() - small.total_loss()) < 1e-6F);
  }
  CHECK(data::deviation(data::weights(large), data::weights(small)) < 1e-6);
}

TEST_CASE("evaluation drops nothing, training does, with another mask in each step") {
  static constexpr auto still = training<sc::optimizers::sgd{.learning_rate = 0}>;
  session<with_dropout, still> s(3);
  session<without_dropout, still> reference(3);
  data::fill(s, 0);
  data::fill(reference, 0);
  s.test_step();
  reference.test_step();
  CHECK(s.total_loss() == reference.total_loss());
  float losses[3];
  for (float& loss : losses) {
    data::step(s, 0);
    loss = s.total_loss();
    CHECK(loss != reference.total_loss());
  }
  CHECK(losses[0] != losses[1]);
  CHECK(losses[1] != losses[2]);
  data::fill(s, 0);
  s.predict_step();
  data::fill(reference, 0);
  reference.predict_step();
  for (int i = 0; i < 6 * 3; ++i) CHECK(s.prediction(0)[i] == reference.prediction(0)[i]);
}

TEST_CASE("the first mask of dropout has nothing to do with the weights' first values") {
  static constexpr auto description = sc::training{.batch_size = 1};
  session<shows_mask, description> s(3);
  std::fill_n(s.input(0), 64, 1.0F);
  std::vector<bool> kept(64);
  std::vector<float> const before = data::weights(s);
  s.train_step([&] {
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = s.prediction(0)[i] != 0;
  });
  // Both kernels are uniform around 0: from the same numbers, signs would be the mask.
  for (std::size_t const first : {std::size_t{0}, std::size_t{64 * 4 + 4}}) {
    int same = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) same += kept[i] == (before[first + i] > 0) ? 1 : 0;
    CHECK(same > 16);
    CHECK(same < 48);
  }
}

TEST_CASE("the same seed gives the same bits, another one others") {
  static constexpr auto by_adam = training<sc::optimizers::adam{}>;
  auto const train = [](std::uint64_t seed) {
    session<with_dropout, by_adam> s(seed);
    for (int k = 0; k < 5; ++k) data::step(s, 6 * k);
    return data::weights(s);
  };
  CHECK(train(1) == train(1));
  CHECK(train(1) != train(2));
}

TEST_CASE("a loss before the step is that of evaluation, with penalties") {
  using regularized = perceptron<sc::layers::dense_options{.kernel_regularizer = sc::regularizers::l2{0.1F},
                                                           .bias_regularizer = sc::regularizers::l1{0.1F}}>;
  session<regularized, training<sc::optimizers::sgd{}>> s(3);
  data::fill(s, 0);
  s.test_step();
  float const loss = s.total_loss();
  CHECK(loss > s.loss(0));
  data::step(s, 0);
  CHECK(s.total_loss() == loss);
}
