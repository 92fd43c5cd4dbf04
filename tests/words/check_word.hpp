// SPDX-License-Identifier: BSD-3-Clause
// The laws of a word: what Keras computes, forward, backward and in ten steps of training, on the host and on tiles, in
// the same bits however the batch is divided; gradients that are slopes.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <random>
#include <string>
#include <vector>

#include "../golden/golden.hpp"
#include "../ipu/emulation/plan_on_tiles.hpp"
#include "../larger_deviation.hpp"
#include "../operations/gradient_check.hpp"
#include "word.hpp"

namespace words {

class word_check {
  using floats = sc::operations::runs::floats;
  using numbers = sc::operations::runs::numbers;
  using plan = sc::operations::traced_plan;

 public:
  static constexpr int batch = 3;
  static constexpr float rate = 0.005F;  ///< of the ten steps

  word_check(word const& each, golden::file const& file) : word_(each), file_(file), plan_(traced(), true) {}

  void run() {
    CAPTURE(word_.name);
    REQUIRE_MESSAGE(!plan_.traced.list.problem.failed(), plan_.traced.list.problem.text.view());
    check_weights();
    double const tolerance = word_.traits.tolerance;
    check("doubles", on_doubles, tolerance);
    check("host", on_host, tolerance);
    if (word_.traits.tiles) check("tiles", on_tiles, 4 * tolerance);
    train("host", on_host, 10 * tolerance);
    if (word_.traits.tiles) train("tiles", on_tiles, 40 * tolerance);
    check_training();
  }

 private:
  sc::operations::trace traced() const { return word_.traced(batch, word_.traits.trains); }
  golden::tensor const& golden(std::string const& name) const { return file_[word_.name + "/" + name]; }
  static std::string input(std::size_t index) { return "input_" + std::to_string(index); }
  std::string leaf(std::size_t index) const {
    return index < word_.shapes.size() ? input(index)
                                       : std::string(plan_.traced.weights[index - word_.shapes.size()].name.view());
  }
  bool is_trained(std::size_t leaf) const {
    return leaf < word_.shapes.size() || plan_.traced.weights[leaf - word_.shapes.size()].trainable;
  }
  using runner = void (*)(plan const&, numbers&);
  static void on_doubles(plan const& of, numbers& with) { sc::operations::runs::reference_run(of, with); }
  static void on_host(plan const& of, numbers& with) { sc::operations::runs::float_run(of, with); }
  static void on_tiles(plan const& of, numbers& with) {
    REQUIRE(tests::plan_on_tiles(of, tests::target_of(7), sc::dtype::float32).run(with));
  }

  /// Keras's names and shapes, in its order.
  void check_weights() const {
    std::vector<std::string> names, in_file;
    for (auto const& weight : plan_.traced.weights) names.emplace_back(weight.name.view());
    for (auto const& each : file_.names(word_.name + "/")) {
      if (each == "output") break;
      if (!each.starts_with("input_")) in_file.push_back(each);
    }
    REQUIRE(names == in_file);
    for (auto const& weight : plan_.traced.weights) {
      std::vector<std::size_t> const shape(weight.shape.begin(), weight.shape.end());
      REQUIRE(shape == golden(std::string(weight.name.view())).shape);
    }
  }
  numbers given() const {
    numbers with;
    for (std::size_t i = 0; i < word_.shapes.size(); ++i) with.inputs.push_back(golden(input(i)).values);
    for (auto const& weight : plan_.traced.weights)
      with.weights.push_back(golden(std::string(weight.name.view())).values);
    with.output_gradient = golden("output_gradient").values;
    return with;
  }

