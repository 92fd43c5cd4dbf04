// SPDX-License-Identifier: BSD-3-Clause
// What runs print and write.
#include "trainer_cases.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>

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
