// SPDX-License-Identifier: BSD-3-Clause
// Dropout of whole channels: one random number for each channel of a sample. The mask is never stored. Keras
// counterpart: tf.keras.layers.SpatialDropout2D and SpatialDropout1D (training=True). Level 4 of the house.
#pragma once

#include <stagecraft/kernels/channel_block.hpp>
#include <stagecraft/kernels/random.hpp>
#include <stagecraft/kernels/share.hpp>

#include <cstdint>

namespace stagecraft::kernels {

/// y = x / (1 - rate) (or y +=, if Accumulate) in the channels of a sample whose uniform number is at least `rate`,
/// else 0. The counter of sample s and channel c is s * Channels + c. This is its own gradient: x is dy then, and y is
/// dx. 0 <= rate < 1. Items of `part`: samples.
template <int Batch, int Positions, int Channels, bool Accumulate = false, class Arch = default_architecture>
inline void spatial_dropout(float const* x, float* y, float rate, random_key const& key, share part = {}) {
  using value = batch<Arch>;
  value const limit(rate);
  value const scale(1.0F / (1.0F - rate));
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
      using block = detail::channel_block<Vectors, Last, Arch>;
      block factor;
      for (int i = 0; i < Vectors; ++i) {
        auto const counter = static_cast<std::uint64_t>(sample * Channels + channel + i * lanes<Arch>);
        factor.values[i] = xsimd::select(random_uniform_batch<Arch>(key, counter) >= limit, scale, value(0.0F));
      }
      std::int64_t const begin = sample * Positions * Channels + channel;
      float const* from = x + begin;
      float* to = y + begin;
      for (int position = 0; position < Positions; ++position, from += Channels, to += Channels) {
        auto result = block::load(from);
        if constexpr (Accumulate)
          result.combine(
              [](value const& v, value const& f, value const& old) {
                return xsimd::select(f > value(0.0F), fused_multiply_add(v, f, old), old);
              },
              factor, block::load(to));
        else
          result.combine(
              [](value const& v, value const& f) { return xsimd::select(f > value(0.0F), v * f, value(0.0F)); },
              factor);
        result.store(to);
      }
    });
}

}  // namespace stagecraft::kernels
