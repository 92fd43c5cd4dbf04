// SPDX-License-Identifier: BSD-3-Clause
// train_on_batch of models whose weights are updated from several batches: the bits of `fit`, with stages and with
// replicas; no allocation is asked for in tests/allocation/.
#include <stagecraft/pipeline.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{5}, dense{8, sc::tanh}, dropout{0.25F}, dense{2}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
inline constexpr auto in_stages = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.05F},
                                               .loss = sc::losses::mean_squared_error{},
                                               .batch_size = 3,
                                               .steps_per_execution = 8,
                                               .pipeline = {.gradient_accumulation_steps_per_replica = 8}};
inline constexpr auto in_replicas = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.05F},
                                                 .loss = sc::losses::mean_squared_error{},
                                                 .metrics = sc::metrics::mean_absolute_error{},
                                                 .batch_size = 8,
                                                 .num_replicas = 3};

template <class Trainer>
void check(char const* wrong) {
  xt::xtensor<float, 2> x = xt::zeros<float>({48, 5}), y = xt::zeros<float>({48, 2});
  float number = 0.1F;
  for (auto* const each : {&x, &y})
    for (float& value : *each) value = number = number * 3.7F * (1 - number);
  Trainer model, expected;
  auto const before = model.get_weights();
  auto const history = expected.fit(x, y, {.epochs = 1, .verbose = 0, .shuffle = false});
  auto const half = [&](auto const& of, int i) { return xt::eval(xt::view(of, xt::range(24 * i, 24 * i + 24))); };
  double loss = 0;
  for (int i = 0; i < 2; ++i) loss += model.train_on_batch(half(x, i), half(y, i))[0] / 2;
  CHECK(model.get_weights() == expected.get_weights());
  CHECK_FALSE(model.get_weights() == before);
  CHECK(loss == doctest::Approx(history.at("loss")[0]).epsilon(1e-6));
  CHECK_THROWS_WITH_AS(model.train_on_batch(x, y), doctest::Contains(wrong), sc::data_error);
}

}  // namespace

TEST_CASE("with stages it takes all micro-batches of a weight update") {
  check<sc::trainer<two_stages, in_stages, sc::host<>>>(
      "expected 24 samples, a batch of 3 for each of 1 replicas and 8 micro-batches, found 48");
}

TEST_CASE("with replicas it takes a batch for each of them") {
  check<sc::trainer<mlp, in_replicas, sc::host<1>>>("a batch of 8 for each of 3 replicas and 1 micro-batches");
}
