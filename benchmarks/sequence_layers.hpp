// SPDX-License-Identifier: BSD-3-Clause
// The layers of sequences whose programs are compared, and what these have in common: the weights that they begin with,
// the samples, the loss.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace stagecraft::benchmarks {

/// An LSTM that gives its last output.
inline constexpr int lstm_batch = 32, lstm_steps = 64, lstm_features = 128, lstm_units = 256;
/// Attention of a sequence to itself.
inline constexpr int attention_batch = 8, attention_places = 128, attention_features = 256, attention_heads = 4;

/// The inner units of a transformer's block, whose attention is the one above.
inline constexpr int block_units = 1024;

/// A table of vectors.
inline constexpr int embedding_batch = 32, embedding_steps = 256, embedding_rows = 10000, embedding_width = 128;

/// The weights of a layer in Keras's order, row by row.
using layer_weights = std::vector<std::vector<float>>;

inline std::vector<float> drawn_floats(std::size_t count, float deviation, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> result(count);
  for (float& value : result) value = normal(generator);
  return result;
}

inline layer_weights lstm_weights() {
  constexpr std::size_t width = 4UL * lstm_units;
  return {drawn_floats(lstm_features * width, 0.05F, 1), drawn_floats(lstm_units * width, 0.05F, 2),
          drawn_floats(width, 0.1F, 3)};
}

/// Query, key, value, each a kernel and a bias, and the output's.
inline layer_weights attention_weights() {
  constexpr std::size_t f = attention_features;
  layer_weights result;
  for (unsigned i = 0; i < 4; ++i) {
    result.push_back(drawn_floats(f * f, 0.06F, 2 * i + 1));
    result.push_back(drawn_floats(f, 0.1F, 2 * i + 2));
  }
  return result;
}

/// Normalization, attention, normalization, two dense layers.
inline layer_weights block_weights() {
  constexpr std::size_t f = attention_features, u = block_units;
  layer_weights result{std::vector<float>(f, 1.0F), drawn_floats(f, 0.1F, 21)};
  for (auto& one : attention_weights()) result.push_back(one);
  for (auto& one : {std::vector<float>(f, 1.0F), drawn_floats(f, 0.1F, 22), drawn_floats(f * u, 0.06F, 23),
                    drawn_floats(u, 0.1F, 24), drawn_floats(u * f, 0.03F, 25), drawn_floats(f, 0.1F, 26)})
    result.push_back(one);
  return result;
}

inline std::vector<float> drawn_tokens() {
  std::mt19937 generator(15);
  std::vector<float> tokens(std::size_t{embedding_batch} * embedding_steps);
  for (float& token : tokens) token = static_cast<float>(generator() % embedding_rows);
  return tokens;
}

/// Mean squared error of rows, and its gradient.
inline float squared_error(float const* y, float const* target, float* gradient, int rows, int columns) {
  float sum = 0;
  float const scale = 2.0F / (static_cast<float>(rows) * static_cast<float>(columns));
  for (int i = 0; i < rows * columns; ++i) {
    float const error = y[i] - target[i];
    sum += error * error;
    gradient[i] = scale * error;
  }
  return sum / (static_cast<float>(rows) * static_cast<float>(columns));
}

}  // namespace stagecraft::benchmarks
