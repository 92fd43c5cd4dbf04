// SPDX-License-Identifier: BSD-3-Clause
// Callbacks that save: names from patterns, the best epochs, batches; a training that is killed goes on.
#include <stagecraft/io/backup_and_restore.hpp>
#include <stagecraft/io/model_checkpoint.hpp>
#include <stagecraft/training/trainer.hpp>

#include <stagecraft/datasets/digits.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/training/callbacks/lambda_callback.hpp>
#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "../each_locale.hpp"
#include "scratch_folder.hpp"

namespace sc = stagecraft;
namespace fs = std::filesystem;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using tests::contains;
using tests::error_of;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{8, sc::relu}, dropout{0.2F}, dense{10}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 16};
using trainer = sc::trainer<mlp, training>;
inline constexpr auto asynchronous =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 16,
                 .steps_per_execution = 4,
                 .asynchronous_callbacks = true};

auto const& digits() {
  static auto const data = sc::datasets::digits({.train = 128, .test = 16});
  return data;
}

struct scratch : tests::scratch_folder {
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (auto const& entry : fs::directory_iterator(path)) result.push_back(entry.path().filename());
    std::sort(result.begin(), result.end());
    return result;
  }
};

/// Sets a value of the logs after each epoch, as if it had been measured.
struct measured : sc::callback {
  std::vector<double> values;
  explicit measured(std::vector<double> list) : values(std::move(list)) {}
  void on_epoch_end(int epoch, sc::logs& logs) override { logs["score"] = values[static_cast<std::size_t>(epoch)]; }
};

}  // namespace

TEST_CASE("names of files hold numbers in Python's formats") {
  sc::logs const values{{"loss", 0.12345}, {"val_loss", 2}};
  auto const path = [&](char const* pattern) { return sc::io::path_of_pattern(pattern, 3, 7, values); };
  CHECK(path("w") == "w");
  CHECK(path("w_{epoch:03d}_{batch}_{loss:.2f}_{val_loss}") == "w_003_7_0.12_2");
  CHECK(path("{{{epoch}}}") == "{3}");
  CHECK(path("{loss:e}") == "1.234500e-01");
  CHECK(contains(error_of([&] { (void)path("{accuracy}"); }),
                 "{accuracy}: there is no 'accuracy'; there are: epoch, batch, loss, val_loss [E5034]"));
  for (char const* const wrong : {"{epoch", "{loss:d}", "{loss:.2x}", "{loss:s}", "{loss:1000f}", "{loss:%n}"})
    CHECK(contains(error_of([&] { (void)path(wrong); }), "[E5034]"));
}

TEST_CASE("a checkpoint is saved after each epoch, where it is the best, or after so many batches") {
  scratch const folder;
  auto const& data = digits().train;
  trainer model;
  std::string said;
  auto say = [&](std::string_view text) { said += text; };
  measured scores({3, 2, 4, 1});
  sc::callbacks::model_checkpoint best(
      model, folder / "best_{epoch}_{score:.1f}.safetensors",
      {.monitor = "score", .verbose = 1, .save_best_only = true, .save_weights_only = true, .output = say});
  sc::callbacks::model_checkpoint each(model, folder / "each");
  sc::callbacks::model_checkpoint often(model, folder / "batch_{epoch}_{batch}.npz",
                                        {.save_weights_only = true, .save_freq = 5});
  model.fit(data.x, data.y, {.epochs = 4, .verbose = 0, .callbacks = {&scores, &best, &each, &often}});
  CHECK(folder.names() == std::vector<std::string>{"batch_1_5.npz", "batch_2_2.npz", "batch_2_7.npz", "batch_3_4.npz",
                                                   "batch_4_1.npz", "batch_4_6.npz", "best_1_3.0.safetensors",
                                                   "best_2_2.0.safetensors", "best_4_1.0.safetensors", "each"});
  CHECK(best.best() == 1);
  CHECK(best.last_path() == folder / "best_4_1.0.safetensors");
  CHECK(contains(said, "\nEpoch 00002: score improved from 3.00000 to 2.00000, saving model to "));
  CHECK(contains(said, "\nEpoch 00003: score did not improve from 2.00000\n"));

  trainer again(7);
  again.load(folder / "each");
  CHECK(again.get_weights() == model.get_weights());
  CHECK(again.progress().epochs == 4);

  sc::callbacks::model_checkpoint unknown(model, folder / "x", {.monitor = "auc", .save_best_only = true});
  CHECK(contains(error_of([&] { model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&unknown}}); }), "[E4012]"));
}

