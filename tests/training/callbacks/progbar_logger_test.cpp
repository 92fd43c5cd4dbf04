// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/training/callbacks/progbar_logger.hpp>

#include <doctest/doctest.h>

#include "../../each_locale.hpp"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sc = stagecraft;

namespace {

/// Text as the golden file has it: how many backspaces, then what.
struct piece {
  int backspaces;
  char const* text;
};
struct bar_case {
  int target, width, verbose;
  double interval;
  char const* unit;
  bool dynamic;
  struct value {
    char const* name;
    double number;
    bool stateful;
  };
  struct step {
    double seconds;
    int current;
    int finalize;  // -1: the bar decides
    std::vector<value> values;
  };
  std::vector<step> steps;
  std::vector<piece> expected;
};
std::string joined(std::vector<piece> const& pieces) {
  std::string text;
  for (piece const& p : pieces) text += std::string(static_cast<std::size_t>(p.backspaces), '\b') + p.text;
  return text;
}

#include "../../golden/progress_bar.inc"

}  // namespace

TEST_CASE("the bar prints what Keras prints") {
  int number = 0;
  for (bar_case const& c : bar_cases) {
    CAPTURE(number);
    double now = 1000;
    std::string text;
    auto clock = [&] { return now; };
    auto sink = [&](std::string_view part) { text += part; };
    sc::progress_bar bar({.target = c.target,
                          .width = c.width,
                          .verbose = c.verbose,
                          .interval = c.interval,
                          .unit_name = c.unit,
                          .display = c.dynamic ? sc::display_mode::dynamic : sc::display_mode::lines,
                          .output = sink,
                          .time = clock});
    for (auto const& step : c.steps) {
      now = 1000 + step.seconds;
      for (auto const& value : step.values) {
        if (value.stateful)
          bar.show(value.name, value.number);
        else
          bar.show_mean(value.name, value.number);
      }
      if (step.finalize < 0)
        bar.update(step.current);
      else
        bar.update(step.current, step.finalize == 1);
    }
    CHECK(text == joined(c.expected));
    ++number;
  }
  CHECK(number == 18);
}

TEST_CASE("a bar starts again, and counts by adding") {
  double now = 5;
  std::string text;
  auto clock = [&] { return now; };
  auto sink = [&](std::string_view part) { text += part; };
  sc::progress_bar bar({.target = 2, .display = sc::display_mode::dynamic, .output = sink, .time = clock});
  bar.show("loss", 1);
  bar.add(2);
  text.clear();
  bar.restart(10);
  now = 6;
  bar.add(1);
  CHECK(text == "\r 1/10 [==>...........................] - ETA: 9s");
}

TEST_CASE("the bar has points in every locale") {
  tests::for_each_locale([](char const* which) {
    CAPTURE(which);
    std::string text;
    double now = 100;
    auto const output = [&](std::string_view part) { text += part; };
    auto const time = [&] { return now; };
    sc::progress_bar bar({.target = 2, .output = output, .time = time});
    bar.show("loss", 1.6167);
    bar.show("tiny", 2.5e-5);
    now += 0.25;
    bar.update(1);
    now += 1234.5;
    bar.update(2);
    CHECK(text.find(" - loss: 1.6167 - tiny: 2.5000e-05") != std::string::npos);
    CHECK(text.find(" - 1235s 1234s/step - loss: 1.6167") != std::string::npos);
    CHECK(text.find(',') == std::string::npos);
  });
}

TEST_CASE("values that are not finite are spelled as Python spells them") {
  double now = 5;
  std::string text;
  auto clock = [&] { return now; };
  auto sink = [&](std::string_view part) { text += part; };
  sc::progress_bar bar({.target = 1, .verbose = 2, .output = sink, .time = clock});
  bar.show("a", -std::numeric_limits<double>::quiet_NaN());
  bar.show("b", std::numeric_limits<double>::infinity());
  bar.show("c", -std::numeric_limits<double>::infinity());
  bar.show("d", 1e300);
  bar.update(1);
  CHECK(text.starts_with("1/1 - 0s - a: nan - b: inf - c: -inf - d: 10000000000"));
  CHECK(text.ends_with(".0000\n"));
}
