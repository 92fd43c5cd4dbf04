// SPDX-License-Identifier: BSD-3-Clause
// The mean or the largest value of each channel of a sample, and the gradients. Keras counterpart:
// tf.keras.layers.GlobalAveragePooling2D, GlobalMaxPooling2D and those of one axis. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/channel_block.hpp>
#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

#include <cstdint>
#include <limits>

namespace stagecraft::kernels {

namespace detail {

/// y = combine over all positions of a sample, beginning with `start`, in four partial results that are combined at the
/// end; `finish` is applied to what is stored.
template <int Positions, int Channels, class Arch, class Combine, class Finish>
inline void reduce_positions(float const* x, float* y, float start, Combine const& combine, Finish const& finish) {
  for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
    using block = channel_block<Vectors, Last, Arch>;
    constexpr int parts = Vectors <= 2 ? 4 : 2;
    block part[parts];
    for (auto& each : part) each = block::of(start);
    float const* cell = x + channel;
    int position = 0;
    for (; position + parts <= Positions; position += parts) {
#pragma GCC unroll 4
      for (int i = 0; i < parts; ++i, cell += Channels) part[i].combine(combine, block::load(cell));
    }
    for (; position < Positions; ++position, cell += Channels) part[0].combine(combine, block::load(cell));
#pragma GCC unroll 4
    for (int i = 1; i < parts; ++i) part[0].combine(combine, part[i]);
    part[0].combine(finish);
    part[0].store(y + channel);
  });
}

}  // namespace detail

/// y = the mean of each channel over a sample's positions.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, class Arch = default_architecture>
inline void global_average_pooling(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::reduce_positions<Positions, Channels, Arch>(
        x + sample * Positions * Channels, y + sample * Channels, 0.0F,
        [](value const& a, value const& b) { return a + b; },
        [](value const& sum) { return sum * value(1.0F / static_cast<float>(Positions)); });
}

/// dx (or dx +=, if Accumulate): each channel's dy, divided equally among the positions.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, bool Accumulate = false, class Arch = default_architecture>
inline void global_average_pooling_gradient(float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::for_channel_blocks<Channels, Arch>([&]<int Vectors, int Last>(int channel) {
      using block = detail::channel_block<Vectors, Last, Arch>;
      auto const gradient = block::load(dy + sample * Channels + channel);
      value const factor(1.0F / static_cast<float>(Positions));
      float* cell = dx + sample * Positions * Channels + channel;
      for (int position = 0; position < Positions; ++position, cell += Channels) {
        auto result = gradient;
        if constexpr (Accumulate)
          result.combine([&](value const& g, value const& old) { return fused_multiply_add(factor, g, old); },
                         block::load(cell));
        else
          result.combine([&](value const& g) { return factor * g; });
        result.store(cell);
      }
    });
}

/// y = the largest value of each channel over a sample's positions; NaN if there is one.
/// Items of `part`: samples.
template <int Batch, int Positions, int Channels, class Arch = default_architecture>
inline void global_max_pooling(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  auto const [first, last] = part.of(Batch);
  for (std::int64_t sample = first; sample < last; ++sample)
    detail::reduce_positions<Positions, Channels, Arch>(
        x + sample * Positions * Channels, y + sample * Channels, -std::numeric_limits<float>::infinity(),
        [](value const& a, value const& b) { return xsimd::select(xsimd::isnan(a), a, at_least(b, a)); },
        [](value const& largest) { return largest; });
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
      // Without a winner, since all are NaN, 0 / 0 is what each gets.
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
