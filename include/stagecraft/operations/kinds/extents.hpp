// SPDX-License-Identifier: BSD-3-Clause
// The lengths of all axes of a tensor in a traced computation, the batch included.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <concepts>

namespace stagecraft::operations {

/// Up to eight axes, the batch first. In contrast, `shape` leaves the batch out, as Keras's `input_shape` does.
struct extents {
  static constexpr int max_rank = 8;
  static constexpr char const* entries_are_called = "the lengths of a tensor";

  int lengths[max_rank]{};
  int rank = 0;

  constexpr extents() = default;
  template <std::integral... Lengths>
    requires(sizeof...(Lengths) >= 1 && sizeof...(Lengths) <= max_rank)
  constexpr explicit(false) extents(Lengths... length)
      : lengths{static_cast<int>(length)...}, rank(sizeof...(Lengths)) {}
  /// More than eight axes: E1126, which `noexcept` reports where the constructor is named, before anything is computed.
  template <std::integral... Lengths>
    requires(sizeof...(Lengths) > max_rank)
  constexpr explicit(false) extents(Lengths...) noexcept(
      stagecraft::detail::report<stagecraft::detail::too_many_entries_problem<extents, sizeof...(Lengths)>>())
      : lengths{stagecraft::detail::too_many_entries} {}

  /// The extents of `batch` samples, which lie one after the other along axis 0.
  [[nodiscard]] static constexpr extents of_batch(int batch, shape const& sample) {
    extents result(batch);
    for (int const length : sample) result.push_back(length);
    return result;
  }
  /// The extents of a weight, which has no batch.
  [[nodiscard]] static constexpr extents of(shape const& whole) {
    extents result;
    for (int const length : whole) result.push_back(length);
    return result;
  }

  /// An axis, counted from the end if negative.
  [[nodiscard]] constexpr int operator[](int axis) const { return lengths[axis < 0 ? axis + rank : axis]; }
  [[nodiscard]] constexpr int& operator[](int axis) { return lengths[axis < 0 ? axis + rank : axis]; }
  [[nodiscard]] constexpr int const* begin() const noexcept { return lengths; }
  [[nodiscard]] constexpr int const* end() const noexcept { return lengths + rank; }
  /// Number of elements; `uncounted` if it does not fit into a long long.
  [[nodiscard]] constexpr long long size() const noexcept {
    long long product = 1;
    for (int i = 0; i < rank; ++i)
      if (__builtin_mul_overflow(product, lengths[i], &product)) return uncounted;
    return product;
  }
  static constexpr long long uncounted = __LONG_LONG_MAX__;
  /// True if these lengths stand in for ones whose error was reported.
  [[nodiscard]] constexpr bool already_reported() const noexcept {
    return rank == 0 && lengths[0] == stagecraft::detail::too_many_entries;
  }
  constexpr void push_back(int length) {
    if (rank < max_rank) lengths[rank++] = length;
  }
  constexpr void insert(int axis, int length) {
    if (rank == max_rank) return;
    for (int i = rank++; i > axis; --i) lengths[i] = lengths[i - 1];
    lengths[axis] = length;
  }
  constexpr void erase(int axis) {
    for (int i = axis; i + 1 < rank; ++i) lengths[i] = lengths[i + 1];
    --rank;
  }

  /// True if `axis`, counted from the end if negative, exists.
  [[nodiscard]] constexpr bool has(int axis) const noexcept { return axis >= -rank && axis < rank; }
  /// The number of an axis, counted from the front.
  [[nodiscard]] constexpr int from_front(int axis) const noexcept { return axis < 0 ? axis + rank : axis; }

  /// The length of this one's axis that is aligned with `axis` of a tensor of rank `rank_of_wider`; 1 if it has none.
  [[nodiscard]] constexpr int aligned(int axis, int rank_of_wider) const noexcept {
    int const own = axis - (rank_of_wider - rank);
    return own < 0 ? 1 : lengths[own];
  }
  /// Widens this as NumPy does, from the last axis on; false if the two do not fit.
  constexpr bool broadcast_with(extents const& other) {
    extents const wider = other.rank > rank ? other : *this;
    extents result = wider;
    for (int i = 0; i < wider.rank; ++i) {
      int const a = aligned(i, wider.rank), b = other.aligned(i, wider.rank);
      if (a != b && a != 1 && b != 1) return false;
      result.lengths[i] = a == 1 ? b : a;
    }
    *this = result;
    return true;
  }

  /// Appends "(2, 3)", in Python's spelling of tuples.
  template <class Text>
  constexpr void append_to(Text& text) const {
    text.append('(');
    for (int i = 0; i < rank; ++i) {
      if (i > 0) text.append(", ");
      text.append(lengths[i]);
    }
    text.append(rank == 1 ? ",)" : ")");
  }

  friend constexpr bool operator==(extents const& a, extents const& b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i)
      if (a.lengths[i] != b.lengths[i]) return false;
    return true;
  }
};

}  // namespace stagecraft::operations
