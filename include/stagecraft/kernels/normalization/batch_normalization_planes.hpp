// SPDX-License-Identifier: BSD-3-Clause
// Normalization of each channel over planes: statistics, output and gradients where the channels are not the last axis.
// Keras counterpart: tf.keras.layers.BatchNormalization with an axis of its own.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cmath>
#include <cstdint>

namespace stagecraft::kernels {

/// `outer` x `Channels` planes of `Inner` floats. Each function works on one channel: threads divide the channels.
template <int Channels, int Inner, class Arch = default_architecture>
struct channel_planes {
  using value = batch<Arch>;

  struct statistics {
    float mean;
    float variance;  ///< that of n of n numbers
  };
  struct sums {
    float of_gradient;            ///< sum of dy
    float of_gradient_deviation;  ///< sum of dy * (x - mean)
  };

  /// Each plane's own statistics in two passes, joined by Chan's formula.
  [[nodiscard]] static statistics measure(float const* x, std::int64_t outer, int channel) {
    double mean = 0, squares = 0;
    for (std::int64_t block = 0; block < outer; ++block) {
      float const* const plane = at(x, block, channel);
      float const near = sum([](value const& v) { return v; }, plane) / static_cast<float>(Inner);
      value const shift(near);
      double const rest = sum([&](value const& v) { return v - shift; }, plane);
      double const square = sum([&](value const& v) { return (v - shift) * (v - shift); }, plane);
      double const plane_mean = static_cast<double>(near) + rest / Inner;
      double const delta = plane_mean - mean;
      auto const before = static_cast<double>(block);
      squares += square - rest * rest / Inner + delta * delta * Inner * (before / (before + 1));
      mean += delta / (before + 1);
    }
    return {static_cast<float>(mean), static_cast<float>(squares / (static_cast<double>(outer) * Inner))};
  }

  /// y = (x - mean) * scale + offset.
  static void normalize(float const* x, std::int64_t outer, int channel, float mean, float scale, float offset,
                        float* y) {
    value const m(mean), s(scale), o(offset);
    for (std::int64_t block = 0; block < outer; ++block)
      transform<Arch>(
          Inner, [&](value const& v) { return fused_multiply_add(v - m, s, o); }, at(y, block, channel),
          at(x, block, channel));
  }

  [[nodiscard]] static sums gradient_sums(float const* x, float const* dy, std::int64_t outer, int channel,
                                          float mean) {
    double of_gradient = 0, of_gradient_deviation = 0;
    value const m(mean);
    for (std::int64_t block = 0; block < outer; ++block) {
      float const *const from = at(x, block, channel), *const gradient = at(dy, block, channel);
      of_gradient += sum([](value const& g) { return g; }, gradient);
      of_gradient_deviation += sum([&](value const& g, value const& v) { return g * (v - m); }, gradient, from);
    }
    return {static_cast<float>(of_gradient), static_cast<float>(of_gradient_deviation)};
  }

  /// dx (or dx +=, if Accumulate) = scale * (dy - mean_gradient - (x - mean) * slope).
  template <bool Accumulate>
  static void gradient(float const* x, float const* dy, std::int64_t outer, int channel, float mean, float scale,
                       float mean_gradient, float slope, float* dx) {
    value const m(mean), s(scale), d(mean_gradient), e(slope);
    auto const without_scale = [&](value const& v, value const& g) {
      return fused_negative_multiply_add(v - m, e, g - d);
    };
    for (std::int64_t block = 0; block < outer; ++block) {
      float* const to = at(dx, block, channel);
      if constexpr (Accumulate)
        transform<Arch>(
            Inner,
            [&](value const& v, value const& g, value const& before) {
              return fused_multiply_add(s, without_scale(v, g), before);
            },
            to, at(x, block, channel), at(dy, block, channel), static_cast<float const*>(to));
      else
        transform<Arch>(
            Inner, [&](value const& v, value const& g) { return s * without_scale(v, g); }, to, at(x, block, channel),
            at(dy, block, channel));
    }
  }

 private:
  template <class Float>
  static Float* at(Float* x, std::int64_t block, int channel) {
    return x + (block * Channels + channel) * Inner;
  }

  /// The sum of a function that is not 0 where its arguments are.
  template <class Function, class... Inputs>
  [[nodiscard]] static float sum(Function const& function, Inputs... x) {
    constexpr int whole = Inner / lanes<Arch> * lanes<Arch>;
    float result = whole > 0 ? transform_sum<Arch>(whole, function, x...) : 0.0F;
    if constexpr (whole < Inner)
      result +=
          horizontal_sum(keep_first<Arch>(function(load_lanes<Inner - whole, Arch>(x + whole)...), Inner - whole));
    return result;
  }
};

}  // namespace stagecraft::kernels
