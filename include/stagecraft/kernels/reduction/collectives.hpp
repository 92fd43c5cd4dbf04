// SPDX-License-Identifier: BSD-3-Clause
// Collectives over arrays of which each replica has a version: reduce-scatter and all-reduce in one memory.
// Counterpart: cross-replica sums of the IPU (Graphcore Communication Library).
//
// A replica's array is given by its address, `replicas[r]`, and all have the same size. Each worker does a range of the
// elements, or one replica's shard. The sum of n replicas is a binary tree, element by element: that of the first 2^k
// replicas, the largest power of two below n, plus that of the others; (0 + 1) + (2 + 3) of four. So the number of
// workers and their ranges change no bit, and 2^k replicas whose first number is a multiple of 2^k may be added up
// elsewhere: the sum of such sums has the same bits. The caller lets workers wait for each other where a comment says
// so.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stagecraft::kernels {

/// The elements of n that belong to replica `replica` of `count`: whole cache lines, but for the last. Some shards are
/// empty if n is small.
template <class Arch = default_architecture>
[[nodiscard]] constexpr share::range shard_of(std::int64_t n, int replica, int count) noexcept {
  return share{replica, count}.of(n, 16);
}

namespace detail {

/// Adds `Registers` registers of each replica from `load(replica, register)`, in the tree's order.
template <class Arch, int Registers>
struct replica_sum {
  using value = batch<Arch>;
  value registers[Registers];

  template <class Load>
  [[gnu::always_inline]] static replica_sum of(int count, Load const& load) {
    replica_sum sums = of_four(0, count, load);
    if (count <= 4) return sums;
    // A binary counter of fours: bit k of `fours` says that `waiting[k]` holds the sum of 2^k of them.
    constexpr int most = 16;
    replica_sum waiting[most];
    waiting[0] = sums;
    unsigned fours = 1;
    for (int first = 4; first < count; first += 4, ++fours) {
      sums = of_four(first, count, load);
      bool const is_last = first + 4 >= count;  // all that waits is added to it
      int level = 0;
      for (; is_last ? fours >> level != 0 : (fours >> level & 1U) != 0; ++level)
        if ((fours >> level & 1U) != 0) sums = waiting[level].plus(sums);
      waiting[level] = sums;
    }
    return sums;
  }

 private:
  template <class Load>
  [[gnu::always_inline]] static replica_sum of_four(int first, int count, Load const& load) {
    replica_sum result;
    int const here = count - first;
#pragma GCC unroll 4
    for (int k = 0; k < Registers; ++k) {
      value sum = load(first, k);
      if (here > 1) sum = sum + load(first + 1, k);
      if (here == 3) sum = sum + load(first + 2, k);
      if (here > 3) sum = sum + (load(first + 2, k) + load(first + 3, k));
      result.registers[k] = sum;
    }
    return result;
  }
  [[nodiscard]] replica_sum plus(replica_sum const& later) const {
    replica_sum result;
#pragma GCC unroll 4
    for (int k = 0; k < Registers; ++k) result.registers[k] = registers[k] + later.registers[k];
    return result;
  }
};

/// Reduces the elements of a range, and calls store(batch, element, valid lanes) for each batch. Sums are divided by
/// `divisor` if Mean.
template <bool Mean, class Arch, class Store>
inline void reduce_range(float const* const* from, int count, float divided_by, share::range range,
                         Store const& store) {
  using value = batch<Arch>;
  constexpr int width = lanes<Arch>;
  value const divisor(divided_by);
  auto const finished = [&](value const& sum) {
    if constexpr (Mean)
      return sum / divisor;
    else
      return sum;
  };
  auto const reduce = [&](auto of) {
    std::int64_t i = range.first;
    for (; i + 4 * width <= range.last; i += 4 * width) {
      auto const sums = replica_sum<Arch, 4>::of(
          of, [&](int replica, int k) { return value::load_unaligned(from[replica] + i + k * width); });
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) store(finished(sums.registers[k]), i + k * width, width);
    }
    for (; i < range.last; i += width) {
      int const valid = static_cast<int>(range.last - i < width ? range.last - i : width);
      auto const sum =
          replica_sum<Arch, 1>::of(of, [&](int replica, int) { return load_first<Arch>(from[replica] + i, valid); });
      store(finished(sum.registers[0]), i, valid);
    }
  };
  switch (count) {  // the loop over replicas of a number that is known has no branches
    case 2: return reduce(std::integral_constant<int, 2>());
    case 3: return reduce(std::integral_constant<int, 3>());
    case 4: return reduce(std::integral_constant<int, 4>());
    case 8: return reduce(std::integral_constant<int, 8>());
    default: return reduce(count);
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

/// to[i] = the sum of replicas[0][i] to replicas[count - 1][i], or their mean if Mean, for the elements i of a range.
/// `to` may be one of the replicas. With each replica's shard as the range, and the replica itself as `to`, this is a
/// reduce-scatter: all shards may be done at the same time, and all workers have to wait for each other before the
/// first one. If each of these arrays is a sum of several replicas' already, `mean_of` says how many replicas a mean is
/// over.
template <bool Mean = false, class Arch = default_architecture>
inline void reduce_scatter(float const* const* replicas, int count, float* to, share::range range, int mean_of = 0) {
  detail::reduce_range<Mean, Arch>(
      replicas, count, static_cast<float>(mean_of > 0 ? mean_of : count), range,
      [to](batch<Arch> const& sum, std::int64_t i, int valid) { detail::store_part<Arch>(sum, to + i, valid); });
}

/// Replaces every replica's elements of a range by their sum over all replicas, or their mean if Mean. Ranges that do
/// not overlap may be done at the same time; all workers have to wait for each other before the first one, and before
/// the results are read.
template <bool Mean = false, class Arch = default_architecture>
inline void all_reduce(float* const* replicas, int count, share::range range) {
  detail::reduce_range<Mean, Arch>(replicas, count, static_cast<float>(count), range,
                                   [replicas, count](batch<Arch> const& sum, std::int64_t i, int valid) {
                                     for (int replica = 0; replica < count; ++replica)
                                       detail::store_part<Arch>(sum, replicas[replica] + i, valid);
                                   });
}

}  // namespace stagecraft::kernels
