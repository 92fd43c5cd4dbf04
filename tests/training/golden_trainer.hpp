// SPDX-License-Identifier: BSD-3-Clause
// What the comparisons of training with real Keras share: weights by name, deviations.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

#include "../golden/golden.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace golden {

/// Rows of a tensor of rank 2.
inline xt::xtensor<float, 2> rows(tensor const& from, std::size_t first = 0, std::size_t count = 0) {
  if (count == 0) count = from.shape.at(0) - first;
  xt::xtensor<float, 2> result = xt::xtensor<float, 2>::from_shape({count, from.shape.at(1)});
  std::copy_n(from.values.data() + first * from.shape[1], count * from.shape[1], result.data());
  return result;
}

/// Class numbers.
inline std::vector<int> labels(tensor const& from, std::size_t first = 0, std::size_t count = 0) {
  auto const all = from.integers();
  if (count == 0) count = all.size() - first;
  auto const begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// "dense/kernel" of "dense/kernel:0".
inline std::string without_index(std::string const& weight) { return weight.substr(0, weight.rfind(':')); }

/// Gives a model the weights "prefix/layer/weight".
inline void set_weights(sc::trainers::trainable& model, file const& from, std::string const& prefix) {
  auto weights = model.get_weights();
  for (auto& weight : weights) weight.values = from[prefix + "/" + without_index(weight.name)].values;
  model.set_weights(weights);
}

/// Largest difference between two sequences; a different length is infinitely far.
template <class Left, class Right>
double deviation(Left const& left, Right const& right) {
  if (std::size(left) != std::size(right)) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < std::size(left); ++i) {
    double const difference = std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

/// Largest difference of a model's weights to "prefix/layer/weight".
inline double weight_deviation(sc::trainers::trainable const& model, file const& from, std::string const& prefix) {
  double largest = 0;
  for (auto const& weight : model.get_weights()) {
    auto const& expected = from[prefix + "/" + without_index(weight.name)];
    double const found = deviation(weight.values, expected.values);
    if (!(found <= largest)) largest = found;
  }
  return largest;
}

inline constexpr double loss_tolerance = 1e-5;
inline constexpr double weight_tolerance = 1e-4;

/// Losses and weights after steps agree with Keras.
inline void check_steps(sc::trainers::trainable const& model, std::vector<double> const& losses, file const& from,
                        std::string const& name, std::string const& weights_prefix) {
  double const of_losses = deviation(losses, from[name + "/losses"].values);
  double const of_weights = weight_deviation(model, from, weights_prefix);
  CAPTURE(name);
  CHECK(of_losses < loss_tolerance);
  CHECK(of_weights < weight_tolerance);
}

/// The history has these values, under these names, in this order.
inline void check_history(sc::trainers::named_series const& history, file const& from, std::string const& prefix) {
  auto const names = from.names(prefix);
  std::size_t index = 0;
  for (auto const& series : history) {
    CAPTURE(series.name);
    REQUIRE(index < names.size());
    CHECK(series.name == names[index]);
    double const of_history = deviation(series.values, from[prefix + names[index]].values);
    CHECK(of_history < loss_tolerance);
    ++index;
  }
  CHECK(index == names.size());
}

}  // namespace golden
