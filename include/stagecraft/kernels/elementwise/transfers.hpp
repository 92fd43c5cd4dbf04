// SPDX-License-Identifier: BSD-3-Clause
// Moves, repeats, scales and sums elements along walks that are known to the compiler.
#pragma once

#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/simd/parts_of_registers.hpp>
#include <stagecraft/operations/plan/transfers.hpp>
#include <stagecraft/threads/share.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::kernels {

namespace detail {

/// True if `floats` floats are better moved in registers than by the C library, for which compilers take slow
/// instructions.
constexpr bool is_for_registers(std::int64_t floats) { return floats >= 16 && floats <= 1024; }

/// y = x, or y += x, for `Floats` floats.
template <std::int64_t Floats, bool Adds, class Arch>
[[gnu::always_inline]] inline void move_run(float const* x, float* y) {
  if constexpr (!Adds && is_for_registers(Floats))
    transform<Arch>(Floats, [](batch<Arch> const& a) { return a; }, y, x);
  else
    copy_blocks<Adds, Arch>(1, Floats, x, 0, y, 0);
}
template <std::int64_t Floats, class Arch>
[[gnu::always_inline]] inline void clear_run(float* y) {
  if constexpr (is_for_registers(Floats))
    transform<Arch>(Floats, [zero = rounded(batch<Arch>(0.0F))]() { return zero; }, y);
  else if constexpr (Floats > 0)
    std::memset(y, 0, static_cast<std::size_t>(Floats) * sizeof(float));
}

enum class axis_kind : unsigned char { own, sum, repeat };

/// One of the walks of a frozen_transfers, applied to a chunk of the result.
template <auto const& Transfers, std::size_t Part, bool Adds, class Arch>
class unit_transfer {
  using value = batch<Arch>;
  static constexpr operations::transfer part = Transfers.parts[Part];
  static constexpr std::int64_t chunk = Transfers.chunk;
  /// The last axis that is not summed.
  static constexpr int last_written = [] {
    int axis = part.count - 1;
    while (axis >= 0 && part.axes[axis].sums()) --axis;
    return axis;
  }();
  static constexpr operations::transfer_axis innermost() {
    // An index that is in the array even where it is not used, which Clang warns of.
    return last_written < 0 ? operations::transfer_axis{} : part.axes[last_written < 0 ? 0 : last_written];
  }

 public:
  /// Finds the begin of its source for chunk `index` of a sample; false if it does not write to that chunk.
  [[nodiscard, gnu::always_inline]] static inline bool find(std::int64_t index, std::int64_t& from) {
    std::int64_t rest = index - part.to / chunk;
    from = part.from;
    return rest >= 0 && find<0>(rest, from);
  }
  /// `to`: the begin of the chunk.
  [[gnu::always_inline]] static inline void run(float const* from, float* to) {
    run_own<0>(from, to + part.to % chunk);
  }

  /// True if the elements that it writes are neighbours.
  static constexpr bool is_one_run = [] {
    int axes = 0;
    for (int i = 0; i < part.count; ++i) axes += part.axes[i].to > 0 && part.axes[i].to < chunk ? 1 : 0;
    return axes == 0 || (axes == 1 && innermost().to == 1);
  }();
  /// The number of neighbouring chunks that are equal.
  static constexpr std::int64_t equal_units = [] {
    for (int i = 0; i < part.count; ++i)
      if (part.axes[i].to == chunk && part.axes[i].from == 0) return part.axes[i].length;
    return std::int64_t{1};
  }();
  static constexpr std::int64_t first = part.to % chunk, last = first + [] {
    std::int64_t product = 1;
    for (int i = 0; i < part.count; ++i)
      if (part.axes[i].to > 0 && part.axes[i].to < chunk) product *= part.axes[i].length;
    return product;
  }();

 private:
  static constexpr bool has(axis_kind kind) {
    for (int i = 0; i < part.count; ++i)
      if (part.axes[i].to < chunk && kind_of(i) == kind) return true;
    return false;
  }
  static constexpr axis_kind kind_of(int axis) {
    return part.axes[axis].sums() ? axis_kind::sum : part.axes[axis].repeats() ? axis_kind::repeat : axis_kind::own;
  }
  /// True if neighbouring elements come from neighbouring elements, across chunks, too.
  static constexpr bool has_run = innermost().to == 1 && innermost().from == 1 && chunk > 1;
  static constexpr std::int64_t run_length = has_run ? innermost().length : 1;

