// SPDX-License-Identifier: BSD-3-Clause
// Keras's `padding` argument, and the windows that follow from it along one axis.
#pragma once

namespace stagecraft {

/// The treatment of borders by a sliding window.
enum class padding : unsigned char {
  valid,   ///< the window stays inside the input
  same,    ///< zeros around the input, so that with stride 1 the output is as long; an odd one stands at the end
  causal,  ///< zeros before the input, so that no output sees a later input; conv1d only
};

/// A window that slides along one axis, in TensorFlow's terms.
/// Definition: TensorFlow API, nn ("Notes on padding"); Keras API, layers/convolution_layers/convolution1d (causal).
struct sliding_window {
  int input = 1;
  int window = 1;
  int stride = 1;
  int dilation = 1;
  stagecraft::padding padding = stagecraft::padding::valid;

  /// The longest window, its dilation included, and the longest stride.
  static constexpr int longest = 1 << 24;
  /// True if none of these numbers is above the limit: E1031, E1040.
  [[nodiscard]] static constexpr bool is_short(int window, int stride, int dilation) noexcept {
    return stride <= longest && dilation <= longest && (window - 1LL) * dilation < longest;
  }

  /// Number of inputs from the first to the last that one output sees.
  [[nodiscard]] constexpr int extent() const noexcept { return (window - 1) * dilation + 1; }
  /// Number of outputs along the axis; 0 or less if the window does not fit into the input.
  [[nodiscard]] constexpr int output() const noexcept {
    if (padding == stagecraft::padding::valid) return input < extent() ? 0 : (input - extent()) / stride + 1;
    return (input + stride - 1) / stride;
  }
  /// Number of outputs of a transposed convolution with this window, at most `longest_output`; an `extra` of -1 stands
  /// for none. Definition: keras/utils/conv_utils.py (deconv_output_length).
  [[nodiscard]] constexpr int transposed_output(int extra) const noexcept {
    bool const same = padding == stagecraft::padding::same;
    int const k = extent();
    long long const all = extra >= 0 ? (input - 1LL) * stride + k - (same ? k / 2 * 2 : 0) + extra
                                     : 1LL * input * stride + (!same && k > stride ? k - stride : 0);
    return all < longest_output ? static_cast<int>(all) : longest_output;
  }
  static constexpr int longest_output = 1 << 29;
  /// Number of zeros before the input.
  [[nodiscard]] constexpr int before() const noexcept {
    if (padding == stagecraft::padding::valid) return 0;
    return padding == stagecraft::padding::causal ? extent() - 1 : total() / 2;
  }
  /// Number of zeros after the input.
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
