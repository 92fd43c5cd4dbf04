// SPDX-License-Identifier: BSD-3-Clause
// Updates the rows of a table that indices name, by the sums of their gradients, so that no gradient of the whole table
// is made.
#pragma once

#include <stagecraft/kernels/elementwise/table_rows.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <stagecraft/threads/share.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stagecraft::kernels {

/// Which indices name the same row: a chain for each row, in the order of the indices.
template <class Arch = default_architecture>
class row_chains {
 public:
  /// The memory that the chains take, in floats.
  [[nodiscard]] static constexpr std::int64_t floats(std::int64_t rows, std::int64_t count) { return rows + count; }

  row_chains(table_indices const& of, float* memory)
      : of_(of), first_(reinterpret_cast<std::int32_t*>(memory)), next_(first_ + of.rows) {}

  /// Finds them.
  void link() const {
    std::fill_n(first_, of_.rows, end);
    for (std::int64_t k = of_.count; k-- > 0;)
      if (std::int64_t const row = of_.row(k); row >= 0) {
        next_[k] = first_[row];
        first_[row] = static_cast<std::int32_t>(k);
      }
  }

  /// Changes each row of `weights` that is named by the sum of its gradients, which lie in the order of the indices.
  /// Each sum is that of adding them to zeros, index by index. Items of `part`: indices; a row is changed where its
  /// chain begins.
  template <auto Optimizer>
  void update(update_function<Optimizer, Arch> const& function, updated_weights<Optimizer, Arch> const& weights,
              float const* gradients, share const& part) const {
    constexpr int lane_count = lanes<Arch>, at_once = 4;
    auto const [begin, last] = part.of(of_.count);
    std::int64_t const width = of_.width;
    for (std::int64_t k = begin; k < last; ++k) {
      of_.prefetch<true>(weights.w, k + table_indices::rows_ahead);
      std::int64_t const row = of_.row(k);
      if (row < 0 || first_[row] != k) continue;
      std::int64_t i = 0;
      for (; i + at_once * lane_count <= width; i += at_once * lane_count) {
        batch<Arch> sums[at_once];
        sum(sums, k, [&](std::int64_t index, int place) {
          return batch<Arch>::load_unaligned(gradients + index * width + i + place * lane_count);
        });
#pragma GCC unroll 4
        for (int place = 0; place < at_once; ++place)
          weights.step(function, row * width + i + place * lane_count, sums[place]);
      }
      for (; i < width; i += lane_count) {
        int const count = static_cast<int>(std::min<std::int64_t>(lane_count, width - i));
        batch<Arch> sums[1];
        sum(sums, k, [&](std::int64_t index, int) { return load_first<Arch>(gradients + index * width + i, count); });
        weights.step_first(function, row * width + i, sums[0], count);
      }
    }
  }

 private:
  static constexpr std::int32_t end = -1;

  template <std::size_t Places, class Batch, class Load>
  [[gnu::always_inline]] inline void sum(Batch (&sums)[Places], std::int64_t k, Load const& load) const {
#pragma GCC unroll 4
    for (std::size_t place = 0; place < Places; ++place) sums[place] = Batch(0.0F) + load(k, static_cast<int>(place));
    for (std::int64_t same = next_[k]; same != end; same = next_[same])
#pragma GCC unroll 4
      for (std::size_t place = 0; place < Places; ++place)
        sums[place] = sums[place] + load(same, static_cast<int>(place));
  }

  table_indices of_;
  std::int32_t *first_, *next_;
};

}  // namespace stagecraft::kernels
