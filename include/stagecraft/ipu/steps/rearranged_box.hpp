// SPDX-License-Identifier: BSD-3-Clause
// Which element of its input each element of a rearranged tensor is, or of a field with repeated rows and columns.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Numbers for each of up to four axes, the outermost first; shorter tensors have leading axes of length 1.
struct box_axes {
  static constexpr int count = 4;

  std::int64_t of[count]{1, 1, 1, 1};

  constexpr box_axes(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) noexcept : of{a, b, c, d} {}

  [[nodiscard]] constexpr std::int64_t operator[](int axis) const noexcept { return of[axis]; }
  [[nodiscard]] constexpr std::int64_t elements() const noexcept { return of[0] * of[1] * of[2] * of[3]; }
  /// Distance from an element to the next along an axis, in row-major order.
  [[nodiscard]] constexpr std::int64_t stride(int axis) const noexcept {
    std::int64_t result = 1;
    for (int i = axis + 1; i < count; ++i) result *= of[i];
    return result;
  }
};

/// A box of a row-major result: element x of it, counted from `first` in each axis, is element
/// source_first + the sum of x * source_stride of the input.
struct rearranged_box {
  box_axes extents{1, 1, 1, 1};  ///< extents of the whole result
  box_axes first{0, 0, 0, 0};
  box_axes counts{1, 1, 1, 1};
  box_axes source_stride{0, 0, 0, 0};
  std::int64_t source_first = 0;

  /// True if all elements of the result are in the box.
  [[nodiscard]] constexpr bool is_whole() const noexcept { return counts.elements() == extents.elements(); }

  /// The element of the input that an element of the result is; -1 outside the box.
  [[nodiscard]] constexpr std::int64_t source_of(std::int64_t element) const noexcept {
    std::int64_t source = source_first, rest = element, stride = extents.elements();
    for (int axis = 0; axis < box_axes::count; ++axis) {
      stride /= extents[axis];
      std::int64_t const x = rest / stride - first[axis];
      rest %= stride;
      if (x < 0 || x >= counts[axis]) return -1;
      source += x * source_stride[axis];
    }
    return source;
  }

  /// Number of the result's elements below `element` that are in the box.
  [[nodiscard]] constexpr std::int64_t elements_before(std::int64_t element) const noexcept {
    std::int64_t result = 0, rest = element, stride = extents.elements(), inside = counts.elements();
    for (int axis = 0; axis < box_axes::count && rest > 0; ++axis) {
      stride /= extents[axis];
      inside /= counts[axis];
      std::int64_t const x = rest / stride - first[axis];
      rest %= stride;
      if (x < 0) return result;
      if (x >= counts[axis]) return result + counts[axis] * inside;
      result += x * inside;
    }
    return result;
  }

  /// The largest number of elements of one tile that are in the box. That tile need not be tile 0, if the box does not
  /// begin there.
  [[nodiscard]] constexpr std::int64_t most_on_a_tile(tile_mapping const& mapping) const noexcept {
    if (is_whole()) return mapping.elements_of(0);
    if (is_run()) return most_of_pieces(mapping, elements_outside());
    std::int64_t const bound = most_of_run(mapping.elements_per_tile);
    // If the box has all of the inner axes, the pieces of tiles that begin at the same place are alike.
    std::int64_t period = extents.elements();
    for (int axis = 0; counts[axis] == extents[axis]; ++axis) period /= extents[axis];
    std::int64_t const tiles =
        smaller(mapping.tiles_used(), period / greatest_common_divisor(mapping.elements_per_tile, period));
    std::int64_t most = 0, before = 0;
    for (int tile = 0; tile < tiles && most < bound; ++tile) {
      std::int64_t const upto = elements_before(mapping.last(tile));
      most = larger(most, upto - before);
      before = upto;
    }
    return most;
  }

