// SPDX-License-Identifier: BSD-3-Clause
// Where one replica keeps the norms that its weight updates read, and by what its losses are multiplied.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/optimizers/dynamic_loss_scale.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::engine {

/// How the elements of a weight are divided for sums over them: into blocks, which no shard of a replica cuts. So sums
/// depend neither on threads nor on whether replicas share the work.
struct norm_blocks {
  static constexpr std::int64_t floats = 2048;
  using range = kernels::share::range;

  std::int64_t size;  ///< of the weight
  int shards;

  [[nodiscard]] constexpr range shard(int which) const { return kernels::shard_of(size, which, shards); }
  [[nodiscard]] constexpr std::int64_t count_of(int which) const {
    auto const [first, last] = shard(which);
    return (last - first + floats - 1) / floats;
  }
  /// The elements of a block, which is one of a shard's.
  [[nodiscard]] constexpr range elements(int which, std::int64_t block) const {
    auto const [first, last] = shard(which);
    auto const begin = first + block * floats, end = begin + floats;
    return {begin, end < last ? end : last};
  }
  [[nodiscard]] constexpr std::int64_t count() const {
    std::int64_t blocks = 0;
    for (int i = 0; i < shards; ++i) blocks += count_of(i);
    return blocks;
  }
};

/// For `Weights` weights, each with up to `Norms` norms, of `Shards` replicas.
template <std::size_t Weights, int Norms, int Shards>
struct norm_memory {
  using numbers = std::array<double, Norms>;
  using of_weights = std::array<numbers, Weights>;

  explicit norm_memory(std::int64_t blocks) : squares(static_cast<std::size_t>(blocks)) {}

  std::vector<numbers> squares;           ///< sums of each block, a weight after the other
  std::array<of_weights, Shards> sums{};  ///< of each shard
  of_weights norms{};                     ///< what the optimizer reads
};

/// Where one replica keeps what its losses are multiplied by: each of its devices the same, and nothing if that does
/// not change.
template <bool IsDynamic>
struct loss_scale_memory {
  loss_scale_memory(int devices, float initial)
      : of_device(static_cast<std::size_t>(devices), dynamic_loss_scale{.scale = initial}) {}

  tracing::growing_array<dynamic_loss_scale> of_device;
};
template <>
struct loss_scale_memory<false> {
  loss_scale_memory(int, float) {}
};

/// Optimizers that read none.
template <std::size_t Weights, int Shards>
struct norm_memory<Weights, 0, Shards> {
  explicit norm_memory(std::int64_t) {}
};

}  // namespace stagecraft::engine
