// SPDX-License-Identifier: BSD-3-Clause
// One pass over a dataset, and the number of a dataset's elements. Keras counterpart: the iterator and the
// cardinality of a tf.data.Dataset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace stagecraft::data {

/// The cardinality of a dataset that never ends: tf.data.INFINITE_CARDINALITY.
inline constexpr std::int64_t infinite_cardinality = -1;
/// The cardinality of a dataset that must be read before its number of elements is known: tf.data.UNKNOWN_CARDINALITY.
inline constexpr std::int64_t unknown_cardinality = -2;

namespace detail {

/// The smaller one of two numbers of elements.
[[nodiscard]] constexpr std::int64_t smaller_count(std::int64_t a, std::int64_t b) noexcept {
  if (a == infinite_cardinality) return b;
  if (b == infinite_cardinality) return a;
  return a == unknown_cardinality || b == unknown_cardinality ? unknown_cardinality : std::min(a, b);
}

/// `count * times`, or the largest std::int64_t if that is more.
[[nodiscard]] constexpr std::int64_t count_of_repetitions(std::int64_t count, std::int64_t times) noexcept {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  return times > 0 && count > largest / times ? largest : count * times;
}

/// The number of elements of two datasets, one after the other.
[[nodiscard]] constexpr std::int64_t count_of_both(std::int64_t a, std::int64_t b) noexcept {
  if (a == infinite_cardinality || b == infinite_cardinality) return infinite_cardinality;
  if (a == unknown_cardinality || b == unknown_cardinality) return unknown_cardinality;
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  return a > largest - b ? largest : a + b;
}

/// The number of windows of `size` elements, `stride` apart, in `count` elements.
[[nodiscard]] constexpr std::int64_t count_of_windows(std::int64_t count, std::int64_t size, std::int64_t shift,
                                                      std::int64_t stride, bool drop) noexcept {
  if (count <= 0) return count;
  if (!drop) return (count - 1) / shift + 1;
  if ((count - 1) / stride < size - 1) return 0;
  return (count - 1 - (size - 1) * stride) / shift + 1;
}

/// The number of groups of `size` elements in `count` elements.
[[nodiscard]] constexpr std::int64_t count_of_groups(std::int64_t count, std::int64_t size, bool drop) noexcept {
  return count < 0 ? count : count / size + (!drop && count % size != 0 ? 1 : 0);
}

}  // namespace detail

/// Elements one after the other. One thread at a time calls `next`; an exception that `next` throws ends the pass.
template <class Element>
class stream {
 public:
  stream() = default;
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  virtual ~stream() = default;

  /// Returns the next element; after the last one none, however often it is called.
  [[nodiscard]] virtual std::optional<Element> next() = 0;
};

}  // namespace stagecraft::data
