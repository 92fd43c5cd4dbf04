// SPDX-License-Identifier: BSD-3-Clause
// A few registers of neighbouring channels, for kernels that do the same at each position of a sample.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

namespace stagecraft::kernels::detail {

/// Calls `function.operator()<Vectors, Last>(first)` for blocks of channels: Vectors registers, of which the last one
/// holds Last channels.
template <int Channels, class Arch, class Function>
[[gnu::always_inline]] inline void for_channel_blocks(Function const& function) {
  constexpr int width = lanes<Arch>;
  constexpr int block = 4 * width;
  constexpr int blocks = Channels / block;
  constexpr int rest = Channels - blocks * block;
  for (int i = 0; i < blocks; ++i) function.template operator()<4, width>(i * block);
  if constexpr (rest > 0) {
    constexpr int vectors = (rest + width - 1) / width;
    function.template operator()<vectors, rest - (vectors - 1) * width>(blocks * block);
  }
}

/// Vectors registers of channels at p, the last of which holds Last channels.
template <int Vectors, int Last, class Arch>
struct channel_block {
  batch<Arch> values[Vectors];

  [[nodiscard]] static channel_block load(float const* p) {
    channel_block block;
#pragma GCC unroll 4
    for (int i = 0; i + 1 < Vectors; ++i) block.values[i] = batch<Arch>::load_unaligned(p + i * lanes<Arch>);
    block.values[Vectors - 1] = load_lanes<Last, Arch>(p + (Vectors - 1) * lanes<Arch>);
    return block;
  }
  [[nodiscard]] static channel_block of(float value) {
    channel_block block;
#pragma GCC unroll 4
    for (auto& each : block.values) each = batch<Arch>(value);
    return block;
  }
  void store(float* p) const {
#pragma GCC unroll 4
    for (int i = 0; i + 1 < Vectors; ++i) values[i].store_unaligned(p + i * lanes<Arch>);
    store_lanes<Last>(values[Vectors - 1], p + (Vectors - 1) * lanes<Arch>);
  }
  /// values[i] = function(values[i], other.values[i]...)
  template <class Function, class... Other>
  void combine(Function const& function, Other const&... other) {
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) values[i] = function(values[i], other.values[i]...);
  }
};

}  // namespace stagecraft::kernels::detail