 private:
  /// True if the box is one run of elements of the result.
  [[nodiscard]] constexpr bool is_run() const noexcept {
    int last = box_axes::count - 1;
    while (last > 0 && counts[last] == extents[last]) --last;
    for (int axis = 0; axis < last; ++axis)
      if (counts[axis] != 1) return false;
    return true;
  }
  /// Elements of the result before the box.
  [[nodiscard]] constexpr std::int64_t elements_outside() const noexcept {
    std::int64_t result = 0;
    for (int axis = 0; axis < box_axes::count; ++axis) result += first[axis] * extents.stride(axis);
    return result;
  }
  /// The most elements of the box on one tile if it is one run that begins at `begin`: on its first tile, or on the
  /// next.
  [[nodiscard]] constexpr std::int64_t most_of_pieces(tile_mapping const& mapping, std::int64_t begin) const noexcept {
    std::int64_t const piece = mapping.elements_per_tile, count = counts.elements();
    std::int64_t const on_first = smaller(count, piece - begin % piece);
    return larger(on_first, smaller(count - on_first, piece));
  }
  /// The most elements of the box among `length` neighbouring elements of the result.
  [[nodiscard]] constexpr std::int64_t most_of_run(std::int64_t length) const noexcept {
    std::int64_t result = 0, rest = length, stride = extents.elements(), inside = counts.elements();
    std::int64_t most = inside;
    for (int axis = 0; axis < box_axes::count; ++axis) {
      stride /= extents[axis];
      inside /= counts[axis];
      std::int64_t const whole = rest / stride;
      rest %= stride;
      // A run of whole periods has this many elements of the box, and no more if it is longer than the box.
      if (whole >= counts[axis]) return smaller(most, result + counts[axis] * inside);
      result += whole * inside;
    }
    return smaller(most, result);
  }
};

/// Channels-last images of a batch whose pixels stand `across` times beside each other and `down` times below each
/// other in the result.
struct repeated_field {
  std::int64_t images = 1;
  std::int64_t rows = 1;  ///< rows and columns of the input
  std::int64_t columns = 1;
  std::int64_t channels = 1;
  std::int64_t down = 1;
  std::int64_t across = 1;

  /// Elements of a row of the result.
  [[nodiscard]] constexpr std::int64_t row_length() const noexcept { return columns * across * channels; }

  /// The element of the input that an element of the result is. Rows of all images count on, and so do their sources.
  [[nodiscard]] constexpr std::int64_t source_of(std::int64_t element) const noexcept {
    std::int64_t const row = element / row_length() / down, pixel = element % row_length() / channels;
    return (row * columns + pixel / across) * channels + element % channels;
  }

  /// The whole rows among a tile's elements [first, last) of the result, which are a piece of a row, whole rows, and a
  /// piece of a row.
  struct pieces {
    std::int64_t whole_first = 0;
    std::int64_t whole_last = 0;
  };
  [[nodiscard]] constexpr pieces pieces_of(std::int64_t first, std::int64_t last) const noexcept {
    std::int64_t const begin = ceil_div(first, row_length()) * row_length();
    std::int64_t const end = last / row_length() * row_length();
    // If there are no whole rows, the elements are within a row, or two pieces of neighbouring rows.
    return begin <= end ? pieces{begin, end} : pieces{last, last};
  }
  /// Number of elements that a tile receives for its elements [first, last): each of the input once for each of the
  /// three pieces.
  [[nodiscard]] constexpr std::int64_t received(std::int64_t first, std::int64_t last) const noexcept {
    auto const [begin, end] = pieces_of(first, last);
    std::int64_t result = of_row(first, begin) + of_row(end, last);
    if (end > begin) {
      std::int64_t const above = begin / row_length() / down, below = (end - 1) / row_length() / down;
      result += (below - above + 1) * columns * channels;
    }
    return result;
  }
  /// The largest number of elements that one tile receives. The pieces of tiles that begin at the same place of a row
  /// of the input, with its repetitions, are alike.
  [[nodiscard]] constexpr std::int64_t most_received(tile_mapping const& mapping) const noexcept {
    std::int64_t const period = down * row_length();
    std::int64_t const tiles =
        smaller(mapping.tiles_used(), period / greatest_common_divisor(mapping.elements_per_tile, period));
    std::int64_t most = 0;
    for (int tile = 0; tile < tiles; ++tile) most = larger(most, received(mapping.first(tile), mapping.last(tile)));
    return most;
  }

 private:
  /// Different elements of the input in a piece of a row.
  [[nodiscard]] constexpr std::int64_t of_row(std::int64_t first, std::int64_t last) const noexcept {
    if (first >= last) return 0;
    std::int64_t const left = first / channels, right = (last - 1) / channels;  // pixels
    std::int64_t const before = first % channels, upto = (last - 1) % channels + 1;
    if (left == right) return last - first;
    std::int64_t const from = left / across, to = right / across;  // their sources
    if (from == to) return right - left > 1 || upto >= before ? channels : channels - before + upto;
    std::int64_t const first_source = (left + 1) / across == from ? channels : channels - before;
    std::int64_t const last_source = (right - 1) / across == to ? channels : upto;
    return first_source + (to - from - 1) * channels + last_source;
  }
};

}  // namespace stagecraft::tiles
