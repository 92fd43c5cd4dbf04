// SPDX-License-Identifier: BSD-3-Clause
// What runs print and write.
#include "trainer_cases.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

using cases::samples, cases::trainer;

namespace {

/// Receives a bar's text; a clock that stands still.
struct screen {
  std::string text;
  void operator()(std::string_view added) { text += added; }
};

std::string printed(int verbose, auto run) {
  screen output;
  double now = 100;
  auto clock = [&] { return now; };
  sc::callbacks::progbar_logger bar({.display = sc::display_mode::lines, .output = output, .time = clock});
  run(bar, verbose);
  return output.text;
}

int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace

TEST_CASE("a bar among the callbacks prints what verbose says") {
  samples const data(24);
  auto const fit = [&](sc::callback& bar, int verbose) {
    trainer model;
    model.fit(data.x, data.y, {.epochs = 2, .verbose = verbose, .callbacks = {&bar}, .validation_data = data});
  };
  CHECK(printed(0, fit).empty());
  auto const bars = printed(1, fit);
  CHECK(count(bars, "Epoch 1/2\n") == 1);
  CHECK(count(bars, "Epoch 2/2\n") == 1);
  CHECK(count(bars, "3/3 [==============================] - ") == 2);
  CHECK(count(bars, " - loss: ") >= 2);
  CHECK(count(bars, " - val_accuracy: ") == 2);
  auto const lines = printed(2, fit);
  CHECK(count(lines, "\n") == 4);
  CHECK(count(lines, "3/3 - ") == 2);
  CHECK(count(lines, "=") == 0);
}

TEST_CASE("evaluate and predict have a bar as well") {
  samples const data(24);
  trainer model;
  auto const evaluated = printed(1, [&](sc::callback& bar, int verbose) {
    model.evaluate(data.x, data.y, {.verbose = verbose, .callbacks = {&bar}});
  });
  CHECK(count(evaluated, "3/3 [==============================] - ") == 1);
  CHECK(count(evaluated, " - accuracy: ") >= 1);
  auto const predicted = printed(
      1, [&](sc::callback& bar, int verbose) { model.predict(data.x, {.verbose = verbose, .callbacks = {&bar}}); });
  CHECK(count(predicted, "3/3 [==============================] - ") == 1);
  CHECK(count(predicted, "loss") == 0);
}

TEST_CASE("a bar is shown again after a run that an exception ended") {
  samples const data(24);
  trainer model;
  sc::callbacks::lambda_callback fails({.on_train_begin = [](sc::logs&) { throw 1; }});
  auto const text = printed(1, [&](sc::callback& bar, int verbose) {
    CHECK_THROWS_AS(model.fit(data.x, data.y, {.verbose = verbose, .callbacks = {&bar, &fails}}), int);
    model.evaluate(data.x, data.y, {.verbose = verbose, .callbacks = {&bar}});
  });
  CHECK(count(text, "3/3 [==============================] - ") == 1);
}

// A scheduler's line comes after "Epoch 1/2", and its learning rate not into the bar, but into the history.
TEST_CASE("the run's own bar is the first callback") {
  samples const data(24);
  trainer model;
  sc::callbacks::learning_rate_scheduler schedule([](int, double rate) { return rate; }, {.verbose = 1});
  bool empty = true;
  auto const look = [&](sc::logs& values) { empty = empty && values.begin() == values.end(); };
  sc::callbacks::lambda_callback begins({.on_epoch_begin = [&](int, sc::logs& values) { look(values); },
                                         .on_batch_begin = [&](int, sc::logs& values) { look(values); },
                                         .on_train_begin = look});
  std::fflush(stdout);
  int const terminal = dup(STDOUT_FILENO);
  std::FILE* const file = std::tmpfile();
  dup2(fileno(file), STDOUT_FILENO);
  auto const history = model.fit(data.x, data.y, {.epochs = 2, .callbacks = {&schedule, &begins}});
  std::fflush(stdout);
  dup2(terminal, STDOUT_FILENO);
  close(terminal);
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  CHECK(text.starts_with("Epoch 1/2\n"));
  CHECK(count(text, "Epoch 00001") == 1);
  CHECK(count(text, " - lr: ") == 0);
  CHECK(history.at("lr").size() == 2);
  CHECK(empty);
}

TEST_CASE("a file of logs") {
  samples const data(24);
  trainer model;
  std::string const name = "trainer_output_test.csv";
  sc::callbacks::csv_logger log(name);
  auto const history =
      model.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .callbacks = {&log}, .validation_split = 0.25});
  std::ifstream file(name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  file.close();
  std::remove(name.c_str());
  CHECK(text.str().starts_with("epoch,accuracy,loss,val_accuracy,val_loss\r\n0,"));
  CHECK(count(text.str(), "\r\n") == 3);
}
