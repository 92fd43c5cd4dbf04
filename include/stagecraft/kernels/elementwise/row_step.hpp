// SPDX-License-Identifier: BSD-3-Clause
// Operations along rows: a function at each place, a sum or maximum of a row, or a copy. Each loop is compiled once,
// and called for some rows at a time. Operations that follow each other are grouped: all of them are carried out for a
// few rows, which stay in the cache, then for the next ones. The groups of a loop's first trip are kept for the others.
#pragma once

#include <stagecraft/kernels/elementwise/function.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace stagecraft::kernels {

/// An operation on rows of up to three operands with rows of one result. The caller fills it in.
struct row_step {
  /// Rows of a tensor: the begin of the first, the distance to the next, and their length. A row of length 1 stands for
  /// all places of the result's.
  struct rows {
    float* begin;
    std::int64_t stride, length;

    /// True if the rows follow one another without gaps.
    [[nodiscard]] bool is_one() const { return stride == length; }
  };
  static constexpr int most_operands = 3;
  using kernel = void (*)(row_step const&, std::int64_t first, std::int64_t count);

  kernel run;  ///< rows [first, first + count)
  rows y, x[most_operands];
  int operands;
  bool is_one_row;  ///< true: several rows may be taken for one that is longer
};

namespace detail {

/// True for functions that are faster on several registers at once, with the same bits.
[[nodiscard]] constexpr bool gains_by_interleaving(operations::function f) {
  return f == operations::function::exp || f == operations::function::sigmoid || f == operations::function::tanh;
}
template <operations::function F, class Arch, int Count>
inline void function_of_each(batch<Arch> (&x)[Count]) {
  if constexpr (F == operations::function::exp)
    exp_each(x);
  else if constexpr (F == operations::function::sigmoid)
    sigmoid_each(x);
  else
    tanh_each(x);
}

/// y = F(x...) at n places. An operand for which `single` is true is one number for all places.
template <operations::function F, class Arch>
inline void map_row(float* y, float const* const* x, bool const* single, std::int64_t n) {
  constexpr int count = operations::arity(F), width = lanes<Arch>, at_once = 4;
  using value = batch<Arch>;
  auto const result = [](value const* in) {
    return function_value<F, Arch>(in[0], in[count > 1 ? 1 : 0], in[count > 2 ? 2 : 0]);
  };
  value in[count];
  std::int64_t i = 0;
  if constexpr (gains_by_interleaving(F)) {
    for (; !single[0] && i + at_once * width <= n; i += at_once * width) {
      value some[at_once];
#pragma GCC unroll 4
      for (int k = 0; k < at_once; ++k) some[k] = value::load_unaligned(x[0] + i + k * width);
      function_of_each<F, Arch>(some);
#pragma GCC unroll 4
      for (int k = 0; k < at_once; ++k) some[k].store_unaligned(y + i + k * width);
    }
  } else if (n >= at_once * width) {
    // Single numbers are repeated in memory, so that one loop serves all.
    alignas(64) float repeated[count][width];
    float const* from[count];
    std::int64_t steps[count];
    for (int k = 0; k < count; ++k) {
      from[k] = single[k] ? repeated[k] : x[k];
      steps[k] = single[k] ? 0 : width;
      if (single[k]) value(*x[k]).store_aligned(repeated[k]);
    }
    for (; i + width <= n; i += width) {
#pragma GCC unroll 3
      for (int k = 0; k < count; ++k) {
        in[k] = value::load_unaligned(from[k]);
        from[k] += steps[k];
      }
      result(in).store_unaligned(y + i);
    }
  }
  for (; i < n; i += width) {
    int const valid = n - i < width ? static_cast<int>(n - i) : width;
#pragma GCC unroll 3
    for (int k = 0; k < count; ++k)
      in[k] = single[k]        ? value(*x[k])
              : valid == width ? value::load_unaligned(x[k] + i)
                               : load_repeating<Arch>(x[k] + i, valid);
    store_first<Arch>(result(in), y + i, valid);
  }
}

/// Maps rows of at most half a register that follow one another: operands that repeat along them, or from row to row,
/// are written out for many rows, which then are one. `run` is map_row; bits are the same.
template <class Arch>
void map_short_rows(row_step const& of, std::int64_t first, std::int64_t count,
                    void (*run)(float*, float const* const*, bool const*, std::int64_t)) {
  constexpr int width = lanes<Arch>;
  constexpr std::int64_t most = 1024;
  alignas(64) float written[row_step::most_operands][most + width];
  std::int64_t const n = of.y.length, at_once = most / n;
  bool is_first = true;
  for (std::int64_t const end = first + count; first < end; is_first = false) {
    std::int64_t const rows = end - first < at_once ? end - first : at_once;
    float const* from[row_step::most_operands]{};
    bool single[row_step::most_operands]{};
    for (int k = 0; k < of.operands; ++k) {
      auto const& x = of.x[k];
      float const* const begin = x.begin + first * x.stride;
      float* const to = written[k];
      from[k] = to;
      single[k] = x.length == 1 && x.stride == 0;
      if (single[k] || (x.length == n && x.is_one())) {
        from[k] = begin;
      } else if (x.length == 1) {  // each row overwrites the surplus of the row before
        for (std::int64_t row = 0; row < rows; ++row) batch<Arch>(begin[row * x.stride]).store_unaligned(to + row * n);
      } else if (x.stride != 0 || is_first) {
        for (std::int64_t row = 0; row < rows; ++row)
          load_repeating<Arch>(begin + row * x.stride, static_cast<int>(n)).store_unaligned(to + row * n);
      }
    }
    run(of.y.begin + first * n, from, single, rows * n);
    first += rows;
  }
}

template <operations::function F, class Arch>
void map_rows(row_step const& of, std::int64_t first, std::int64_t count) {
  constexpr int operands = operations::arity(F);
  constexpr std::int64_t least_rows = 8;
  if (!of.is_one_row && count >= least_rows && 2 * of.y.length <= lanes<Arch> && of.y.is_one())
    return map_short_rows<Arch>(of, first, count, &map_row<F, Arch>);
  std::int64_t const n = of.is_one_row ? count * of.y.length : of.y.length;
  std::int64_t const end = of.is_one_row ? first + 1 : first + count;
  bool single[operands];
  for (int k = 0; k < operands; ++k) single[k] = of.x[k].length == 1 && !(of.y.length == 1 && of.x[k].stride == 1);
  for (; first < end; ++first) {
    float const* x[operands];
    for (int k = 0; k < operands; ++k) x[k] = of.x[k].begin + first * of.x[k].stride;
    map_row<F, Arch>(of.y.begin + first * of.y.stride, x, single, n);
  }
}

template <class Arch>
void copy_rows(row_step const& of, std::int64_t first, std::int64_t count) {
  constexpr int width = lanes<Arch>;
  std::int64_t const n = of.is_one_row ? count * of.y.length : of.y.length;
  std::int64_t const end = of.is_one_row ? first + 1 : first + count;
  for (; first < end; ++first) {
    float* const y = of.y.begin + first * of.y.stride;
    float const* const x = of.x[0].begin + first * of.x[0].stride;
    std::int64_t i = 0;
    for (; i + width <= n; i += width) batch<Arch>::load_unaligned(x + i).store_unaligned(y + i);
    if (i < n) std::memcpy(y + i, x + i, static_cast<std::size_t>(n - i) * sizeof(float));
  }
}

}  // namespace detail

