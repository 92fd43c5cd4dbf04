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

/// An epoch has three steps, and every fourth one moves an average: in some epochs none does.
struct counting_step : sc::training_step<counting_step, input{3}> {
  sc::trained<net, "net"> model;
  sc::trained<net, "slow"> slow;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};

  constexpr void train(auto& step, auto x) const {
    auto const loss = step.mean(square(model(x + 0.1F * step.normal({step.batch(), 3})) - 1));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("loss", loss);
    step.every(4, [&] {
      step.metric("distance", step.mean(square(slow(x) - model(x))));
      step.average(weights_of(slow), weights_of(model), 0.5F);
    });
  }
};
using trainer = sc::step_trainer<counting_step, sc::step_options{.batch_size = 4}>;

struct other_step : sc::training_step<other_step, input{3}> {
  sc::trained<sc::sequential<input{3}, dense{1}>, "net"> model;
  constexpr void train(auto& step, auto x) const {
    step.minimize(sc::optimizers::sgd{}, step.mean(square(model(x))), weights_of(model));
  }
};

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
  CHECK(again.progress().steps == 3);  // the second step from here on is a fourth one
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
  trainer whole(3), again(7);
  sc::callbacks::model_checkpoint each(whole, folder / "epoch_{epoch}");
  sc::callbacks::model_checkpoint weights(whole, folder / "w.safetensors", {.save_weights_only = true});
  auto const history = whole.fit(x, {.epochs = 4, .verbose = 0, .callbacks = {&each, &weights}});
  again.load(folder / "epoch_3");
  // The ninth step was a fourth one, and no step of the last epoch is, so that the value stays.
  CHECK(history.at("distance")[3] == history.at("distance")[2]);
  auto const rest = again.fit(x, {.epochs = 4, .verbose = 0, .initial_epoch = 3});
  CHECK(rest.at("distance")[0] == history.at("distance")[3]);
  CHECK(rest.at("distance")[0] > 0);
  CHECK(again.get_weights() == whole.get_weights());

  trainer loaded(9);
  CHECK(loaded.load_weights(folder / "w.safetensors").count == 8);
  CHECK(loaded.get_weights() == whole.get_weights());
  CHECK(loaded.get_weights()[7].name == "slow/dense_1/bias:0");
  sc::step_trainer<other_step, sc::step_options{.batch_size = 4}> other;
  auto const before = other.get_weights();
  CHECK(contains(error_of([&] { other.load(folder / "epoch_1"); }), "[E5032]"));
  CHECK(contains(error_of([&] { other.load(folder / "none"); }), "[E5"));
  CHECK(other.get_weights() == before);
}
