// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/io/tensor_board.hpp>
#include <stagecraft/training/callbacks/callback_list.hpp>
#include <stagecraft/training/callbacks/callback_pointers.hpp>
#include <stagecraft/training/callbacks/callbacks.hpp>
#include <stagecraft/training/callbacks/history.hpp>

#include <doctest/doctest.h>

#include "../../each_locale.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace sc = stagecraft;

namespace {

/// A model with one weight that counts epochs.
struct counting_model final : sc::trainers::trainable {
  float rate = 0.001f;
  float weight = 0;

  std::string_view name() const override { return "counting_model"; }
  float learning_rate() const override { return rate; }
  void set_learning_rate(float value) override { rate = value; }
  std::vector<sc::weight_array> get_weights() const override { return {{"w:0", {1}, {weight}}}; }
  void set_weights(std::vector<sc::weight_array> const& weights) override { weight = weights[0].values[0]; }
  void reset_states() override {}
};

/// Runs `fit` without any training: epoch e reports the e-th entry.
int run(counting_model& model, sc::callback& tested, std::vector<sc::logs> const& epochs, bool validation = true) {
  sc::trainers::callback_list list({&tested});
  model.stop_training = false;
  list.set_params({.verbose = 1, .epochs = static_cast<int>(epochs.size()), .steps = 1, .validation = validation});
  list.set_model(model);
  sc::logs none;
  list.on_train_begin(none);
  int epoch = 0;
  for (sc::logs values : epochs) {
    list.on_epoch_begin(epoch, none);
    model.weight = static_cast<float>(epoch + 1);
    list.on_epoch_end(epoch++, values);
    if (model.stop_training) break;
  }
  list.on_train_end(none);
  return epoch;
}

std::vector<sc::logs> series(char const* name, std::vector<double> const& values) {
  std::vector<sc::logs> list;
  for (double const value : values) list.push_back({{name, value}});
  return list;
}

std::string file_text(std::string const& path) {
  std::string text;
  std::FILE* const f = std::fopen(path.c_str(), "rb");
  REQUIRE(f != nullptr);
  for (int c = std::fgetc(f); c != EOF; c = std::fgetc(f)) text += static_cast<char>(c);
  std::fclose(f);
  return text;
}

struct recorder : sc::callback {
  std::string text;
  void on_train_begin(sc::logs&) override { text += "train("; }
  void on_train_end(sc::logs&) override { text += ")"; }
  void on_epoch_begin(int epoch, sc::logs&) override { text += "epoch" + std::to_string(epoch) + "("; }
  void on_epoch_end(int, sc::logs&) override { text += ")"; }
  void on_batch_begin(int batch, sc::logs&) override { text += "b" + std::to_string(batch); }
  void on_batch_end(int batch, sc::logs&) override { text += "e" + std::to_string(batch); }
  void on_test_begin(sc::logs&) override { text += "test("; }
  void on_test_end(sc::logs&) override { text += ")"; }
  void on_test_batch_begin(int batch, sc::logs&) override { text += "b" + std::to_string(batch); }
  void on_test_batch_end(int batch, sc::logs&) override { text += "e" + std::to_string(batch); }
  void on_predict_begin(sc::logs&) override { text += "predict("; }
  void on_predict_end(sc::logs&) override { text += ")"; }
  void on_predict_batch_begin(int batch, sc::logs&) override { text += "b" + std::to_string(batch); }
  void on_predict_batch_end(int batch, sc::logs&) override { text += "e" + std::to_string(batch); }
};

/// Calls every hook once, in the order of a run.
void call_all(sc::trainers::callback_list& list) {
  sc::logs none;
  list.on_train_begin(none);
  list.on_epoch_begin(0, none);
  list.on_train_batch_begin(1, none);
  list.on_train_batch_end(2, none);
  list.on_test_begin(none);
  list.on_test_batch_begin(3, none);
  list.on_test_batch_end(4, none);
  list.on_test_end(none);
  list.on_epoch_end(0, none);
  list.on_train_end(none);
  list.on_predict_begin(none);
  list.on_predict_batch_begin(5, none);
  list.on_predict_batch_end(6, none);
  list.on_predict_end(none);
}

struct piece {
  int backspaces;
  char const* text;
};
struct session_case {
  int verbose, epochs;
  std::vector<piece> expected;
};

#include "../../golden/progbar_logger.inc"

}  // namespace

