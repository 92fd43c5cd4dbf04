// SPDX-License-Identifier: BSD-3-Clause
// Operations on rows that follow each other: all of them for a few rows, which stay near the processor, then for the
// next ones. The groups of a loop's first trip are kept for the others.
#pragma once

#include <stagecraft/kernels/elementwise/row_step.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stagecraft::kernels {

/// Takes operations one by one, and carries them out when it is told to, or when one does not fit to those before: it
/// has other rows, or shares memory with one of them in another order. Positions are those of a list, in which
/// operations that take no steps may stand between others.
template <class Arch = default_architecture>
class row_groups {
 public:
  /// A step, and what it is in the later trips of a loop.
  struct member {
    row_step step;
    bool first_trip_only;
    int moved;              ///< -1: nothing; 0: y; 1: the first operand..., whose memory no other step uses
    std::int64_t per_trip;  ///< ...by so many floats
  };
  /// Where later trips go on.
  struct outcome {
    bool is_done;
    std::size_t next;
  };

  /// Whether a group may begin with so many floats. Fewer are near enough as they are.
  [[nodiscard]] static constexpr bool is_large(std::int64_t floats) { return floats >= 2048; }

  /// Whether operations wait to be carried out.
  [[nodiscard]] bool is_open() const { return members_end_ > first_; }
  /// Forgets the groups of a loop; from now on `finish` keeps those of another one, or none.
  void begin(bool keeps) {
    keeps_ = keeps;
    kept_ = 0;
    members_end_ = first_ = 0;
  }
  /// Whether a group takes the operation at a position, which has so many rows. It is carried out later.
  bool add(member const& next, std::int64_t rows, std::size_t position) {
    if (is_open() && (rows != rows_ || members_end_ - first_ == most_together || !fits(next.step))) finish(position);
    if (!is_open()) {
      if (rows < 2 || !is_large(rows * std::max(next.step.y.length, next.step.x[0].length))) return false;
      if (members_end_ + most_together > most_members) return false;
      rows_ = rows;
      begin_ = position;
    }
    members_[members_end_++] = next;
    return true;
  }
  /// Carries out what has been taken; the next operation is at a position.
  void finish(std::size_t position) {
    if (!is_open()) return;
    run(first_, members_end_, rows_);
    if (keeps_ && kept_ < most_kept) {
      groups_[kept_++] = {begin_, position, first_, members_end_, rows_};
      first_ = members_end_;
    } else {
      members_end_ = first_;
    }
  }
  /// The group that begins at a position, in a later trip of the loop.
  outcome repeat(std::size_t position) {
    for (int i = 0; i < kept_; ++i) {
      auto const& again = groups_[i];
      if (again.begin != position) continue;
      for (int k = again.first; k < again.last; ++k) {
        auto& each = members_[k];
        if (each.first_trip_only) each.step.run = nothing;
        if (each.moved >= 0) (each.moved == 0 ? each.step.y : each.step.x[each.moved - 1]).begin += each.per_trip;
      }
      run(again.first, again.last, again.rows);
      return {true, again.end};
    }
    return {false, position};
  }

 private:
  /// What is written and read together of some rows stays in a first-level cache.
  static constexpr std::int64_t near_floats = 6144;
  static constexpr int most_members = 160, most_together = 48, most_kept = 16;

  struct group {
    std::size_t begin, end;
    int first, last;
    std::int64_t rows;
  };

  static void nothing(row_step const&, std::int64_t, std::int64_t) {}
  void run(int first, int last, std::int64_t rows) const {
    std::int64_t floats = 0;
    for (int k = first; k < last; ++k) floats += members_[k].step.y.length;
    auto const at_once = last - first == 1 ? rows : std::max<std::int64_t>(near_floats / floats, 1);
    for (std::int64_t row = 0; row < rows; row += at_once)
      for (int k = first; k < last; ++k) members_[k].step.run(members_[k].step, row, std::min(at_once, rows - row));
  }

  /// Whether the operation may be carried out for some rows before those of the group are for others.
  [[nodiscard]] bool fits(row_step const& next) const {
    for (int k = first_; k < members_end_; ++k) {
      auto const& before = members_[k].step;
      if (clash(before.y, next.y)) return false;
      for (int i = 0; i < next.operands; ++i)
        if (clash(before.y, next.x[i])) return false;
      for (int i = 0; i < before.operands; ++i)
        if (clash(before.x[i], next.y)) return false;
    }
    return true;
  }
  /// Whether a row of one lies in memory of another row of the other.
  [[nodiscard]] bool clash(row_step::rows const& a, row_step::rows const& b) const {
    auto const first = a.begin < b.begin ? a : b, second = a.begin < b.begin ? b : a;
    auto const behind = second.begin - first.begin;
    if (behind >= (rows_ - 1) * first.stride + first.length) return false;
    return first.stride != second.stride || behind + second.length > first.stride || first.length > first.stride;
  }

  member members_[most_members];
  group groups_[most_kept];
  int members_end_ = 0, first_ = 0, kept_ = 0;
  bool keeps_ = false;
  std::int64_t rows_ = 0;
  std::size_t begin_ = 0;
};

}  // namespace stagecraft::kernels
