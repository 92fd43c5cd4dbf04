// SPDX-License-Identifier: BSD-3-Clause
// Makes images larger by whole factors, by bilinear interpolation, and the gradient. Keras counterpart:
// tf.keras.layers.UpSampling2D.
#pragma once

#include <stagecraft/kernels/simd/parts_of_registers.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstdint>

namespace stagecraft::kernels {

/// An image (height, width, channels) and its two factors.
struct up_sampling_shape {
  int height = 1, width = 1, channels = 1;
  int factor_height = 1, factor_width = 1;

  [[nodiscard]] constexpr int output_height() const noexcept { return height * factor_height; }
  [[nodiscard]] constexpr int output_width() const noexcept { return width * factor_width; }
  [[nodiscard]] constexpr int input_size() const noexcept { return height * width * channels; }
  [[nodiscard]] constexpr int output_size() const noexcept { return output_height() * output_width() * channels; }

  friend constexpr bool operator==(up_sampling_shape const&, up_sampling_shape const&) = default;
};

namespace detail {

/// The inputs of one axis between which each output lies, with TensorFlow's half-pixel centres; and the outputs beside
/// each input.
template <int Length, int Factor>
struct interpolated_axis {
  static constexpr int outputs = Length * Factor;

  int lower[outputs]{}, upper[outputs]{};
  float weight[outputs]{};  ///< weight of the upper input
  int first[Length]{}, last[Length]{};

  constexpr interpolated_axis() {
    constexpr float scale = static_cast<float>(Length) / static_cast<float>(outputs);
    for (int i = 0; i < Length; ++i) first[i] = outputs;
    for (int output = 0; output < outputs; ++output) {
      float const place = (static_cast<float>(output) + 0.5F) * scale - 0.5F;
      int const whole = place < 0 ? -1 : static_cast<int>(place);  // rounded down: place is above -1
      int const next = place > static_cast<float>(whole) ? whole + 1 : whole;
      lower[output] = whole > 0 ? whole : 0;
      upper[output] = next < Length ? next : Length - 1;
      weight[output] = place - static_cast<float>(whole);
      for (int const input : {lower[output], upper[output]}) {
        if (first[input] > output) first[input] = output;
        last[input] = output + 1;
      }
    }
  }

  /// The weight of an input in an output.
  [[nodiscard]] constexpr float share_of(int input, int output) const {
    return (lower[output] == input ? 1.0F - weight[output] : 0.0F) + (upper[output] == input ? weight[output] : 0.0F);
  }
};

template <int Length, int Factor>
inline constexpr interpolated_axis<Length, Factor> interpolation_of{};

}  // namespace detail

/// y = x, bilinearly interpolated. Items of `part`: rows of y, of all samples.
template <int Batch, up_sampling_shape Shape, class Arch = default_architecture>
inline void up_sampling_bilinear(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  constexpr auto const& rows = detail::interpolation_of<Shape.height, Shape.factor_height>;
  constexpr auto const& columns = detail::interpolation_of<Shape.width, Shape.factor_width>;
  constexpr std::int64_t row_size = static_cast<std::int64_t>(Shape.width) * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.output_height());
  for (std::int64_t item = first; item < last; ++item) {
    auto const row = item % Shape.output_height();
    float const* const sample = x + item / Shape.output_height() * Shape.input_size();
    float const* const above = sample + rows.lower[row] * row_size;
    float const* const below = sample + rows.upper[row] * row_size;
    value const down(rows.weight[row]);
    float* pixel = y + item * Shape.output_width() * Shape.channels;
    for (int column = 0; column < Shape.output_width(); ++column, pixel += Shape.channels) {
      int const left = columns.lower[column] * Shape.channels, right = columns.upper[column] * Shape.channels;
      value const across(columns.weight[column]);
      auto const between = [&](value const& a, value const& b) { return fused_multiply_add(b - a, across, a); };
      detail::for_channel_blocks<Shape.channels, Arch>([&]<int Vectors, int Last>(int channel) {
        using block = detail::channel_block<Vectors, Last, Arch>;
        auto result = block::load(above + left + channel);
        result.combine(between, block::load(above + right + channel));
        auto under = block::load(below + left + channel);
        under.combine(between, block::load(below + right + channel));
        result.combine([&](value const& a, value const& b) { return fused_multiply_add(b - a, down, a); }, under);
        result.store(pixel + channel);
      });
    }
  }
}

/// dx (or dx +=, if Accumulate) the gradient of `up_sampling_bilinear`. Items of `part`: rows of dx, of all samples.
template <int Batch, up_sampling_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void up_sampling_bilinear_gradient(float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  constexpr auto const& rows = detail::interpolation_of<Shape.height, Shape.factor_height>;
  constexpr auto const& columns = detail::interpolation_of<Shape.width, Shape.factor_width>;
  constexpr std::int64_t output_row_size = static_cast<std::int64_t>(Shape.output_width()) * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    int const row = static_cast<int>(item % Shape.height);
    float const* const sample = dy + item / Shape.height * Shape.output_size();
    float* pixel = dx + item * Shape.width * Shape.channels;
    for (int column = 0; column < Shape.width; ++column, pixel += Shape.channels)
      detail::for_channel_blocks<Shape.channels, Arch>([&]<int Vectors, int Last>(int channel) {
        using block = detail::channel_block<Vectors, Last, Arch>;
        auto sum = Accumulate ? block::load(pixel + channel) : block::of(0.0F);
        for (int output_row = rows.first[row]; output_row < rows.last[row]; ++output_row) {
          float const down = rows.share_of(row, output_row);
          float const* const from = sample + output_row * output_row_size + channel;
          for (int output = columns.first[column]; output < columns.last[column]; ++output) {
            value const factor(down * columns.share_of(column, output));
            sum.combine([&](value const& s, value const& g) { return fused_multiply_add(factor, g, s); },
                        block::load(from + output * Shape.channels));
          }
        }
        sum.store(pixel + channel);
      });
  }
}

}  // namespace stagecraft::kernels
