// SPDX-License-Identifier: BSD-3-Clause
// Numbers of parts into which a dimension can be cut. Only the largest part counts: of those that give the same, the
// smallest number is the one. And numbers of parts of all that a convolution has, but for field and batch.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// The next number of parts that makes the largest part of `size` smaller: at most `percent` of what it was.
[[nodiscard]] constexpr std::int64_t next_split(std::int64_t size, std::int64_t parts, int percent = 100) noexcept {
  std::int64_t const part = (size + parts - 1) / parts;
  if (part < 2) return INT32_MAX;
  std::int64_t const most = percent < 100 ? part * percent / 100 : part - 1;
  return most < 2 ? size : (size + most - 1) / most;
}
/// Another number of parts: that whose largest part is `steps` larger.
[[nodiscard]] constexpr std::int64_t other_split(std::int64_t size, std::int64_t parts, std::int64_t steps) noexcept {
  std::int64_t const part = ceil_div(size, parts);
  std::int64_t const other = part + steps * larger(1, part / 32);
  return ceil_div(size, smaller(size, larger(1, other)));
}
/// As few parts as make the largest part as small as `most` parts do.
[[nodiscard]] constexpr std::int64_t fewest_parts(std::int64_t size, std::int64_t most) noexcept {
  if (most >= size) return size;
  std::int64_t const part = (size + most - 1) / most;
  return (size + part - 1) / part;
}

/// Different numbers of parts: one, and those whose largest parts are up to some steps larger and smaller.
struct neighbouring_splits {
  static constexpr int most_steps = 3;
  std::int64_t parts[2 * most_steps + 1]{};
  int count = 0;

  constexpr neighbouring_splits(std::int64_t size, std::int64_t of, int steps) noexcept {
    for (int step = -steps; step <= steps; ++step) {
      std::int64_t const other = other_split(size, of, step);
      if (count == 0 || parts[count - 1] != other) parts[count++] = other;
    }
  }
  [[nodiscard]] constexpr std::int64_t const* begin() const noexcept { return parts; }
  [[nodiscard]] constexpr std::int64_t const* end() const noexcept { return parts + count; }
};

/// Numbers of parts of a convolution, but for field and batch.
struct part_counts {
  std::int64_t groups = 1, kernel_height = 1, kernel_width = 1, out_chans = 1, in_chans = 1;

  [[nodiscard]] constexpr std::int64_t product() const noexcept {
    return groups * kernel_height * kernel_width * out_chans * in_chans;
  }
};

/// What no plan with some numbers of parts goes below, or hardly.
struct plan_bound {
  std::int64_t cycles = INT64_MAX;
  std::int64_t bytes = INT64_MAX;

  friend constexpr bool operator==(plan_bound const&, plan_bound const&) = default;
};

/// The most promising numbers of parts, the best first.
struct part_counts_short_list {
  static constexpr int capacity = 6;
  part_counts parts[capacity];
  plan_bound bounds[capacity];
  int count = 0;

  constexpr void insert(plan_bound const& bound, part_counts const& of, bool by_bytes) noexcept {
    int place = count;
    while (place > 0 && (by_bytes ? bound.bytes < bounds[place - 1].bytes : bound.cycles < bounds[place - 1].cycles))
      --place;
    if (place == capacity || (place > 0 && bounds[place - 1] == bound)) return;  // full, or as good as another
    if (count < capacity) ++count;
    for (int k = count - 1; k > place; --k) {
      bounds[k] = bounds[k - 1];
      parts[k] = parts[k - 1];
    }
    bounds[place] = bound;
    parts[place] = of;
  }
};

/// Numbers of parts that were tried, of one of several things each. Those that come after the first 40 are forgotten.
struct tried_part_counts {
  static constexpr int capacity = 40;
  std::uint64_t keys[capacity]{};
  int count = 0;
  std::uint64_t radix;  ///< larger than all numbers of parts; up to 3000, no two keys are the same

  constexpr explicit tried_part_counts(std::int64_t most_parts) noexcept
      : radix(static_cast<std::uint64_t>(most_parts) + 1) {}

  constexpr void add(int thing, part_counts const& parts) noexcept {
    if (count < capacity) keys[count++] = key_of(thing, parts);
  }
  [[nodiscard]] constexpr bool contains(int thing, part_counts const& parts) const noexcept {
    std::uint64_t const key = key_of(thing, parts);
    for (int k = 0; k < count; ++k)
      if (keys[k] == key) return true;
    return false;
  }

 private:
  [[nodiscard]] constexpr std::uint64_t key_of(int thing, part_counts const& parts) const noexcept {
    auto key = static_cast<std::uint64_t>(thing);
    for (std::int64_t const number :
         {parts.groups, parts.kernel_height, parts.kernel_width, parts.out_chans, parts.in_chans})
      key = key * radix + static_cast<std::uint64_t>(number);
    return key;
  }
};

}  // namespace stagecraft::tiles