TEST_CASE("logs keep their order and name what is missing") {
  sc::logs values{{"loss", 0.5}, {"accuracy", 0.75}};
  values["lr"] = 0.1;
  values["loss"] = 0.25;
  CHECK(values.size() == 3);
  CHECK(values.names() == "loss, accuracy, lr");
  CHECK(values.at("loss") == 0.25);
  values.value(1) = 1;
  CHECK(values.at("accuracy") == 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(values.at("acc")),
                       "logs: no value is named 'acc'; there are: loss, accuracy, lr [E4013]", sc::data_error);
}

TEST_CASE("every hook reaches every callback, batch hooks under both names") {
  recorder first, second;
  sc::trainers::callback_list list({&first});
  list.append(second);
  call_all(list);
  CHECK(first.text == "train(epoch0(b1e2test(b3e4)))predict(b5e6)");
  CHECK(second.text == first.text);
}

TEST_CASE("lambda_callback calls what it was given") {
  std::string text;
  auto const plain = [&](char const* name) { return [&text, name](sc::logs&) { text += name; }; };
  auto const numbered = [&](char const* name) {
    return [&text, name](int number, sc::logs&) { text += name + std::to_string(number); };
  };
  sc::callbacks::lambda_callback all({.on_epoch_begin = numbered("epoch"),
                                      .on_epoch_end = numbered(")"),
                                      .on_train_batch_begin = numbered("t"),
                                      .on_train_batch_end = numbered("t"),
                                      .on_batch_begin = numbered("b"),
                                      .on_batch_end = numbered("e"),
                                      .on_train_begin = plain("train("),
                                      .on_train_end = plain(")"),
                                      .on_test_begin = plain("test("),
                                      .on_test_end = plain(")"),
                                      .on_test_batch_begin = numbered("b"),
                                      .on_test_batch_end = numbered("e"),
                                      .on_predict_begin = plain("predict("),
                                      .on_predict_end = plain(")"),
                                      .on_predict_batch_begin = numbered("b"),
                                      .on_predict_batch_end = numbered("e")});
  sc::trainers::callback_list list({&all});
  call_all(list);
  CHECK(text == "train(epoch0t1b1t2e2test(b3e4))0)predict(b5e6)");
  sc::callbacks::lambda_callback nothing({.on_epoch_end = [](int, sc::logs& values) { values["x"] = 1; }});
  sc::trainers::callback_list other({&nothing});
  call_all(other);
}

TEST_CASE("members that look like hooks and are none are found where callbacks are given") {
  struct right : sc::callback {
    void on_test_batch_end(int, sc::logs&) override {}
    void on_message(int) {}  // no hook, and not meant as one
  };
// The very mistake, of which compilers may warn.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
  struct other_parameters : sc::callback {
    void on_train_batch_end(int) {}
  };
  struct by_value : sc::callback {
    void on_train_end(sc::logs) {}
  };
#pragma GCC diagnostic pop
  struct misnamed : sc::callback {
    void on_validation_end(sc::logs&) {}
  };
  class hidden : public sc::callback {
    void on_epoch_end(int, sc::logs&) override {}
  };
  using sc::detail::hook_problem;
  static_assert(!hook_problem<right>.failed() && !hook_problem<hidden>.failed() &&
                !hook_problem<sc::callback>.failed());
  static_assert(!hook_problem<sc::callbacks::lambda_callback>.failed() &&
                !hook_problem<sc::callbacks::csv_logger>.failed());
  static_assert(hook_problem<other_parameters>.failed() && hook_problem<by_value>.failed());
  static_assert(hook_problem<misnamed>.failed());
  right one;
  hidden other;
  sc::callback* const known = &one;
  CHECK(sc::trainers::callback_pointers{&one, &other, known}.size() == 3);
  CHECK(sc::trainers::callback_pointers{std::vector<sc::callback*>{known}}.size() == 1);
}

