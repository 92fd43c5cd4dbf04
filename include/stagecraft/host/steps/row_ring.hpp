// SPDX-License-Identifier: BSD-3-Clause
// The last rows of a sequence, one of which comes with each step. Each is written twice, so that the rows under a
// window lie one after the other wherever it begins; how many there are does not matter for the time.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstring>

namespace stagecraft::cpu {

/// A view of `floats(kept, columns)` floats: the place of the next row, then the rows. `kept` rows stay from step to
/// step; a window spans them and the row of the step.
class row_ring {
 public:
  static constexpr int header = 16;  ///< floats: a cache line

  [[nodiscard]] static constexpr int floats(int kept, int columns) {
    return header + (2 * (kept + 1) * columns + 15) / 16 * 16;
  }

  constexpr row_ring(float* memory, int kept, int columns) : memory_(memory), kept_(kept), columns_(columns) {}

  /// Takes the row of this step, and moves the window: it then begins at the oldest of the kept rows and ends with this
  /// one. `Columns`: those of a row. Its place is read once: what is written might be anything to a compiler.
  template <int Columns>
  [[gnu::always_inline]] void take(float const* from) const {
    int const now = place(), next = now + 1;
    float* const first = row(now);
    std::memcpy(first, from, sizeof(float) * Columns);
    std::memcpy(first + length() * columns_, from, sizeof(float) * Columns);
    set_place(next == length() ? 0 : next);
  }
  [[nodiscard, gnu::always_inline]] float const* window() const { return row(place()); }

  /// Takes `kept` rows, the oldest first.
  void fill(float const* rows) const {
    std::memset(memory_, 0, sizeof(float) * static_cast<std::size_t>(floats(kept_, columns_)));
    std::memcpy(row(1), rows, bytes());
    std::memcpy(row(length() + 1), rows, bytes());
  }
  /// Writes the `kept` rows, the oldest first.
  void copy_to(float* rows) const { std::memcpy(rows, row(place() + 1), bytes()); }

 private:
  [[nodiscard]] constexpr int length() const { return kept_ + 1; }
  [[nodiscard]] std::size_t bytes() const { return sizeof(float) * static_cast<std::size_t>(kept_ * columns_); }
  [[nodiscard, gnu::always_inline]] float* row(int index) const { return memory_ + header + index * columns_; }
  [[nodiscard, gnu::always_inline]] int place() const {
    int result;
    std::memcpy(&result, memory_, sizeof result);
    return result;
  }
  [[gnu::always_inline]] void set_place(int place) const { std::memcpy(memory_, &place, sizeof place); }

  float* memory_;
  int kept_, columns_;
};

}  // namespace stagecraft::cpu
