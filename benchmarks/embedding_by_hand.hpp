// SPDX-License-Identifier: BSD-3-Clause
// The peer: a table of vectors by hand. Its gradient is never made: each row that a token names is changed at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sequence_layers.hpp"

namespace stagecraft::benchmarks {

class embedding_by_hand {
  static constexpr std::size_t tokens = std::size_t{embedding_batch} * embedding_steps, width = embedding_width;

 public:
  embedding_by_hand(layer_weights const& weights, bool /*trains*/) : table_(weights[0]) {}

  float const* predict_on_batch(float const* x) {
    for (std::size_t i = 0; i < tokens; ++i) std::copy_n(row(x[i]), width, y_.data() + i * width);
    return y_.data();
  }
  /// One step of stochastic gradient descent. Gives the mean squared error before it.
  float train_on_batch(float const* x, float const* target) {
    float const loss = squared_error(predict_on_batch(x), target, dy_.data(), tokens, width);
    for (std::size_t i = 0; i < tokens; ++i) {
      float* const own = row(x[i]);
      for (std::size_t k = 0; k < width; ++k) own[k] -= 0.01F * dy_[i * width + k];
    }
    return loss;
  }

 private:
  float* row(float token) { return table_.data() + static_cast<std::size_t>(token) * width; }

  std::vector<float> table_, y_ = std::vector<float>(tokens * width), dy_ = y_;
};

}  // namespace stagecraft::benchmarks