TEST_CASE("the history has one series per name") {
  counting_model model;
  sc::trainers::training_history history;
  run(model, history, {{{"loss", 1}}, {{"loss", 0.5}, {"val_loss", 2}}});
  CHECK(history.epoch == std::vector<int>{0, 1});
  CHECK(history.history["loss"] == std::vector<double>{1, 0.5});
  CHECK(history.at("val_loss") == std::vector<double>{2});
  CHECK(history.history.size() == 2);
  CHECK_FALSE(history.history.contains("accuracy"));
  CHECK_THROWS_WITH_AS(static_cast<void>(history.at("accuracy")),
                       "history: nothing is named 'accuracy'; there are: loss, val_loss [E4013]", sc::data_error);
}

TEST_CASE("early_stopping waits for `patience` epochs without improvement") {
  counting_model model;
  std::string text;
  auto sink = [&](std::string_view part) { text += part; };

  SUBCASE("the default stops at the first epoch that is not better") {
    sc::callbacks::early_stopping stop;
    CHECK(run(model, stop, series("val_loss", {3, 2, 1, 1, 0})) == 4);
    CHECK(stop.stopped_epoch() == 3);
    CHECK(stop.best_epoch() == 2);
    CHECK(run(model, stop, series("val_loss", {3, 2, 1})) == 3);
    CHECK(stop.stopped_epoch() == -1);
  }
  SUBCASE("a stop after the first epoch is silent") {
    sc::callbacks::early_stopping stop({.monitor = "loss", .verbose = 1, .baseline = 0, .output = sink});
    CHECK(run(model, stop, series("loss", {3, 2, 1})) == 1);
    CHECK(stop.stopped_epoch() == 0);
    CHECK(text.empty());
  }
  SUBCASE("best weights are put back, and it says so") {
    sc::callbacks::early_stopping stop(
        {.monitor = "val_accuracy", .patience = 2, .verbose = 1, .restore_best_weights = true, .output = sink});
    CHECK(run(model, stop, series("val_accuracy", {0.5, 0.75, 0.625, 0.75, 1})) == 4);
    CHECK(model.weight == 2);
    CHECK(stop.best() == 0.75);
    CHECK(text == "Restoring model weights from the end of the best epoch.\nEpoch 00004: early stopping\n");
  }
  SUBCASE("min_delta has to be exceeded, in either sign") {
    sc::callbacks::early_stopping stop({.monitor = "loss", .min_delta = -0.5, .patience = 1});
    CHECK(run(model, stop, series("loss", {3, 2, 1.75, 0})) == 3);
  }
  SUBCASE("a baseline has to be beaten") {
    sc::callbacks::early_stopping stop({.monitor = "loss", .patience = 3, .baseline = 1});
    CHECK(run(model, stop, series("loss", {5, 4, 3, 2, 1})) == 3);
    CHECK(run(model, stop, series("loss", {5, 0.5, 3, 2, 1, 1})) == 5);
  }
  SUBCASE("the mode can be given") {
    sc::callbacks::early_stopping larger({.monitor = "loss", .mode = sc::callbacks::monitor_mode::max});
    CHECK(run(model, larger, series("loss", {1, 2, 3})) == 3);
    sc::callbacks::early_stopping smaller({.monitor = "accuracy", .mode = sc::callbacks::monitor_mode::min});
    CHECK(run(model, smaller, series("accuracy", {1, 2, 3})) == 2);
  }
  SUBCASE("without progress the first epoch's weights are put back") {
    sc::callbacks::early_stopping stop({.monitor = "loss", .patience = 2, .restore_best_weights = true});
    CHECK(run(model, stop,
              series("loss", {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()})) ==
          2);
    CHECK(model.weight == 1);
  }
  SUBCASE("an unknown name is an error, an epoch without validation is not") {
    sc::callbacks::early_stopping stop;
    CHECK(run(model, stop, series("loss", {1, 2, 3})) == 3);
    CHECK_THROWS_WITH_AS(run(model, stop, series("loss", {1, 2, 3}), false),
                         "early_stopping: monitors 'val_loss', which is not available; there are: loss [E4012]",
                         sc::data_error);
    CHECK_THROWS_AS(run(model, stop, series("accuracy", {1, 2, 3})), sc::data_error);
  }
}