  template <int Axis>
  [[gnu::always_inline]] static inline bool find(std::int64_t rest, std::int64_t& from) {
    if constexpr (Axis < part.count && part.axes[Axis].to >= chunk) {
      constexpr auto axis = part.axes[Axis];
      std::int64_t const place = rest / (axis.to / chunk);
      from += place * axis.from;
      return place < axis.length && find<Axis + 1>(rest - place * (axis.to / chunk), from);
    } else {
      return rest == 0;
    }
  }

  /// Calls f(from, to) for all places along the axes of a kind that lie in a chunk.
  template <axis_kind Kind, int Axis, class F>
  [[gnu::always_inline]] static inline void walk(float const* from, float* to, F const& f) {
    if constexpr (Axis == part.count) {
      f(from, to);
    } else {
      constexpr auto axis = part.axes[Axis];
      if constexpr (axis.to < chunk && kind_of(Axis) == Kind && !(has_run && Axis == last_written))
        for (std::int64_t i = 0; i < axis.length; ++i) walk<Kind, Axis + 1>(from + i * axis.from, to + i * axis.to, f);
      else
        walk<Kind, Axis + 1>(from, to, f);
    }
  }
  template <int>
  [[gnu::always_inline]] static inline void run_own(float const* x, float* y) {
    walk<axis_kind::own, 0>(x, y, [](float const* from, float* to) __attribute__((always_inline)) {
      if constexpr (!has_run)
        run_single(from, to);
      else if constexpr (!has(axis_kind::sum) && !has(axis_kind::repeat) && part.factor == 1)
        move_run<run_length, Adds, Arch>(from, to);
      else
        for_channel_blocks<static_cast<int>(run_length), Arch>(
            [&]<int Vectors, int Last>(int first)
                __attribute__((always_inline)) { run_block<Vectors, Last>(from + first, to + first); });
    });
  }
  static void run_single(float const* from, float* to) {
    float sum = 0;
    if constexpr (has(axis_kind::sum))
      walk<axis_kind::sum, 0>(from, nullptr, [&](float const* each, float*) { sum += *each; });
    else
      sum = *from;
    float const scaled = part.factor == 1 ? sum : rounded(value(sum) * value(part.factor)).get(0);
    walk<axis_kind::repeat, 0>(from, to, [&](float const*, float* each) { *each = Adds ? *each + scaled : scaled; });
  }
  template <int Vectors, int Last>
  [[gnu::always_inline]] static inline void run_block(float const* from, float* to) {
    using block = channel_block<Vectors, Last, Arch>;
    auto result = sum_of<block, Vectors>(from);
    if constexpr (part.factor != 1) result.combine([](value const& a) { return rounded(a * value(part.factor)); });
    walk<axis_kind::repeat, 0>(from, to, [&](float const*, float* each) __attribute__((always_inline)) {
      auto written = result;
      if constexpr (Adds) written.combine(add, block::load(each));
      written.store(each);
    });
  }
  static constexpr auto add = [](value const& a, value const& b) { return a + b; };

  /// A sum along the innermost summed axis, in several partial sums that do not wait for each other.
  template <class Block, int Vectors>
  [[gnu::always_inline]] static inline Block sum_of(float const* x) {
    if constexpr (!has(axis_kind::sum)) {
      return Block::load(x);
    } else {
      constexpr auto axis = part.axes[part.count - 1];
      constexpr int sums = axis.length < 4 ? 1 : Vectors <= 2 ? 4 : 2;
      Block sum[sums];
      for (auto& each : sum) each = Block::of(0.0F);
      walk_outer_sums<0>(x, [&](float const* from) __attribute__((always_inline)) {
        std::int64_t i = 0;
        for (; i + sums <= axis.length; i += sums)
#pragma GCC unroll 4
          for (int k = 0; k < sums; ++k) sum[k].combine(add, Block::load(from + (i + k) * axis.from));
        for (; i < axis.length; ++i) sum[0].combine(add, Block::load(from + i * axis.from));
      });
#pragma GCC unroll 4
      for (int k = 1; k < sums; ++k) sum[0].combine(add, sum[k]);
      return sum[0];
    }
  }
  template <int Axis, class F>
  [[gnu::always_inline]] static inline void walk_outer_sums(float const* from, F const& f) {
    if constexpr (Axis == part.count - 1)
      f(from);
    else if constexpr (part.axes[Axis].sums())
      for (std::int64_t i = 0; i < part.axes[Axis].length; ++i)
        walk_outer_sums<Axis + 1>(from + i * part.axes[Axis].from, f);
    else
      walk_outer_sums<Axis + 1>(from, f);
  }
};

}  // namespace detail

