// SPDX-License-Identifier: BSD-3-Clause
// Ten steps of a trainer beside those of a section of a golden file: "name/before/0", "name/losses", "name/after/0".
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <utility>
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

/// Ten steps: `values_of("/3")` carries out step 3, and returns what it reports. Weights must have moved, and be those
/// of the file to 1e-5, as must be the losses, or 1e-5 of those above 1. The file has the weights of `parts` one after
/// the other, such as {"/teacher", "/student"}.
template <class Trainer, class Step>
void check_ten_steps(file const& all, std::string const& name, Trainer& model, Step const& values_of,
                     std::vector<std::string> const& parts = {""}) {
  using weight = typename decltype(model.get_weights())::value_type;
  auto const of_all_parts = [&](char const* when) {
    std::vector<weight> result;
    for (auto const& part : parts)
      for (auto& each : weights_of<weight>(all, name + part + when)) result.push_back(std::move(each));
    return result;
  };
  auto const before = of_all_parts("/before"), after = of_all_parts("/after");
  model.set_weights(before);
  auto const& losses = all[name.empty() ? "losses" : name + "/losses"].values;
  std::size_t const count = losses.size() / 10;
  for (std::size_t step = 0; step < 10; ++step) {
    CAPTURE(step);
    auto const values = values_of("/" + std::to_string(step));
    for (std::size_t i = 0; i < count; ++i) {
      auto const expected = static_cast<double>(losses[step * count + i]);
      CHECK(std::abs(static_cast<double>(values[i]) - expected) < 1e-5 * std::max(1.0, std::abs(expected)));
    }
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
