// SPDX-License-Identifier: BSD-3-Clause
// How many micro-batches can be in flight if each device does one thing at a time: the rotations of a pipeline's list
// of devices that do not collide.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <cstddef>

namespace stagecraft::pipeline {

/// A micro-batch goes through passes in `length` places, one place per slot, on the devices of a list. In a block of
/// `length` slots that is repeated, a second one may start `offset` slots later if the list and the list rotated by
/// `offset` never have the same device at the same place. Rotations are chosen greedily, from offset 0 up, as
/// Graphcore's compiler does: its overlap length of an interleaved pipeline is `count`.
///
///     devices 0 1 2 2 1 0: offsets 0, 2, 4      devices 0 1 0: offset 0      devices 0 0 1 1: offsets 0, 2
class rotations {
 public:
  static constexpr int capacity = 128;  ///< of passes

  constexpr rotations() = default;
  /// Passes in a place of their own each, or several in one.
  constexpr rotations(tracing::array_view<int const> device_of_pass, tracing::array_view<int const> place_of_pass,
                      int micro_batches)
      : length_(place_of_pass[place_of_pass.size() - 1] + 1) {
    bool collides[capacity]{};
    for (std::size_t pass = 1; pass < device_of_pass.size(); ++pass)
      for (std::size_t before = 0; before < pass; ++before) {
        int const shift = place_of_pass[pass] - place_of_pass[before];
        if (shift > 0 && device_of_pass[pass] == device_of_pass[before])
          collides[shift] = collides[length_ - shift] = true;
      }
    for (int offset = 0; offset < length_; ++offset) {
      bool fits = true;
      for (int k = 0; k < count_ && fits; ++k) fits = !collides[offset - offsets_[k]];
      if (!fits) continue;
      offsets_[count_++] = static_cast<unsigned char>(offset);
      number_at_[offset] = static_cast<unsigned char>(count_);
    }
    find_least_spans(micro_batches);
  }

  [[nodiscard]] constexpr int count() const { return count_; }
  /// The slot of a micro-batch's first pass.
  [[nodiscard]] constexpr int start(int micro_batch) const {
    return micro_batch / count_ * length_ + offsets_[micro_batch % count_];
  }
  /// The micro-batch that starts in a slot, -1 if none does.
  [[nodiscard]] constexpr int started_in(int slot) const {
    int const number = number_at_[slot % length_];
    return number == 0 ? -1 : slot / length_ * count_ + number - 1;
  }
  /// The most micro-batches that start within a number of slots, up to `length`.
  [[nodiscard]] constexpr int most_started_in(int slots) const {
    int most = 1;
    while (most < count_ && least_span_[most] < slots) ++most;
    return most;
  }

 private:
  /// All starts are alike from one block to the next, so that those of one block are looked at.
  constexpr void find_least_spans(int micro_batches) {
    for (int distance = 1; distance < count_; ++distance) {
      int least = length_;
      for (int last = distance; last < micro_batches && last < distance + count_; ++last)
        if (int const span = start(last) - start(last - distance); span < least) least = span;
      least_span_[distance] = static_cast<unsigned char>(least);
    }
  }

  int length_ = 1;
  int count_ = 0;
  unsigned char offsets_[capacity / 2]{};     // each rotation has devices of its own, so that half as many fit
  unsigned char number_at_[capacity]{};       // of the rotation with an offset, from 1; 0: there is none
  unsigned char least_span_[capacity / 2]{};  // from a start to the one so many starts later
};

}  // namespace stagecraft::pipeline
