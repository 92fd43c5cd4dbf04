// SPDX-License-Identifier: BSD-3-Clause
// How many micro-batches can be in flight if each device does one thing at a time: the rotations of a pipeline's list
// of devices that do not collide. Level 3.
#pragma once

#include <cstddef>
#include <span>

namespace stagecraft::detail {

/// A micro-batch goes through `length` passes, one per slot, on the devices of a list. In a block of `length` slots
/// that is repeated, a second one may start `offset` slots later if the list and the list rotated by `offset` never
/// have the same device at the same place. Rotations are chosen greedily, from offset 0 up, as Graphcore's compiler
/// does: its overlap length of an interleaved pipeline is `count`.
///
///     devices 0 1 2 2 1 0: offsets 0, 2, 4      devices 0 1 0: offset 0      devices 0 0 1 1: offsets 0, 2
class rotations {
 public:
  static constexpr int capacity = 128;  ///< of passes; half as many rotations, as all have devices of their own

  constexpr rotations() = default;
  constexpr explicit rotations(std::span<int const> device_of_pass) {
    int const length = static_cast<int>(device_of_pass.size());
    bool collides[capacity]{};
    for (int shift = 1; shift < length; ++shift)
      for (int pass = 0, rotated = length - shift; pass < length && !collides[shift]; ++pass) {
        collides[shift] = device_of_pass[at(pass)] == device_of_pass[at(rotated)];
        rotated = rotated + 1 == length ? 0 : rotated + 1;
      }
    for (int offset = 0; offset < length; ++offset) {
      bool fits = true;
      for (int k = 0; k < count_ && fits; ++k) fits = !collides[offset - offsets_[k]];
      if (!fits) continue;
      offsets_[count_++] = static_cast<unsigned char>(offset);
      number_at_[offset] = static_cast<unsigned char>(count_);
    }
  }

  [[nodiscard]] constexpr int count() const { return count_; }
  [[nodiscard]] constexpr int offset(int number) const { return offsets_[number]; }
  /// The number of the rotation with this offset, -1 if there is none.
  [[nodiscard]] constexpr int with_offset(int offset) const { return number_at_[offset] - 1; }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  int count_ = 0;
  unsigned char offsets_[capacity / 2]{};
  unsigned char number_at_[capacity]{};  ///< plus one
};

}  // namespace stagecraft::detail