TEST_CASE("learning_rate_scheduler sets and logs the rate") {
  counting_model model;
  std::string text;
  auto sink = [&](std::string_view part) { text += part; };
  sc::trainers::training_history history;
  sc::callbacks::learning_rate_scheduler halve([](int epoch, double rate) { return epoch == 0 ? rate : rate / 2; },
                                               {.verbose = 1, .output = sink});
  run(model, halve, series("loss", {3, 2, 1}));
  CHECK(model.rate == 0.00025f);
  CHECK(text ==
        "\nEpoch 00001: LearningRateScheduler setting learning rate to 0.0010000000474974513.\n"
        "\nEpoch 00002: LearningRateScheduler setting learning rate to 0.0005000000237487257.\n"
        "\nEpoch 00003: LearningRateScheduler setting learning rate to 0.0002500000118743628.\n");
  sc::logs values{{"loss", 1}};
  halve.on_epoch_end(0, values);
  CHECK(values.at("lr") == static_cast<double>(0.00025f));

  sc::callbacks::learning_rate_scheduler by_epoch([](int epoch) { return 0.1f / static_cast<float>(epoch + 1); });
  run(model, by_epoch, series("loss", {3, 2}));
  CHECK(model.rate == 0.05f);

  sc::callbacks::learning_rate_scheduler broken([](int) { return std::numeric_limits<double>::quiet_NaN(); });
  CHECK_THROWS_AS(run(model, broken, series("loss", {3})), sc::data_error);
}

TEST_CASE("reduce_lr_on_plateau lowers the rate, rests, and ends at the bound") {
  counting_model model;
  std::string text;
  auto sink = [&](std::string_view part) { text += part; };
  sc::callbacks::reduce_lr_on_plateau reduce(
      {.monitor = "loss", .factor = 0.5, .patience = 2, .verbose = 1, .cooldown = 2, .output = sink});
  run(model, reduce, series("loss", {1, 1, 1, 1, 1, 1}));
  CHECK(model.rate == 0.00025f);
  CHECK(text ==
        "\nEpoch 00003: ReduceLROnPlateau reducing learning rate to 0.0005000000237487257.\n"
        "\nEpoch 00006: ReduceLROnPlateau reducing learning rate to 0.0002500000118743628.\n");

  sc::callbacks::reduce_lr_on_plateau bounded({.monitor = "accuracy", .patience = 1, .min_lr = 0.0002});
  run(model, bounded, series("accuracy", {0.5, 0.75, 0.75, 0.75}));
  CHECK(model.rate == 0.0002f);
  CHECK_THROWS_WITH_AS(sc::callbacks::reduce_lr_on_plateau({.factor = 1.5}),
                       "reduce_lr_on_plateau: expected a factor below 1, found 1.5 [E4015]", sc::data_error);
  double const no_number = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH_AS(sc::callbacks::reduce_lr_on_plateau({.min_lr = no_number}),
                       "reduce_lr_on_plateau: expected a finite min_lr of at least 0, found nan [E4110]",
                       sc::data_error);
  CHECK_THROWS_AS(sc::callbacks::reduce_lr_on_plateau({.factor = -0.5}), sc::data_error);
  CHECK_THROWS_AS(sc::callbacks::early_stopping({.min_delta = no_number}), sc::data_error);
  for (double const rate : {no_number, -0.1}) {
    sc::callbacks::learning_rate_scheduler schedule([rate](int) { return rate; });
    CHECK_THROWS_AS(run(model, schedule, series("loss", {1})), sc::data_error);
  }
}

