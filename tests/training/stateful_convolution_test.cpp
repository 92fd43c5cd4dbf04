// SPDX-License-Identifier: BSD-3-Clause
// Training with convolutions that keep steps: the gradients are those of the same layers on what was kept and the
// batch, and stop there; on the host and on tiles.
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include "../laws/policies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

constexpr auto training = sc::training{
    .optimizer = sc::optimizers::sgd{.learning_rate = 0.1F}, .loss = sc::losses::mean_squared_error{}, .batch_size = 2};
constexpr int steps = 3, kept = 4;
constexpr auto causal = sc::padding::causal;

/// Of (steps, 2), which follow what was kept, and the same of (kept + steps, 2).
using stateful =
    sc::sequential<input{steps, 2}.of_batch_size(2),
                   conv1d{3, 3, sc::tanh, {.padding = causal, .dilation_rate = 2, .stateful = true, .name = "first"}},
                   dense{2}>;
using whole =
    sc::sequential<input{kept + steps, 2}, conv1d{3, 3, sc::tanh, {.dilation_rate = 2, .name = "first"}}, dense{2}>;
using stateful_separable =
    sc::sequential<input{steps, 2}.of_batch_size(2),
                   separable_conv1d{3, 3, {.padding = causal, .dilation_rate = 2, .stateful = true, .name = "first"}},
                   dense{2}>;
using whole_separable =
    sc::sequential<input{kept + steps, 2}, separable_conv1d{3, 3, {.dilation_rate = 2, .name = "first"}}, dense{2}>;

template <class Stateful, class Whole, class Machine>
void check_training() {
  sc::trainer<Stateful, training, Machine> model(3);
  sc::trainer<Whole, training, sc::host<>> expected;
  expected.set_weights(model.get_weights());
  constexpr int batches = 4, all = batches * steps;
  xt::xtensor<float, 3> x = xt::zeros<float>({2, kept + all, 2}), y = xt::zeros<float>({2, all, 2});
  unsigned state = 3;
  auto const next = [&] {
    return static_cast<float>((state = state * 1664525U + 1013904223U) >> 8U) / 8388608.0F - 1.0F;
  };
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t t = 0; t < all; ++t)
      for (std::size_t c = 0; c < 2; ++c) {
        x(b, kept + t, c) = next();
        y(b, t, c) = next();
      }
  for (int i = 0; i < batches; ++i) {
    int const first = i * steps;
    xt::xtensor<float, 3> const own = xt::view(x, xt::all(), xt::range(kept + first, kept + first + steps), xt::all()),
                                with = xt::view(x, xt::all(), xt::range(first, kept + first + steps), xt::all()),
                                target = xt::view(y, xt::all(), xt::range(first, first + steps), xt::all());
    auto const loss = model.train_on_batch(own, target), other = expected.train_on_batch(with, target);
    CHECK(std::abs(loss[0] - other[0]) < 1e-5);
    auto const states = model.template get_states<"first">();
    xt::xtensor<float, 3> const last =
        xt::view(x, xt::all(), xt::range(first + steps, kept + first + steps), xt::all());
    CHECK(states.at(0).values == std::vector<float>(last.begin(), last.end()));
  }
  auto const found = model.get_weights(), wanted = expected.get_weights();
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t k = 0; k < found[i].values.size(); ++k)
      CHECK(std::abs(found[i].values[k] - wanted[i].values[k]) < 1e-5F);
}

}  // namespace

TEST_CASE("the host") {
  check_training<stateful, whole, sc::host<>>();
  check_training<stateful_separable, whole_separable, sc::host<2>>();
}
TEST_CASE("tiles") {
  check_training<stateful, whole, laws::tiles>();
  check_training<stateful_separable, whole_separable, laws::tiles>();
}
