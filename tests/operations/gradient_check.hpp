// SPDX-License-Identifier: BSD-3-Clause
// Gradients of a traced computation against central differences, on doubles.
#pragma once

#include <stagecraft/operations/trace.hpp>
#include <doctest/doctest.h>
#include <random>
#include "reference.hpp"

namespace stagecraft::operations::reference {

/// A traced and differentiated computation with numbers in its leaves.
class gradient_check {
 public:
  explicit gradient_check(trace const& traced, unsigned seed = 7)
      : traced_(traced), leaves_(traced.list.nodes, traced.list.operands) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (int id = 0; id < traced.list.size(); ++id) {
      auto const& what = traced.list.node_of(id).what;
      auto const* drawn = what.if_is<random>();
      if (!drawn && !what.is<input>() && !what.is<weight>()) continue;
      bool const is_uniform = drawn && drawn->distribution == random_distribution::uniform;
      for (long long i = 0; i < traced.list.node_of(id).shape.size(); ++i)
        leaves_[id].push_back(is_uniform ? uniform(engine) : normal(engine));
    }
  }

  /// Numbers of an input in place of random ones.
  values& input_values(int index) { return leaves_[traced_.inputs[static_cast<std::size_t>(index)]]; }

  /// Those of an input or, behind them, of a weight.
  values& leaf_values(std::size_t leaf) { return leaves_[id_of(leaf)]; }

  /// The values of output `index`.
  values output(int index = 0) {
    auto run = leaves_;
    run.run(traced_.forward_count);
    return run[traced_.outputs[static_cast<std::size_t>(index)]];
  }

  /// The gradient of an input or, behind them, of a weight.
  values gradient(std::size_t leaf) {
    auto run = leaves_;
    run.run(traced_.list.size());
    return run[traced_.gradients[leaf]];
  }

  /// Checks each element of each gradient; returns how many there were.
  int check(double tolerance = 1e-7) {
    auto done = leaves_;
    done.run(traced_.list.size());
    int count = 0;
    for (std::size_t leaf = 0; leaf < traced_.gradients.size(); ++leaf) {
      int const gradient = traced_.gradients[leaf];
      if (gradient < 0) continue;
      REQUIRE(traced_.list.node_of(gradient).shape == traced_.list.node_of(id_of(leaf)).shape);
      auto& x = leaves_[id_of(leaf)];
      for (std::size_t i = 0; i < x.size(); ++i, ++count) {
        double const kept = x[i], step = 1e-5 * (1 + std::abs(kept));
        x[i] = kept + step;
        double const above = weighted_outputs();
        x[i] = kept - step;
        double const below = weighted_outputs();
        x[i] = kept;
        double const expected = (above - below) / (2 * step);
        CAPTURE(leaf);
        CAPTURE(i);
        CHECK(std::abs(done[gradient][i] - expected) <= tolerance * (1 + std::abs(expected)));
      }
    }
    return count;
  }

 private:
  int id_of(std::size_t leaf) const {
    if (leaf < traced_.inputs.size()) return traced_.inputs[leaf];
    for (int id = 0; id < traced_.forward_count; ++id)
      if (auto const* read = traced_.list.node_of(id).what.if_is<weight>();
          read && read->index == static_cast<int>(leaf - traced_.inputs.size()))
        return id;
    return -1;
  }
  double weighted_outputs() {
    auto run = leaves_;
    run.run(traced_.forward_count);
    double sum = 0;
    for (std::size_t output = 0; output < traced_.outputs.size(); ++output)
      for (std::size_t i = 0; i < run[traced_.outputs[output]].size(); ++i)
        sum += run[traced_.outputs[output]][i] * leaves_[traced_.seeds[output]][i];
    return sum;
  }

  trace const& traced_;
  interpreter leaves_;
};

}  // namespace stagecraft::operations::reference
