// SPDX-License-Identifier: BSD-3-Clause
// What the tests of sessions share: made-up data, weights as vectors.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "../session_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace data {

/// A number in (-1, 1) for each pair.
inline float number(int sample, int index) {
  std::uint32_t z = static_cast<std::uint32_t>(sample * 7919 + index * 104729 + 12345) * 2654435761U;
  z ^= z >> 15U;
  z *= 2246822519U;
  z ^= z >> 13U;
  return static_cast<float>(static_cast<std::int32_t>(z >> 8U) - (1 << 23)) / static_cast<float>(1 << 23);
}

/// Samples first, first + 1, ... of inputs and of targets (floats or class numbers), and zeros behind them.
template <class Session>
void fill(Session& s, int first, int count = Session::batch) {
  for (int i = 0; i < Session::input_count(); ++i) {
    int const size = Session::input_shape(i).size();
    for (int k = 0; k < Session::batch * size; ++k)
      s.input(i)[k] = k / size < count ? number(first + k / size, 100 * i + k % size) : 0;
  }
  int const columns = Session::output_shape(0).back();
  int const per_sample = Session::rows_per_sample(0);
  for (int row = 0; row < Session::batch * per_sample; ++row) {
    int const sample = row / per_sample;
    s.scale(0)[row] = sample < count ? 1.0F / static_cast<float>(count * per_sample) : 0;
    auto* const target = s.template target<0>();
    if constexpr (Session::sparse_targets(0))
      target[row] = (first + row) % columns;
    else
      for (int column = 0; column < columns; ++column)
        target[row * columns + column] = number(first + sample, 1000 + row % per_sample * columns + column);
  }
}

/// All weights, one after the other.
template <class Session>
std::vector<float> weights(Session const& s) {
  std::vector<float> result;
  [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
    auto const read = [&]<std::size_t Index>() {
      auto const size = static_cast<std::size_t>(Session::graph.parameters[Index].size());
      result.resize(result.size() + size);
      s.template read_weight<Index>(result.data() + result.size() - size);
    };
    (read.template operator()<Weight>(), ...);
  }(std::make_index_sequence<Session::graph.parameters.size()>{});
  return result;
}

template <class Session>
void step(Session& s, int first, int count = Session::batch) {
  fill(s, first, count);
  s.train_step([] {});
}

inline double deviation(std::vector<float> const& a, std::vector<float> const& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    double const difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace data