TEST_CASE("terminate_on_nan stops after the batch") {
  counting_model model;
  std::string text;
  auto sink = [&](std::string_view part) { text += part; };
  sc::callbacks::terminate_on_nan guard(sink);
  sc::trainers::callback_list list({&guard});
  list.set_model(model);
  sc::logs values{{"loss", 1}};
  list.on_train_batch_end(6, values);
  CHECK_FALSE(model.stop_training);
  values["loss"] = std::numeric_limits<double>::infinity();
  list.on_train_batch_end(7, values);
  CHECK(model.stop_training);
  CHECK(text == "Batch 7: Invalid loss, terminating training\n");
}

TEST_CASE("throughput_estimator counts the steps between its hooks, learning_rate_logger logs") {
  counting_model model;
  sc::callbacks::throughput_estimator throughput(8);
  sc::callbacks::learning_rate_logger rate;
  sc::trainers::callback_list list({&throughput, &rate});
  list.set_model(model);
  sc::logs none, values;
  list.on_epoch_begin(0, none);
  for (int first : {0, 4}) {
    list.on_train_batch_begin(first, none);
    std::this_thread::sleep_for(std::chrono::microseconds(10));
    list.on_train_batch_end(first + 3, values);
    CHECK(values.at("throughput") > 0);
    CHECK(values.at("lr") == doctest::Approx(0.001));
  }
  sc::logs epoch;
  list.on_epoch_end(0, epoch);
  CHECK(epoch.at("throughput") > 0);
  CHECK(epoch.at("lr") == doctest::Approx(0.001));
}

// One by TensorFlow's own writer.
TEST_CASE("events are written as TensorFlow writes them") {
  {
    sc::io::event_writer file("events_test.tfevents", 1.5);
    file.scalar("epoch_loss", 0.375F, 0, 2.5);
    file.scalar("epoch_loss", 0.25F, 300, 3.5);
    std::vector<float> const values{-15, 0.5F, 0.25F, 3, 15, -0.75F, 1};
    file.histogram("dense/kernel_0", values, 1, 4.5);
    file.histogram("dense/kernel_0", std::span(values).first(1), 1, 4.5);
  }
  CHECK(file_text("events_test.tfevents") == file_text(STAGECRAFT_GOLDEN_DIR "/events.tfevents"));
  std::remove("events_test.tfevents");
}

TEST_CASE("a histogram counts numbers beside what is none") {
  std::vector<float> values{std::numeric_limits<float>::quiet_NaN(), 1, -5};
  std::vector<std::string> texts;
  for (int i = 0; i < 3; ++i) {
    sc::io::event_writer("histogram_test.tfevents", 1.5).histogram("dense/kernel_0", values, 1, 4.5);
    texts.push_back(file_text("histogram_test.tfevents"));
    std::rotate(values.begin(), values.begin() + 1, values.end());
  }
  CHECK(texts[0] == texts[1]);
  CHECK(texts[0] == texts[2]);
  std::remove("histogram_test.tfevents");
}