TEST_CASE("with steps_per_execution, the batches of all executions count, those of the first one as well") {
  scratch const folder;
  trainer model;
  // The hooks as `fit` calls them: an execution's last batch alone.
  auto const saved = [&](int save_freq, int execution, int batches, int epochs) {
    sc::callbacks::model_checkpoint saver(model, folder / "w_{epoch}_{batch}.npz",
                                          {.save_weights_only = true, .save_freq = save_freq});
    saver.set_model(model);
    sc::logs none;
    std::string names;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      saver.on_epoch_begin(epoch, none);
      for (int last = execution - 1; last < batches; last += execution) {
        auto const before = saver.last_path();
        saver.on_train_batch_end(last, none);
        if (saver.last_path() != before) names += fs::path(saver.last_path()).stem().string().substr(1) + " ";
      }
    }
    return names;
  };
  CHECK(saved(4, 4, 16, 1) == "_1_4 _1_8 _1_12 _1_16 ");
  CHECK(saved(4, 4, 4, 3) == "_1_4 _2_4 _3_4 ");
  CHECK(saved(6, 4, 8, 3) == "_1_8 _2_8 _3_8 ");
  CHECK(saved(3, 1, 4, 2) == "_1_3 _2_2 ");
}

TEST_CASE("names of files have points in every locale") {
  sc::logs const values{{"loss", -1.625}, {"val_loss", 2e9}, {"bad", std::numeric_limits<double>::quiet_NaN()}};
  tests::for_each_locale([&](char const* which) {
    CAPTURE(which);
    CHECK(sc::io::path_of_pattern("n_{loss:.2f}_{val_loss}_{loss:08.3f}_{loss:9.1e}_{loss:.0f}_{val_loss:d}_{bad:05f}",
                                  0, 0, values) == "n_-1.62_2e+09_-001.625_ -1.6e+00_-2_2000000000_  nan");
    CHECK(sc::diagnostics::decimal_of(0.1F) == 0.1);
    scratch const folder;
    trainer model, again(7);
    model.save(folder / "bundle");  // a description in JSON, with the numbers of the optimizer
    again.load(folder / "bundle");
    CHECK(again.get_weights() == model.get_weights());
  });
}

TEST_CASE("with asynchronous callbacks, a checkpoint of each epoch goes on with the same bits") {
  scratch const folder;
  auto const& data = digits().train;
  sc::trainer<mlp, asynchronous> whole(3), again(7);
  sc::callbacks::model_checkpoint each(whole, folder / "epoch_{epoch}");
  whole.fit(data.x, data.y, {.epochs = 3, .verbose = 0, .callbacks = {&each}});
  CHECK(folder.names() == std::vector<std::string>{"epoch_1", "epoch_2", "epoch_3"});
  again.load(folder / "epoch_1");
  again.fit(data.x, data.y, {.epochs = 3, .verbose = 0, .initial_epoch = 1});
  CHECK(again.get_weights() == whole.get_weights());
  CHECK(again.progress() == whole.progress());
}

TEST_CASE("a training that is killed goes on from its backup") {
  scratch const folder;
  auto const& data = digits().train;
  trainer whole(3);
  whole.fit(data.x, data.y, {.epochs = 4, .verbose = 0});
  {
    trainer killed(3);
    sc::callbacks::backup_and_restore backup(killed, folder / "backup");
    CHECK(backup.initial_epoch() == 0);
    struct kill : sc::callback {
      void on_train_batch_end(int batch, sc::logs&) override {
        if (++steps == 20 && batch > 0) throw 9;
      }
      int steps = 0;
    } kill;
    CHECK_THROWS_AS(killed.fit(data.x, data.y, {.epochs = 4, .verbose = 0, .callbacks = {&backup, &kill}}), int);
  }
  CHECK(folder.names() == std::vector<std::string>{"backup"});
  // A process that was killed while it saved leaves a half-written folder.
  std::filesystem::create_directories(folder / "backup.saving-999999999");
  trainer again(4);
  sc::callbacks::backup_and_restore backup(again, folder / "backup");
  CHECK(backup.initial_epoch() == 2);
  again.fit(data.x, data.y,
            {.epochs = 4, .verbose = 0, .callbacks = {&backup}, .initial_epoch = backup.initial_epoch()});
  CHECK(again.get_weights() == whole.get_weights());
  CHECK(folder.names().empty());
}
