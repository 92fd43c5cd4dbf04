// SPDX-License-Identifier: BSD-3-Clause
// Keras's `padding` argument, and what follows from it along one axis.
#pragma once

namespace stagecraft {

/// What happens at the borders of a sliding window.
enum class padding : unsigned char {
  valid,   ///< the window stays inside the input
  same,    ///< zeros around it, so that with stride 1 the output is as long as the input; the odd one stands behind
  causal,  ///< zeros before it, so that no output sees a later input; conv1d only
};

/// A window that slides along one axis, in TensorFlow's terms.
/// Definition: TensorFlow API, nn ("Notes on padding"); Keras API, layers/convolution_layers/convolution1d (causal).
struct sliding_window {
  int input = 1;
  int window = 1;
  int stride = 1;
  int dilation = 1;
  stagecraft::padding padding = stagecraft::padding::valid;

  /// Inputs from the first to the last that one output sees.
  [[nodiscard]] constexpr int extent() const noexcept { return (window - 1) * dilation + 1; }
  /// Outputs along the axis; 0 or less if the window does not fit into the input.
  [[nodiscard]] constexpr int output() const noexcept {
    if (padding == stagecraft::padding::valid) return input < extent() ? 0 : (input - extent()) / stride + 1;
    return (input + stride - 1) / stride;
  }
  /// Zeros before the input.
  [[nodiscard]] constexpr int before() const noexcept {
    if (padding == stagecraft::padding::valid) return 0;
    return padding == stagecraft::padding::causal ? extent() - 1 : total() / 2;
  }
  /// Zeros behind the input.
  [[nodiscard]] constexpr int after() const noexcept {
    return padding == stagecraft::padding::same ? total() - total() / 2 : 0;
  }

 private:
  [[nodiscard]] constexpr int total() const noexcept {
    int const needed = (output() - 1) * stride + extent() - input;
    return needed > 0 ? needed : 0;
  }
};

}  // namespace stagecraft