TEST_CASE("tensor_board writes what a training reports, and what a validation does, apart") {
  counting_model model;
  namespace fs = std::filesystem;
  fs::remove_all("tensor_board_test");
  auto const text_in = [](std::string const& folder) {
    std::string text;
    for (auto const& file : fs::directory_iterator(folder)) text += file_text(file.path());
    return text;
  };
  auto const text_of = [&](std::string const& part) { return text_in("tensor_board_test/" + part); };
  auto const count = [](std::string const& text, std::string_view tag) {
    int found = 0;
    for (auto at = text.find(tag); at != std::string::npos; at = text.find(tag, at + 1)) ++found;
    return found;
  };
  sc::callbacks::tensor_board board("tensor_board_test", {.histogram_freq = 2, .update_freq = 3});
  sc::callbacks::tensor_board executions("tensor_board_executions", {.update_freq = 6});
  for (int epoch = 0; epoch < 2; ++epoch) {  // of four batches each: the batches 0 and 6 count, of 0 to 3 and 4 to 7
    sc::logs values{{"loss", 0.5}}, none;
    executions.on_epoch_begin(epoch, none);
    for (int const last : {1, 3}) executions.on_train_batch_end(last, values);
  }
  for (int batch = 0; batch < 4; ++batch) {
    sc::logs values{{"loss", 0.5}};
    board.on_train_batch_end(batch, values);
  }
  run(model, board, {{{"loss", 2}, {"val_loss", 3}}, {{"loss", 1}}, {{"loss", 0.5}, {"val_loss", 1}}});
  auto const train = text_of("train"), validation = text_of("validation");
  CHECK(count(text_in("tensor_board_executions/train"), "batch_loss") == 2);
  CHECK((count(train, "epoch_loss") == 3 && count(train, "w_0") == 2 && count(train, "batch_loss") == 2));
  CHECK((count(validation, "epoch_loss") == 2 && count(validation, "val_") == 0));
  CHECK(std::distance(fs::directory_iterator("tensor_board_test/train"), {}) == 2);  // before the training, and in it
  fs::remove_all("tensor_board_test");
  fs::remove_all("tensor_board_executions");
  sc::callbacks::tensor_board nowhere("/proc/no/such");
  sc::logs values{{"loss", 1}};
  CHECK_THROWS_AS(nowhere.on_epoch_end(0, values), sc::file_error);
}

TEST_CASE("csv_logger writes what Python's csv module writes") {
  counting_model model;
  std::string const path = "csv_logger_test.csv";
  std::remove(path.c_str());
  {
    sc::callbacks::csv_logger log(path);
    run(model, log,
        {{{"loss", 0.30000001192092896}, {"accuracy", 0.5}, {"lr", static_cast<double>(0.001f)}},
         {{"loss", 0.1}, {"accuracy", 1}, {"lr", static_cast<double>(0.0001f)}}},
        false);
    CHECK(file_text(path) ==
          "epoch,accuracy,loss,lr\r\n0,0.5,0.30000001192092896,0.001\r\n1,1.0,0.10000000149011612,1e-04\r\n");
  }
  {
    sc::callbacks::csv_logger log(path, {.append = true});
    run(model, log, {{{"loss", 2}, {"accuracy", 3}, {"lr", 4}}}, false);
    CHECK(file_text(path).ends_with("1e-04\r\n0,3.0,2.0,4.0\r\n"));
  }
  {
    sc::callbacks::csv_logger log(path, {.separator = ";"});
    run(model, log, {{{"loss", 2}}, {{"loss", 1}, {"val_loss", 3}}}, true);
    CHECK(file_text(path) == "epoch;loss\r\n0;2.0\r\n1;1.0\r\n");
  }
  {
    sc::callbacks::csv_logger log(path);
    run(model, log, {{{"loss", 2}, {"val_loss", 3}}, {{"loss", 1}}}, true);
    CHECK(file_text(path) == "epoch,loss,val_loss\r\n0,2.0,3.0\r\n1,1.0,NA\r\n");
  }
  tests::for_each_locale([&](char const* which) {
    CAPTURE(which);
    sc::callbacks::csv_logger log(path);
    run(model, log, series("loss", {1234.5, 0.0625}), true);
    CHECK(file_text(path) == "epoch,loss\r\n0,1234.5\r\n1,0.0625\r\n");
  });
  std::remove(path.c_str());
  sc::callbacks::csv_logger nowhere("no/such/folder/log.csv");
  CHECK_THROWS_WITH_AS(run(model, nowhere, series("loss", {1})),
                       "csv_logger: cannot open 'no/such/folder/log.csv' for writing [E5040]", sc::file_error);
}

