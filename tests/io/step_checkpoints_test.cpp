// SPDX-License-Identifier: BSD-3-Clause
// Training steps of one's own in files: a training that is killed goes on with the same bits.
#include <stagecraft/io/backup_and_restore.hpp>
#include <stagecraft/io/model_checkpoint.hpp>
#include <stagecraft/io/step_bundle.hpp>
#include <stagecraft/steps.hpp>
#include <doctest/doctest.h>

#include "scratch_folder.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using tests::contains;
using tests::error_of;

using net = sc::sequential<input{3}, dense{4, sc::tanh}, dropout{0.25F}, dense{1}>;

/// Three steps of an epoch, and every second one counts: epochs begin in turns with and without.
template <int Every>
struct counting_step : sc::training_step<counting_step<Every>, input{3}> {
  sc::trained<net, "net"> model;
  sc::trained<net, "slow"> slow;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};

  constexpr void train(auto& step, auto x) const {
    auto const loss = step.mean(square(model(x + 0.1F * step.normal({step.batch(), 3})) - 1));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("loss", loss);
    step.every(Every, [&] {
      step.metric("distance", step.mean(square(slow(x) - model(x))));
      step.average(weights_of(slow), weights_of(model), 0.5F);
    });
  }
};
using trainer = sc::step_trainer<counting_step<2>, sc::step_options{.batch_size = 4}>;

xt::xtensor<float, 2> numbers() {
  xt::xtensor<float, 2> result = xt::zeros<float>({12, 3});
  float number = 0.1F;
  for (float& x : result) x = number = number * 3.7F * (1 - number);
  return result;
}
/// Ends the training after an epoch, as a killed program does.
struct kill_after : sc::callback {
  int last;
  explicit kill_after(int epoch) : last(epoch) {}
  void on_epoch_begin(int epoch, sc::logs&) override {
    if (epoch == last) throw 1;
  }
};

}  // namespace

TEST_CASE("a step's training that is killed goes on from its backup, with the counter of step.every") {
  tests::scratch_folder const folder;
  auto const x = numbers();
  trainer whole(3);
  auto const history = whole.fit(x, {.epochs = 4, .verbose = 0});
  {
    trainer killed(3);
    sc::callbacks::backup_and_restore backup(killed, folder / "backup");
    CHECK(backup.initial_epoch() == 0);
    kill_after kill(1);
    CHECK_THROWS(killed.fit(x, {.epochs = 4, .verbose = 0, .callbacks = {&backup, &kill}}));
    CHECK_FALSE(killed.get_weights() == whole.get_weights());
  }
  trainer again(7);
  sc::callbacks::backup_and_restore backup(again, folder / "backup");
  CHECK(backup.initial_epoch() == 1);
  CHECK(again.progress().steps == 3);  // the next step is no second one
  auto const rest =
      again.fit(x, {.epochs = 4, .verbose = 0, .callbacks = {&backup}, .initial_epoch = backup.initial_epoch()});
  CHECK(again.get_weights() == whole.get_weights());
  CHECK(again.get_optimizer_weights() == whole.get_optimizer_weights());
  REQUIRE(rest.at("distance").size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(rest.at("distance")[i] == history.at("distance")[i + 1]);
    CHECK(rest.at("loss")[i] == history.at("loss")[i + 1]);
  }
}

TEST_CASE("a value of every n-th step, checkpoints, weights in files, and what does not fit") {
  tests::scratch_folder const folder;
  auto const x = numbers();
  using rare_trainer = sc::step_trainer<counting_step<7>, sc::step_options{.batch_size = 4}>;
  rare_trainer whole(3), again(7);
  sc::callbacks::model_checkpoint each(whole, folder / "epoch_{epoch}");
  sc::callbacks::model_checkpoint weights(whole, folder / "w.safetensors", {.save_weights_only = true});
  auto const history = whole.fit(x, {.epochs = 2, .verbose = 0, .callbacks = {&each, &weights}});
  again.load(folder / "epoch_1");
  // The steps of this epoch report no distance: the last one stays.
  auto const rest = again.fit(x, {.epochs = 2, .verbose = 0, .initial_epoch = 1});
  CHECK(rest.at("distance")[0] == history.at("distance")[1]);
  CHECK(rest.at("distance")[0] > 0);
  CHECK(again.get_weights() == whole.get_weights());

  trainer other(9);
  CHECK(other.load_weights(folder / "w.safetensors").count == 8);
  CHECK(other.get_weights() == whole.get_weights());
  CHECK(other.get_weights()[7].name == "slow/dense_1/bias:0");
  auto const message = error_of([&] { other.load(folder / "epoch_1"); });
  CHECK(contains(message, "[E5032]"));
  CHECK(contains(message, "every"));
  CHECK(contains(error_of([&] { other.load(folder / "none"); }), "[E5"));
}
