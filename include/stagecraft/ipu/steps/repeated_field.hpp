// SPDX-License-Identifier: BSD-3-Clause
// Which element of its input each element of a field with repeated rows and columns is.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Channels-last images of a batch whose pixels stand `across` times beside each other and `down` times below each
/// other in the result.
struct repeated_field {
  std::int64_t images = 1;
  std::int64_t rows = 1;  ///< of the input, as are columns
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

  /// Where a tile's elements [first, last) of the result fall apart: a piece of a row, whole rows, a piece of a row.
  struct pieces {
    std::int64_t whole_first = 0;
    std::int64_t whole_last = 0;
  };
  [[nodiscard]] constexpr pieces pieces_of(std::int64_t first, std::int64_t last) const noexcept {
    std::int64_t const begin = ceil_div(first, row_length()) * row_length();
    std::int64_t const end = last / row_length() * row_length();
    // Within a row, or two pieces of neighbouring rows.
    return begin <= end ? pieces{begin, end} : pieces{last, last};
  }
  /// What a tile receives for these elements: each element of the input once for each of the three.
  [[nodiscard]] constexpr std::int64_t received(std::int64_t first, std::int64_t last) const noexcept {
    auto const [begin, end] = pieces_of(first, last);
    std::int64_t result = of_row(first, begin) + of_row(end, last);
    if (end > begin) {
      std::int64_t const above = begin / row_length() / down, below = (end - 1) / row_length() / down;
      result += (below - above + 1) * columns * channels;
    }
    return result;
  }
  /// What the tile with most receives. The pieces of tiles that begin at the same place of a row of the input, with its
  /// repetitions, are alike.
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
