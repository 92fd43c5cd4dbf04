// SPDX-License-Identifier: BSD-3-Clause
// Ten steps of a trainer beside those of a section of a golden file: "name/before/0", "name/losses", "name/after/0".
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "golden.hpp"

namespace golden {

/// The section's weights "before" or "after" the steps; `Weight` is the library's weight_array.
template <class Weight>
std::vector<Weight> weights_of(file const& all, std::string const& name) {
  std::vector<Weight> result;
  for (int i = 0; all.contains(name + "/" + std::to_string(i)); ++i) {
    auto const& tensor = all[name + "/" + std::to_string(i)];
    result.push_back({{}, {tensor.shape.begin(), tensor.shape.end()}, tensor.values});
  }
  return result;
}

/// A tensor as an array of the caller's type, such as xt::xtensor<float, 2>.
template <class Array>
Array array_of(tensor const& from) {
  typename Array::shape_type shape{};
  std::copy(from.shape.begin(), from.shape.end(), shape.begin());
  Array result(shape);
  for (std::size_t i = 0; i < result.size(); ++i)
    result.flat(i) = static_cast<typename Array::value_type>(from.values[i]);
  return result;
}

template <class Found>
double largest_difference(Found const& found, std::vector<float> const& expected) {
  REQUIRE(found.size() == expected.size());
  REQUIRE(found.size() > 0);
  double largest = 0;
  std::size_t i = 0;
  for (auto const each : found) {
    REQUIRE(std::isfinite(each));
    largest = std::max(largest, std::abs(static_cast<double>(each) - static_cast<double>(expected[i++])));
  }
  return largest;
}

/// Ten steps: `values_of(step)` carries one out, and returns what it reports. Weights must have moved, and be those of
/// the file to 1e-5.
template <class Trainer, class Step>
void check_ten_steps(file const& all, std::string const& name, Trainer& model, Step const& values_of) {
  using weights = decltype(model.get_weights());
  auto const before = weights_of<typename weights::value_type>(all, name + "/before"),
             after = weights_of<typename weights::value_type>(all, name + "/after");
  model.set_weights(before);
  auto const& losses = all[name + "/losses"].values;
  std::size_t const count = losses.size() / 10;
  for (std::size_t step = 0; step < 10; ++step) {
    CAPTURE(step);
    auto const values = values_of("/" + std::to_string(step));
    for (std::size_t i = 0; i < count; ++i)
      CHECK(std::abs(static_cast<double>(values[i]) - static_cast<double>(losses[step * count + i])) < 1e-5);
  }
  auto const found = model.get_weights();
  REQUIRE(found.size() == after.size());
  double moved = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(largest_difference(found[i].values, after[i].values) < 1e-5);
    moved = std::max(moved, largest_difference(found[i].values, before[i].values));
  }
  CHECK(moved > 1e-2);
}

}  // namespace golden
