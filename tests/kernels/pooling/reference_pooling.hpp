// SPDX-License-Identifier: BSD-3-Clause
// The formulas of pooling, one number at a time: the oracle of the tests, and the place to read what a
// kernel computes. Keras counterpart: tf.keras.layers.MaxPooling2D, AveragePooling2D.
#pragma once

#include <stagecraft/kernels/pooling/pooling_shape.hpp>

#include <cstdint>
#include <limits>

namespace stagecraft::kernels::reference {

/// Calls visit(output, position, input) for each window and each of its cells inside the input, row by row.
template <class Visit>
void for_each_pooled_cell(int batch, pooling_shape const& s, Visit const& visit) {
  for (int sample = 0; sample < batch; ++sample)
    for (int row = 0; row < s.output_height(); ++row)
      for (int column = 0; column < s.output_width(); ++column)
        for (int channel = 0; channel < s.channels; ++channel)
          for (int position = 0; position < s.pool_area(); ++position) {
            int const y = row * s.stride_height - s.top + position / s.pool_width;
            int const x = column * s.stride_width - s.left + position % s.pool_width;
            if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
            int const output = (row * s.output_width() + column) * s.channels + channel;
            visit(sample * s.output_size() + output, position,
                  sample * s.input_size() + (y * s.width + x) * s.channels + channel);
          }
}

/// `winners` are the inputs to which the gradient goes.
inline void max_pooling(int batch, pooling_shape const& s, float const* x, float* y, int* winners) {
  for (int i = 0; i < batch * s.output_size(); ++i) {
    y[i] = -std::numeric_limits<float>::infinity();
    winners[i] = -1;
  }
  for_each_pooled_cell(batch, s, [&](int output, int, int input) {
    bool const is_first_nan = x[input] != x[input] && y[output] == y[output];
    if (winners[output] >= 0 && !(x[input] > y[output]) && !is_first_nan) return;
    y[output] = x[input];
    winners[output] = input;
  });
}

inline void average_pooling(int batch, pooling_shape const& s, float const* x, double* y, int* counts) {
  for (int i = 0; i < batch * s.output_size(); ++i) {
    y[i] = 0;
    counts[i] = 0;
  }
  for_each_pooled_cell(batch, s, [&](int output, int, int input) {
    y[output] += static_cast<double>(x[input]);
    ++counts[output];
  });
  for (int i = 0; i < batch * s.output_size(); ++i) y[i] /= counts[i];
}

}  // namespace stagecraft::kernels::reference
