// SPDX-License-Identifier: BSD-3-Clause
// The shape of a tensor without its batch dimension, as Keras's `input_shape` arguments give it; and Keras's "an
// integer or a list of integers", the axes that a layer works along.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <concepts>

namespace stagecraft::tracing {

/// E1126.
template <class List, int Given>
inline constexpr diagnostic too_many_entries_problem = [] {
  diagnostic problem;
  problem.report(1126, List::entries_are_called, " are at most ", List::max_rank, ", but ", Given, " are given");
  return problem;
}();
/// The first entry of the empty list that stands for one of too many entries: what is said of it afterwards is nothing
/// (`diagnostic::append`).
inline constexpr int too_many_entries = -__INT_MAX__ - 1;

}  // namespace stagecraft::tracing

namespace stagecraft {

/// Up to six dimensions; the batch dimension is not part of it and is printed as `None`.
struct shape {
  static constexpr int max_rank = 6;
  /// The longest dimension that options of layers may ask for, and the most elements of one sample's tensor, or of a
  /// weight: so that an int counts what rules make of them, such as four gates or a batch of two. E1003, E1127.
  static constexpr int longest = 1 << 28, most_elements = (1 << 30) - 1;
  static constexpr char const* entries_are_called = "the dimensions of a shape";

  int dimensions[max_rank]{};
  int dimension_count = 0;
  /// True if the elements are int32, whose bits lie where a float32 would; comparisons of shapes do not look at it.
  bool is_whole = false;

  constexpr shape() = default;
  template <std::integral... Dimensions>
    requires(sizeof...(Dimensions) >= 1 && sizeof...(Dimensions) <= max_rank)
  constexpr explicit(false) shape(Dimensions... dimension)
      : dimensions{static_cast<int>(dimension)...}, dimension_count(sizeof...(Dimensions)) {}
  /// More of them: E1126.
  template <std::integral... Dimensions>
    requires(sizeof...(Dimensions) > max_rank)
  constexpr explicit(false) shape(Dimensions...) : dimensions{detail::too_many_entries} {
    static_assert(detail::report<detail::too_many_entries_problem<shape, sizeof...(Dimensions)>>());
  }

  /// Number of dimensions without the batch.
  [[nodiscard]] constexpr int rank() const noexcept { return dimension_count; }
  /// Number of elements of one sample.
  [[nodiscard]] constexpr int size() const noexcept {
    int product = 1;
    for (int i = 0; i < dimension_count; ++i) product *= dimensions[i];
    return product;
  }
  constexpr int& operator[](int axis) { return dimensions[axis]; }
  constexpr int operator[](int axis) const { return dimensions[axis]; }
  [[nodiscard]] constexpr int back() const { return dimension_count > 0 ? dimensions[dimension_count - 1] : 1; }
  [[nodiscard]] constexpr int const* begin() const noexcept { return dimensions; }
  [[nodiscard]] constexpr int const* end() const noexcept { return dimensions + dimension_count; }

  /// True if this stands for a shape that had its error.
  [[nodiscard]] constexpr bool already_reported() const noexcept {
    return dimension_count == 0 && dimensions[0] == detail::too_many_entries;
  }

  constexpr void push_back(int dimension) {
    if (dimension_count < max_rank) dimensions[dimension_count++] = dimension;
  }

  /// Elements of the axes [first, last).
  [[nodiscard]] constexpr int size(int first, int last) const {
    int product = 1;
    for (int i = first; i < last; ++i) product *= dimensions[i];
    return product;
  }

  /// True if there are more elements than `most_elements`.
  [[nodiscard]] constexpr bool is_too_large() const noexcept {
    long long product = 1;
    for (int i = 0; i < dimension_count && product > 0 && product <= most_elements; ++i) product *= dimensions[i];
    return product > most_elements;
  }

  /// Appends "(28, 28)", in Python's spelling of tuples.
  template <class Text>
  [[gnu::cold]] constexpr void append_to(Text& text) const {
    text.append('(');
    append_dimensions(text);
    if (dimension_count == 1) text.append(',');
    text.append(')');
  }
  /// Appends "(None, 28, 28)", as Keras prints a shape with its batch; (8, 28, 28) where inputs fix its size.
  template <class Text>
  [[gnu::cold]] constexpr void append_with_batch_to(Text& text, int batch_size = 0) const {
    text.append('(');
    if (batch_size == 0)
      text.append("None");
    else
      text.append(batch_size);
    if (dimension_count > 0)
      text.append(", ");
    else
      text.append(',');
    append_dimensions(text);
    text.append(')');
  }

  friend constexpr bool operator==(shape const& a, shape const& b) {
    if (a.dimension_count != b.dimension_count) return false;
    for (int i = 0; i < a.dimension_count; ++i)
      if (a.dimensions[i] != b.dimensions[i]) return false;
    return true;
  }

 private:
  template <class Text>
  constexpr void append_dimensions(Text& text) const {
    for (int i = 0; i < dimension_count; ++i) {
      if (i > 0) text.append(", ");
      text.append(dimensions[i]);
    }
  }
};

}  // namespace stagecraft

namespace stagecraft::tracing {

/// The shape of a tensor that is not there.
inline constexpr shape no_shape{};

}  // namespace stagecraft::tracing

namespace stagecraft {

/// One axis or several, `-1` or `{1, 2}`, counted as in Keras: axis 0 is the batch, -1 the last one.
struct axis_list {
  /// The most axes: those of a sample, and the batch.
  static constexpr int max_rank = shape::max_rank + 1, capacity = max_rank;
  static constexpr char const* entries_are_called = "the axes of a list";

  int axes[capacity]{};
  int count = 0;

  template <std::integral... Axes>
    requires(sizeof...(Axes) >= 1 && sizeof...(Axes) <= capacity)
  constexpr explicit(false) axis_list(Axes... axis) : axes{static_cast<int>(axis)...}, count(sizeof...(Axes)) {}
  /// More of them: E1126.
  template <std::integral... Axes>
    requires(sizeof...(Axes) > capacity)
  constexpr explicit(false) axis_list(Axes...) : axes{detail::too_many_entries} {
    static_assert(detail::report<detail::too_many_entries_problem<axis_list, sizeof...(Axes)>>());
  }

  /// No axis at all, where a layer allows that.
  [[nodiscard]] static constexpr axis_list none() { return {}; }

  [[nodiscard]] constexpr int const* begin() const noexcept { return axes; }
  [[nodiscard]] constexpr int const* end() const noexcept { return axes + count; }
  /// True if this stands for a list that had its error.
  [[nodiscard]] constexpr bool already_reported() const noexcept {
    return count == 0 && axes[0] == detail::too_many_entries;
  }
  friend constexpr bool operator==(axis_list const&, axis_list const&) = default;

  /// Appends "-1" or "(1, 2)".
  template <class Text>
  constexpr void append_to(Text& text) const {
    if (count > 1) text.append('(');
    for (int i = 0; i < count; ++i) {
      if (i > 0) text.append(", ");
      text.append(axes[i]);
    }
    if (count > 1) text.append(')');
  }

 private:
  constexpr axis_list() = default;
};

}  // namespace stagecraft
