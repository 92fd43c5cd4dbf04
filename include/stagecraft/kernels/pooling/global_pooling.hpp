// SPDX-License-Identifier: BSD-3-Clause
// The largest value of each channel of a sample, and the gradient. Keras counterpart:
// tf.keras.layers.GlobalMaxPooling2D and GlobalMaxPooling1D.
#pragma once

#include <stagecraft/kernels/simd/parts_of_registers.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstdint>
#include <limits>

namespace stagecraft::kernels {

/// y = the largest value of each channel over a sample's positions; NaN if there is one.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, class Arch = default_architecture>
inline void global_max_pooling(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  auto const larger = [](value const& a, value const& b) { return kernels::larger(a, b); };
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
      using block = detail::channel_block<Vectors, Last, Arch>;
      constexpr int parts = Vectors <= 2 ? 4 : 2;  // partial maxima that do not wait for each other
      block part_of[parts];
      for (auto& each : part_of) each = block::of(-std::numeric_limits<float>::infinity());
      float const* cell = x + sample * Positions * Channels + channel;
      int position = 0;
      for (; position + parts <= Positions; position += parts) {
#pragma GCC unroll 4
        for (int i = 0; i < parts; ++i, cell += Channels) part_of[i].combine(larger, block::load(cell));
      }
      for (; position < Positions; ++position, cell += Channels) part_of[0].combine(larger, block::load(cell));
#pragma GCC unroll 4
      for (int i = 1; i < parts; ++i) part_of[0].combine(larger, part_of[i]);
      part_of[0].store(y + sample * Channels + channel);
    });
}

/// dx (or dx +=, if Accumulate): each channel's dy, divided equally among the positions that hold its largest value, as
/// TensorFlow does. A channel with a NaN gets NaN.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, bool Accumulate = false, class Arch = default_architecture>
inline void global_max_pooling_gradient(float const* x, float const* y, float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
      using block = detail::channel_block<Vectors, Last, Arch>;
      std::int64_t const begin = sample * Positions * Channels + channel;
      auto const largest = block::load(y + sample * Channels + channel);
      auto count = block::of(0.0F);
      float const* cell = x + begin;
      for (int position = 0; position < Positions; ++position, cell += Channels)
        count.combine([](value const& sum, value const& a,
                         value const& b) { return sum + xsimd::select(a == b, value(1.0F), value(0.0F)); },
                      block::load(cell), largest);
      // If all positions are NaN there is no winner, and each gets 0 / 0.
      auto hit = block::of(1.0F);
      hit.combine([](value const& one, value const& n) { return one / n; }, count);
      auto miss = block::of(0.0F);
      miss.combine([](value const& zero, value const& n) { return zero / n; }, count);
      auto const gradient = block::load(dy + sample * Channels + channel);
      hit.combine([](value const& a, value const& g) { return a * g; }, gradient);
      miss.combine([](value const& a, value const& g) { return a * g; }, gradient);
      cell = x + begin;
      float* sent = dx + begin;
      for (int position = 0; position < Positions; ++position, cell += Channels, sent += Channels) {
        auto result = block::load(cell);
        result.combine([](value const& a, value const& b, value const& yes,
                          value const& no) { return xsimd::select(a == b, yes, no); },
                       largest, hit, miss);
        if constexpr (Accumulate)
          result.combine([](value const& g, value const& old) { return old + g; }, block::load(sent));
        result.store(sent);
      }
    });
}

}  // namespace stagecraft::kernels
