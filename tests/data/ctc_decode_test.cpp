// SPDX-License-Identifier: BSD-3-Clause
// Labels of logits: both decoders against Keras's, against all labels by their probability, and options that do not
// fit.
#include <stagecraft/data/ctc_decode.hpp>
#include <stagecraft/diagnostics/exceptions.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "../golden/golden.hpp"

namespace sc = stagecraft;

namespace {

xt::xtensor<float, 3> array(golden::tensor const& from) {
  auto result = xt::xtensor<float, 3>::from_shape({from.shape[0], from.shape[1], from.shape[2]});
  std::copy(from.values.begin(), from.values.end(), result.data());
  return result;
}

void check(std::string const& name, sc::ctc_decode_options const& options) {
  CAPTURE(name);
  auto const file = golden::read("ctc.txt");
  auto const [labels, scores] = sc::ctc_decode(array(file["decode/logits"]), options);
  auto const& expected = file["decode/" + name + "/labels"];
  REQUIRE(std::equal(labels.shape().begin(), labels.shape().end(), expected.shape.begin(), expected.shape.end()));
  CHECK(
      std::equal(labels.begin(), labels.end(), expected.values.begin(), [](int a, float b) { return float(a) == b; }));
  auto const& of_paths = file["decode/" + name + "/scores"];
  REQUIRE(scores.size() == of_paths.size());
  for (std::size_t i = 0; i < scores.size(); ++i)
    CHECK(std::abs(scores.data()[i] - of_paths[i]) <= 3e-6F * std::abs(of_paths[i]) + 1e-6F);
}

std::string problem_of(sc::ctc_decode_options const& options) {
  try {
    static_cast<void>(sc::ctc_decode(xt::xtensor<float, 3>(xt::zeros<float>({2, 3, 4})), options));
  } catch (sc::data_error const& error) {
    return error.what();
  }
  return "no error";
}
bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

using sc::ctc_strategy;

}  // namespace

TEST_CASE("Keras's labels and scores") {
  check("greedy", {});
  check("greedy_apart", {.merge_repeated = false, .sequence_lengths = {12, 7, 0}});
  check("greedy_last", {.mask_index = 4, .sequence_lengths = {12, 7, 0}});
  check("greedy_last", {.mask_index = -1, .sequence_lengths = {12, 7, 0}});
  for (int const width : {2, 5, 100})
    check("beams_" + std::to_string(width),
          {.strategy = ctc_strategy::beam_search, .beam_width = width, .top_paths = 2});
  check("beams_middle", {.strategy = ctc_strategy::beam_search,
                         .beam_width = 8,
                         .top_paths = 3,
                         .mask_index = 2,
                         .sequence_lengths = {12, 7, 3}});
}

TEST_CASE("a beam that holds all labels finds the most probable ones") {
  std::size_t const steps = 4, classes = 3;
  auto logits = xt::xtensor<float, 3>::from_shape({1, steps, classes});
  for (std::size_t i = 0; i < logits.size(); ++i) logits.data()[i] = 2 * std::sin(2.3F * static_cast<float>(i));
  std::map<std::vector<int>, double> probabilities;
  for (int path = 0; path < 81; ++path) {
    std::vector<int> labels;
    double probability = 1;
    int last = 0;
    for (std::size_t step = 0, rest = static_cast<std::size_t>(path); step < steps; ++step, rest /= 3) {
      int const label = static_cast<int>(rest % 3);
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(logits(0, step, c)));
      probability *= std::exp(static_cast<double>(logits(0, step, rest % 3))) / sum;
      if (label != 0 && label != last) labels.push_back(label);
      last = label;
    }
    probabilities[labels] += probability;
  }
  std::vector<std::pair<double, std::vector<int>>> expected;
  for (auto const& [labels, probability] : probabilities) expected.emplace_back(-probability, labels);
  std::sort(expected.begin(), expected.end());
  auto const [labels, scores] = sc::ctc_decode(logits, {.strategy = ctc_strategy::beam_search, .top_paths = 10});
  for (std::size_t path = 0; path < 10; ++path) {
    CHECK(std::abs(std::exp(static_cast<double>(scores(0, path))) + expected[path].first) < 1e-6);
    for (std::size_t i = 0; i < steps; ++i)
      CHECK(labels(path, 0, i) == (i < expected[path].second.size() ? expected[path].second[i] : -1));
  }
}

TEST_CASE("E4134 to E4136: arrays and options that do not fit") {
  auto const beams = [](int width, int paths) {
    return sc::ctc_decode_options{.strategy = ctc_strategy::beam_search, .beam_width = width, .top_paths = paths};
  };
  CHECK(problem_of({}) == "no error");
  CHECK(has(problem_of({.mask_index = 4}), "expected mask_index from -4 to 3, found 4 [E4135]"));
  CHECK(has(problem_of({.sequence_lengths = {3}}), "expected 2 sequence_lengths, one per sample, found 1 [E4135]"));
  CHECK(has(problem_of({.sequence_lengths = {3, 4}}),
            "expected sequence_lengths from 0 to 3, found 4 at sample 1 [E4135]"));
  CHECK(has(problem_of(beams(2, 3)), "expected top_paths from 1 to beam_width, found 3 of 2 [E4135]"));
  CHECK(has(problem_of(beams(100, 90)), "E4136"));
  for (auto const strategy : {ctc_strategy::greedy, ctc_strategy::beam_search}) {
    xt::xtensor<float, 3> logits = xt::zeros<float>({1, 3, 4});
    logits(0, 1, 2) = -std::numeric_limits<float>::infinity();
    CHECK(sc::ctc_decode(logits, {.strategy = strategy}).labels.size() == 3);
    logits(0, 1, 1) = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_AS(static_cast<void>(sc::ctc_decode(logits, {.strategy = strategy})), sc::data_error);
  }
  CHECK_THROWS_AS(static_cast<void>(sc::ctc_decode(xt::xtensor<float, 2>(xt::zeros<float>({3, 4})))), sc::data_error);
}