TEST_CASE("numbers are spelled as Python spells them") {
  using sc::detail::python_repr;
  CHECK(python_repr(0.0) == "0.0");
  CHECK(python_repr(-0.0) == "-0.0");
  CHECK(python_repr(1e15) == "1000000000000000.0");
  CHECK(python_repr(1e16) == "1e+16");
  CHECK(python_repr(1.5e-4) == "0.00015");
  CHECK(python_repr(9.9e-5) == "9.9e-05");
  CHECK(python_repr(-123.456) == "-123.456");
  CHECK(python_repr(-0.025) == "-0.025");
  CHECK(python_repr(-12.0) == "-12.0");
  CHECK(python_repr(-1.2345678901234567e-4) == "-0.00012345678901234567");
  CHECK(python_repr(1e100) == "1e+100");
  CHECK(python_repr(0.1f) == "0.1");
  CHECK(python_repr(0.0001) == "0.0001");
  CHECK(python_repr(0.0001f) == "1e-04");
  CHECK(python_repr(0.0f) == "0.0");
  CHECK(python_repr(static_cast<double>(0.1f)) == "0.10000000149011612");
  CHECK(python_repr(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(python_repr(std::numeric_limits<double>::quiet_NaN()) == "nan");
}

TEST_CASE("progbar_logger prints what Keras prints in fit, evaluate and predict") {
  for (session_case const& session : session_cases) {
    CAPTURE(session.verbose);
    CAPTURE(session.epochs);
    double now = 1000;
    std::string text;
    auto clock = [&] { return now; };
    auto sink = [&](std::string_view part) { text += part; };
    sc::callbacks::progbar_logger bar({.display = sc::display_mode::dynamic, .output = sink, .time = clock});
    auto const values = [](double loss) { return sc::logs{{"loss", loss}, {"accuracy", 1 - loss}}; };
    sc::logs none, half = values(0.5), quarter = values(0.25);
    bar.set_params({.verbose = session.verbose, .epochs = session.epochs, .steps = 3});
    bar.on_train_begin(none);
    for (int epoch = 0; epoch < session.epochs; ++epoch) {
      bar.on_epoch_begin(epoch, none);
      for (int batch = 0; batch < 3; ++batch) {
        now += 0.25;
        sc::logs running = values(0.9 / (1 + batch + 3 * epoch));
        bar.on_train_batch_end(batch, running);
      }
      bar.on_test_begin(none);
      for (int batch = 0; batch < 2; ++batch) {
        now += 0.125;
        bar.on_test_batch_end(batch, half);
      }
      bar.on_test_end(half);
      sc::logs last = values(0.3 / (1 + epoch));
      last["val_loss"] = 0.0004;
      last["val_accuracy"] = 0.5;
      bar.on_epoch_end(epoch, last);
    }
    bar.on_train_end(none);

    bar.set_params({.verbose = session.verbose, .epochs = session.epochs, .steps = 2});
    bar.on_test_begin(none);
    for (int batch = 0; batch < 2; ++batch) {
      now += 0.125;
      bar.on_test_batch_end(batch, half);
    }
    bar.on_test_end(quarter);
    bar.on_predict_begin(none);
    for (int batch = 0; batch < 2; ++batch) {
      now += 1.5;
      bar.on_predict_batch_end(batch, none);
    }
    bar.on_predict_end(none);

    std::string expected;
    for (piece const& p : session.expected)
      expected += std::string(static_cast<std::size_t>(p.backspaces), '\b') + p.text;
    CHECK(text == expected);
  }
}
