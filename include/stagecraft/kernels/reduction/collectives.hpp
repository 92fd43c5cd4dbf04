// SPDX-License-Identifier: BSD-3-Clause
// Collectives over arrays of which each replica has a version: reduce-scatter and all-reduce in one memory.
// Counterpart: cross-replica sums of the IPU (Graphcore Communication Library).
//
// A replica's array is given by its address, `replicas[r]`, and all have the same size. Each worker does a range of the
// elements, or one replica's shard. Sums are taken in the order of the replicas, 0 + 1 + 2..., element by element: the
// number of workers and their ranges change no bit. The caller lets workers wait for each other where a comment says
// so.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstddef>
#include <cstdint>

namespace stagecraft::kernels {

/// The elements of n that belong to replica `replica` of `count`: whole cache lines, but for the last. Some shards are
/// empty if n is small.
template <class Arch = default_architecture>
[[nodiscard]] constexpr share::range shard_of(std::int64_t n, int replica, int count) noexcept {
  return share{replica, count}.of(n, 16);
}

namespace detail {

/// Reduces the elements of a range, and calls store(batch, element, valid lanes) for each batch.
template <bool Mean, class Arch, class Store>
inline void reduce_range(float const* const* from, int count, share::range range, Store const& store) {
  using value = batch<Arch>;
  constexpr int width = lanes<Arch>;
  value const divisor(static_cast<float>(count));
  auto const finished = [&](value const& sum) {
    if constexpr (Mean)
      return sum / divisor;
    else
      return sum;
  };
  std::int64_t i = range.first;
  for (; i + 4 * width <= range.last; i += 4 * width) {
    value sums[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) sums[k] = value::load_unaligned(from[0] + i + k * width);
    for (int replica = 1; replica < count; ++replica) {
      float const* const x = from[replica] + i;
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) sums[k] = sums[k] + value::load_unaligned(x + k * width);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) store(finished(sums[k]), i + k * width, width);
  }
  for (; i < range.last; i += width) {
    int const valid = static_cast<int>(range.last - i < width ? range.last - i : width);
    value sum = load_first<Arch>(from[0] + i, valid);
    for (int replica = 1; replica < count; ++replica) sum = sum + load_first<Arch>(from[replica] + i, valid);
    store(finished(sum), i, valid);
  }
}

template <class Arch>
inline void store_part(batch<Arch> const& x, float* to, int valid) {
  if (valid == lanes<Arch>)
    x.store_unaligned(to);
  else
    store_first<Arch>(x, to, valid);
}

}  // namespace detail

/// to[i] = replicas[0][i] + replicas[1][i] + ..., or their mean if Mean, for the elements i of a range. `to` may be one
/// of the replicas. With each replica's shard as the range, and the replica itself as `to`, this is a reduce-scatter:
/// all shards may be done at the same time, and all workers have to wait for each other before the first one.
template <bool Mean = false, class Arch = default_architecture>
inline void reduce_scatter(float const* const* replicas, int count, float* to, share::range range) {
  detail::reduce_range<Mean, Arch>(replicas, count, range, [to](batch<Arch> const& sum, std::int64_t i, int valid) {
    detail::store_part<Arch>(sum, to + i, valid);
  });
}

/// Replaces every replica's elements of a range by their sum over all replicas, or their mean if Mean. Ranges that do
/// not overlap may be done at the same time; all workers have to wait for each other before the first one, and before
/// the results are read.
template <bool Mean = false, class Arch = default_architecture>
inline void all_reduce(float* const* replicas, int count, share::range range) {
  detail::reduce_range<Mean, Arch>(replicas, count, range,
                                   [replicas, count](batch<Arch> const& sum, std::int64_t i, int valid) {
                                     for (int replica = 0; replica < count; ++replica)
                                       detail::store_part<Arch>(sum, replicas[replica] + i, valid);
                                   });
}

}  // namespace stagecraft::kernels