  static double deviation(floats const& found, floats const& expected) {
    if (found.size() != expected.size()) return INFINITY;
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double const value = static_cast<double>(expected[i]);
      double const here = std::abs(static_cast<double>(found[i]) - value) / (1 + std::abs(value));
      worst = larger_deviation(worst, here);
    }
    return worst;
  }
  void check(char const* where, runner carry_out, double tolerance) const {
    CAPTURE(where);
    auto with = given();
    carry_out(plan_, with);
    CHECK(deviation(with.output, golden("output").values) <= tolerance);
    for (std::size_t i = 0; i < with.gradients.size(); ++i) {
      if (!is_trained(i)) continue;
      CAPTURE(leaf(i));
      auto const& expected = golden(leaf(i) + "_gradient").values;
      if (with.gradients[i].empty())
        for (float const gradient : expected) CHECK(gradient == 0);
      else
        CHECK(deviation(with.gradients[i], expected) <= tolerance);
    }
  }
  /// Steps of gradient descent on weights and inputs, towards outputs that are the gradients of the first test.
  void train(char const* where, runner carry_out, double tolerance) const {
    CAPTURE(where);
    auto with = given();
    auto const target = with.output_gradient;
    floats losses;
    with.at_output = [&](numbers& known) {
      double loss = 0;
      for (std::size_t i = 0; i < target.size(); ++i) {
        known.output_gradient[i] = known.output[i] - target[i];
        loss += 0.5 * static_cast<double>(known.output_gradient[i]) * static_cast<double>(known.output_gradient[i]);
      }
      losses.push_back(static_cast<float>(loss));
    };
    for (int step = 0; step < 10; ++step) {
      carry_out(plan_, with);
      for (std::size_t i = 0; i < with.gradients.size(); ++i) {
        auto& value = i < with.inputs.size() ? with.inputs[i] : with.weights[i - with.inputs.size()];
        if (!is_trained(i)) continue;
        for (std::size_t k = 0; k < with.gradients[i].size(); ++k) value[k] -= rate * with.gradients[i][k];
      }
    }
    CHECK(deviation(losses, golden("losses").values) <= tolerance);
    for (std::size_t i = 0; i < plan_.traced.weights.size(); ++i) {
      std::string const name(plan_.traced.weights[i].name.view());
      CAPTURE(name);
      CHECK(deviation(with.weights[i], golden(name + "_trained").values) <= tolerance);
    }
  }
  /// A step of training, with random numbers where the layer draws such: the same on doubles, on the host, for two
  /// samples at once in the same bits, and on tiles; gradients are slopes.
  void check_training() const {
    auto const of_training = [&] { return word_.traced(batch, true); };
    plan const whole(of_training(), true), by_sample(of_training(), true, {}, batch);
    auto expected = given(), found = given(), by_two = given(), on_some_tiles = given();
    on_doubles(whole, expected);
    on_host(whole, found);
    sc::operations::runs::float_run(by_sample, by_two, batch, 2);
    (word_.traits.tiles ? on_tiles : on_host)(whole, on_some_tiles);
    double const tolerance = 4 * word_.traits.tolerance;
    CHECK(deviation(found.output, expected.output) <= tolerance);
    CHECK(deviation(on_some_tiles.output, expected.output) <= tolerance);
    CHECK(by_two.output == found.output);
    CHECK(by_two.gradients == found.gradients);
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      CAPTURE(leaf(i));
      CHECK(deviation(found.gradients[i], expected.gradients[i]) <= tolerance);
      CHECK(deviation(on_some_tiles.gradients[i], expected.gradients[i]) <= tolerance);
    }
    if (word_.traits.has_slopes) check_slopes(whole);
  }
  /// Differences on doubles, near Keras's inputs and not at their kinks.
  void check_slopes(plan const& of) const {
    sc::operations::reference::gradient_check check(of.traced);
    std::mt19937 engine(5);
    std::normal_distribution<double> aside(0, 1e-3);
    auto const with = given();
    for (std::size_t i = 0; i < with.inputs.size() + with.weights.size(); ++i) {
      auto const& from = i < with.inputs.size() ? with.inputs[i] : with.weights[i - with.inputs.size()];
      auto& values = check.leaf_values(i);
      for (std::size_t k = 0; k < from.size(); ++k) values[k] = static_cast<double>(from[k]) + aside(engine);
    }
    check.check(2e-6);
  }

  word const& word_;
  golden::file const& file_;
  plan plan_;
};

/// Every word of a table, and every case of the golden file.
inline void check_words(std::string const& file_name, std::vector<word> const& table) {
  auto const file = golden::read(file_name);
  std::size_t cases = 0;
  for (auto const& each : file.names()) cases += each.ends_with("/output") ? 1 : 0;
  CHECK(cases == table.size());
  for (word const& each : table) word_check(each, file).run();
}

}  // namespace words