/// The loop of a function.
template <class Arch = default_architecture>
[[nodiscard]] inline row_step::kernel row_kernel(operations::function apply) {
  static constexpr auto kernels = []<std::size_t... F>(std::index_sequence<F...>) {
    return std::array<row_step::kernel, sizeof...(F)>{&detail::map_rows<static_cast<operations::function>(F), Arch>...};
  }(std::make_index_sequence<operations::function_count>{});
  return kernels[static_cast<std::size_t>(apply)];
}

/// Collects operations one by one, and carries them out when `finish` is called, or when one does not fit to those
/// before: it has other rows, or shares memory with one of them in another order. Positions are those of a list, in
/// which operations without steps may stand between others.
template <class Arch = default_architecture>
class row_groups {
 public:
  /// A step, and its change in the later trips of a loop.
  struct member {
    row_step step;
    bool first_trip_only;
    int moved;              ///< -1: nothing; 0: y; 1: the first operand..., whose memory no other step uses
    std::int64_t per_trip;  ///< floats by which that moves with each trip
  };
  /// The result of repeating a group: the position at which a later trip goes on.
  struct outcome {
    bool is_done;
    std::size_t next;
  };

  /// True if a group may begin with `floats` floats. Fewer stay in the cache anyway.
  [[nodiscard]] static constexpr bool is_large(std::int64_t floats) { return floats >= 2048; }

  /// True if operations wait to be carried out.
  [[nodiscard]] bool is_open() const { return members_end_ > first_; }
  /// Forgets the groups of a loop; from now on `finish` keeps those of another one, or none.
  void begin(bool keeps) {
    keeps_ = keeps;
    kept_ = 0;
    members_end_ = first_ = 0;
  }
  /// True if the group takes the operation at a position, which has `rows` rows. It is carried out later.
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
  /// Carries out the collected operations; the next operation is at `position`.
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
  /// Repeats the group that begins at a position, in a later trip of the loop.
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
  /// Floats that a group reads and writes at once: they stay in a first-level cache.
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

  /// True if the operation may be carried out for some rows before the group's operations are for others.
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
  /// True if a row of one lies in memory of another row of the other.
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