/// y = the result of an operations::frozen_transfers for a batch, or y += it if Adds. Elements that no walk writes are
/// 0. `source(part)`: the tensor that a walk reads and the floats of its samples, as a pair. The order of each sum
/// depends on the walks and the instruction set alone. Items of `part`: chunks of y.
template <auto const& Transfers, int Batch, bool Adds, class Arch = default_architecture, class Source>
inline void transfer_elements(Source const& source, float* y, share part = {}) {
  constexpr std::size_t parts = Transfers.parts.size();
  constexpr std::int64_t chunk = Transfers.chunk, chunks = Transfers.sample / chunk;
  constexpr bool is_full = [] {
    std::int64_t written = 0;
    for (auto const& each : Transfers.parts) written += each.written();
    return !Transfers.overlaps && written == Transfers.sample;
  }();
  constexpr bool adds = Adds || Transfers.overlaps;
  constexpr bool has_gaps = parts == 1 && !is_full && detail::unit_transfer<Transfers, 0, adds, Arch>::is_one_run;
  constexpr auto equal =
      parts == 1 && is_full && !Adds ? detail::unit_transfer<Transfers, 0, adds, Arch>::equal_units : 1;
  auto const [first, last] = part.of(Batch * chunks);
  std::int64_t sample = first / chunks, index = first % chunks;
  float *const begin = y + first * chunk, *const end = y + last * chunk;
  // They are read once, since compilers assume that stores may change them.
  auto const sources = [&]<std::size_t... Part>(std::index_sequence<Part...>) {
    return std::array<std::pair<float const*, std::int64_t>, parts>{source(Part)...};
  }(std::make_index_sequence<parts>{});
  auto const write = [&]<std::size_t Part>(float* to) __attribute__((always_inline)) {
    using walk = detail::unit_transfer<Transfers, Part, adds, Arch>;
    auto const [tensor, floats] = sources[Part];
    std::int64_t from = 0;
    if (walk::find(index, from)) {
      if constexpr (has_gaps && !Adds) detail::clear_run<walk::first, Arch>(to);
      walk::run(tensor + sample * floats + from, to);
      if constexpr (has_gaps && !Adds) detail::clear_run<chunk - walk::last, Arch>(to + walk::last);
    } else if constexpr (has_gaps && !Adds) {
      detail::clear_run<chunk, Arch>(to);
    }
  };
  for (float* to = begin; to != end; to += chunk) {
    if constexpr (!Adds && !is_full && !has_gaps) detail::clear_run<chunk, Arch>(to);
    if (equal > 1 && index % equal != 0 && to != begin)
      detail::move_run<chunk, false, Arch>(to - chunk, to);
    else
      [&]<std::size_t... Part>(std::index_sequence<Part...>) __attribute__((always_inline)) {
        (write.template operator()<Part>(to), ...);
      }(std::make_index_sequence<parts>{});
    if (++index == chunks) {
      index = 0;
      ++sample;
    }
  }
}

/// True if that is fast: long sums are over neighbouring elements.
[[nodiscard]] constexpr bool can_transfer(operations::transfer_list const& list) {
  for (auto const& part : list.parts) {
    std::int64_t terms = 1;
    int innermost = part.count - 1;
    for (; innermost >= 0 && part.axes[innermost].sums(); --innermost) terms *= part.axes[innermost].length;
    bool const is_run = innermost >= 0 && part.axes[innermost].to == 1 && part.axes[innermost].from == 1;
    if (terms > 32 && !is_run) return false;
  }
  return true;
}

}  // namespace stagecraft::kernels
