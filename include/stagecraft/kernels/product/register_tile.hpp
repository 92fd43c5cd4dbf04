// SPDX-License-Identifier: BSD-3-Clause
// The micro-kernel of every matrix product: a tile of the result that stays in registers while the products are summed,
// and the choice of its height and width. Private to the kernels.
#pragma once

#include <stagecraft/kernels/simd/parts_of_registers.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

#include <utility>

namespace stagecraft::kernels::detail {

/// Vector registers of the instruction set.
template <class Arch>
[[nodiscard]] consteval int vector_registers() {
#if XSIMD_WITH_NEON64
  return 32;
#else
  return has_avx512<Arch> ? 32 : 16;
#endif
}

/// Registers that a step of the micro-kernel needs beside sums and the row of the right factor: the broadcast element,
/// and the product where multiplication and addition are not one instruction.
template <class Arch>
[[nodiscard]] consteval int scratch_registers() {
#if defined(__FMA__) || defined(__AVX512F__) || XSIMD_WITH_NEON64
  return 1;
#else
  return 2;
#endif
}

/// Registers side by side in a panel of a matrix with `columns` columns: the width with the least padding; among those
/// the one whose tiles load least per multiplication.
template <class Arch>
[[nodiscard]] consteval int panel_vectors(int columns) {
  int const vectors = (columns + lanes<Arch> - 1) / lanes<Arch>;
  if (vectors == 1) return 1;
  constexpr bool wide = vector_registers<Arch>() == 32;
  constexpr int candidates[] = {wide ? 4 : 2, 3, 2};
  int best = candidates[0];
  for (int candidate : candidates)
    if ((vectors + candidate - 1) / candidate * candidate < (vectors + best - 1) / best * best) best = candidate;
  return best;
}

/// The most rows of a tile that is `vectors` registers wide.
template <class Arch>
[[nodiscard]] consteval int most_tile_rows(int vectors) {
  int const rows = (vector_registers<Arch>() - vectors - scratch_registers<Arch>()) / vectors;
  return rows < 12 ? rows : 12;
}

/// The division of `rows` rows into tiles: `tall` tiles of `height` rows, then `low` tiles of `height - 1`. Heights
/// that differ by one at most leave no thin remainder, on which loads would cost more than products. Few rows are cut
/// into equal tiles where these are nearly as high as possible; many rows into the highest, which read the right factor
/// least often.
struct row_blocks {
  int height = 0;
  int tall = 0;
  int low = 0;

  [[nodiscard]] constexpr int tiles() const { return tall + low; }
  /// The first row of a tile.
  [[nodiscard]] constexpr int row(int tile) const {
    return tile <= tall ? tile * height : tall * height + (tile - tall) * (height - 1);
  }
};

/// From this number of rows on, tiles are as high as possible. There are so many of them that a thin remainder costs
/// little beside equal but lower tiles, which would read the right factor more often.
inline constexpr int many_rows = 1024;

template <class Arch>
[[nodiscard]] consteval row_blocks cut_rows(int rows, int vectors) {
  int const most = most_tile_rows<Arch>(vectors);
  // Fewer sums hide no latency, unless there are registers for two of each.
  int const fewest = vector_registers<Arch>() == 32 ? 8 : 16;
  for (int height = most; rows < many_rows && height * vectors >= fewest && height * 3 >= most * 2; --height)
    if (rows % height == 0) return {height, rows / height, 0};
  int const blocks = (rows + most - 1) / most;
  int const low_height = rows / blocks;
  int const tall = rows % blocks;
  if (tall == 0) return {low_height, blocks, 0};
  return {low_height + 1, tall, blocks - tall};
}

/// Calls tile.operator()<height>(row) for the tiles `first` to `last`, at least one.
template <row_blocks Cut, class Tile>
inline void for_each_tile(int first, int last, Tile const& tile) {
  if constexpr (Cut.tiles() == 1) return tile.template operator()<Cut.height>(0);
  int number = first;
  for (int const end = last < Cut.tall ? last : Cut.tall; number < end; ++number)
    tile.template operator()<Cut.height>(number * Cut.height);
  if constexpr (Cut.low > 0)
    for (; number < last; ++number) tile.template operator()<Cut.height - 1>(Cut.row(number));
}

/// Tiles of a panel that is `columns` columns wide.
template <class Arch>
[[nodiscard]] consteval int panel_tiles(int rows, int columns) {
  return cut_rows<Arch>(rows, (columns + lanes<Arch> - 1) / lanes<Arch>).tiles();
}

/// Rows of a thread's share from which on the thread takes these rows of each panel: it reads all of the right factor,
/// but the rows that it writes of one product are those that it reads of the next one's left factor, and they stay in
/// its second-level cache.
inline constexpr int rows_of_share = 64;

/// Calls panel.operator()<columns of the panel>(number of the panel, first tile, last tile) for a thread's share of a
/// result of Rows x Columns in panels of PanelColumns: the tiles are numbered panel by panel, so that a thread needs as
/// few panels of the right factor as possible; or, with `ByRows` and enough of them, it has some rows of each panel.
template <int Rows, int Columns, int PanelColumns, class Arch, bool ByRows = false, class Panel>
inline void for_each_panel(share part, Panel const& panel) {
  constexpr int whole = Columns / PanelColumns;
  constexpr int rest = Columns % PanelColumns;
  constexpr int each = panel_tiles<Arch>(Rows, PanelColumns);
  constexpr int whole_tiles = whole * each;
  constexpr int tiles_of_rest = rest > 0 ? panel_tiles<Arch>(Rows, rest > 0 ? rest : 1) : 0;
  if constexpr (ByRows && Rows >= 4 * rows_of_share) {
    if (!part.is_whole() && part.count * rows_of_share <= Rows) {
      auto const own = part.of(each);
      for (int p = 0; p < whole; ++p)
        panel.template operator()<PanelColumns>(p, static_cast<int>(own.first), static_cast<int>(own.last));
      if constexpr (rest > 0) {
        auto const last_panel = part.of(tiles_of_rest);
        panel.template operator()<rest>(whole, static_cast<int>(last_panel.first), static_cast<int>(last_panel.last));
      }
      return;
    }
  }
  auto const range = part.of(whole_tiles + tiles_of_rest);
  auto const first = static_cast<int>(range.first);
  auto const last = static_cast<int>(range.last);
  if constexpr (whole > 0)
    for (int p = first / each; p < whole && p * each < last; ++p)
      panel.template operator()<PanelColumns>(p, first > p * each ? first - p * each : 0,
                                              last < (p + 1) * each ? last - p * each : each);
  if constexpr (rest > 0)
    if (last > whole_tiles)
      panel.template operator()<rest>(whole, first > whole_tiles ? first - whole_tiles : 0, last - whole_tiles);
}

/// Independent sums per element of a small tile, over every second, third... step: enough to hide the latency of the
/// multiply-add, 4 or 5 cycles on two units, and of reading the right factor.
template <class Arch>
[[nodiscard]] consteval int interleaved_sums(int rows, int vectors) {
  int const enough = rows == 1 ? 16 : 10;
  int const most = vector_registers<Arch>() == 32 ? 24 : 12;
  int sums = 1;
  while (sums < 8 && sums * rows * vectors < enough && 2 * sums * rows * vectors <= most) sums *= 2;
  return sums;
}

/// The registers' worth of floats at p, as a value that the compiler cannot read again. Without the barrier GCC 12
/// (-mtune=znver3) turns each use of a loaded row into a load of its own, which costs more than a fifth of the speed.
template <class Arch, class Register = batch<Arch>>
[[nodiscard]] inline Register load_once(float const* p) {
  Register const loaded = Register::load_unaligned(p);
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
  auto value = loaded.data;
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#else
  asm("" : "+x"(value));
#endif
  return Register(value);
#else
  return loaded;
#endif
}

/// The terms of a sum: products of single floats.
struct float_terms {
  template <class Register>
  [[nodiscard, gnu::always_inline]] static inline Register add(Register const& left, Register const& right,
                                                               Register const& sum) {
    return fused_multiply_add(left, right, sum);
  }
  /// The sum of two sums of such terms.
  template <class Register>
  [[nodiscard, gnu::always_inline]] static inline Register join(Register const& sum, Register const& other) {
    return sum + other;
  }
};

/// No work beside the products.
struct no_other_work {
  static constexpr int every = 0;

  void finish() {}
};

#if XSIMD_WITH_NEON64
/// Adds four steps to the sums of a tile: a row's four elements are loaded at once, and each is a lane of its register
/// that the multiply-add names. A load and broadcast for each element would cost a fifth more instructions.
template <int RightStep, class Arch, int Rows, int Vectors>
[[gnu::always_inline]] inline void add_lanes(batch<Arch> (&sum)[Rows][Vectors], float const* left, std::int64_t row,
                                             float const* right) {
  float32x4_t elements[Rows];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) elements[i] = vld1q_f32(left + i * row);
  auto const step = [&]<int Lane>() __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) {
      float32x4_t const factors = vld1q_f32(right + Lane * RightStep + j * 4);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) sum[i][j] = vfmaq_laneq_f32(sum[i][j].data, factors, elements[i], Lane);
    }
  };
  step.template operator()<0>();
  step.template operator()<1>();
  step.template operator()<2>();
  step.template operator()<3>();
}
#endif

/// sum[i][j] = the sum over all steps s, as defined by Terms, of left[i * left_stride + s] * right[s * RightStep + j *
/// lanes ...]; for a transposed left factor, left[i + s * left_stride]. With Ahead > 0 the right factor is prefetched
/// Ahead floats ahead: where a tile has one row, reading it is all the work. Calls finish(i, j, sum[i][j]) for every i
/// in [0, Rows) and j in [0, Vectors). If OtherWork::every > 0, other() is called after each OtherWork::every steps,
/// and other.finish() after the last: work that the processor can do beside the products. A `Register` that is half
/// as wide has the columns of a narrow tile.
template <int Rows, int Vectors, bool IsLeftTransposed, int RightStep, int Ahead, class Arch, class Terms = float_terms,
          class Register = batch<Arch>, class Stride, class Finish, class OtherWork = no_other_work>
inline void multiply_tile(float const* left, Stride left_stride, float const* right, int steps, Finish finish,
                          OtherWork other = {}) {
  std::int64_t const left_row = IsLeftTransposed ? 1 : std::int64_t{left_stride};
  std::int64_t const left_step = IsLeftTransposed ? std::int64_t{left_stride} : 1;
  constexpr int width = lanes<Arch>;
  constexpr int sums = interleaved_sums<Arch>(Rows, Vectors);
  constexpr int of_line = width < 16 ? 16 / width : 1;  // registers that a cache line fills
  Register sum[sums][Rows][Vectors];
#pragma GCC unroll 8
  for (int part = 0; part < sums; ++part)
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sum[part][i][j] = Register(0.0F);

  int s = 0;
  auto const next_steps = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int part = 0; part < sums; ++part) {
      Register row[Vectors];
      if constexpr (Ahead > 0)
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; j += of_line) __builtin_prefetch(right + part * RightStep + j * width + Ahead);
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) {
        float const* const from = right + part * RightStep + j * width;
        if constexpr (Rows == 1)
          row[j] = Register::load_unaligned(from);  // part of the one multiplication that reads it
        else
          row[j] = load_once<Arch, Register>(from);
      }
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        Register const element(left[i * left_row + part * left_step]);
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) sum[part][i][j] = Terms::add(element, row[j], sum[part][i][j]);
      }
    }
    s += sums;
    left += sums * left_step;
    right += sums * RightStep;
  };
#if XSIMD_WITH_NEON64
  if constexpr (sums == 1 && !IsLeftTransposed && Ahead == 0 && OtherWork::every == 0 && width == 4 &&
                std::is_same_v<Terms, float_terms> && std::is_same_v<Register, batch<Arch>>)
    for (; s + 4 <= steps; s += 4, left += 4, right += 4 * RightStep)
      add_lanes<RightStep, Arch>(sum[0], left, left_row, right);
#endif
  constexpr int every = OtherWork::every;
  if constexpr (every > 0)
    while (s + every * sums <= steps) {
#pragma GCC unroll 2
      for (int n = 0; n < every; ++n) next_steps();
      other();
    }
  while (s + sums <= steps) next_steps();
  other.finish();
  if constexpr (sums > 1) {
    for (; s < steps; ++s, left += left_step, right += RightStep)
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j)
          sum[0][i][j] =
              Terms::add(Register(left[i * left_row]), Register::load_unaligned(right + j * width), sum[0][i][j]);
#pragma GCC unroll 8
    for (int distance = sums / 2; distance > 0; distance /= 2)
#pragma GCC unroll 8
      for (int part = 0; part < distance; ++part)
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
          for (int j = 0; j < Vectors; ++j) sum[part][i][j] = Terms::join(sum[part][i][j], sum[part + distance][i][j]);
  }

  // A fold of copies, inlined always: the sums stay in registers only if nothing takes their address, and have constant
  // indices even where the body is too large for GCC to unroll early.
  [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
    (finish(Index / Vectors, Index % Vectors, Register(sum[0][Index / Vectors][Index % Vectors])), ...);
  }(std::make_integer_sequence<int, Rows * Vectors>());
}

/// A stride as a constant of its type, or as a number that the compiler does not know: for that, no copy of a function
/// is made.
template <std::int64_t Stride>
using known_stride = std::integral_constant<std::int64_t, Stride>;
[[nodiscard, gnu::always_inline]] inline std::int64_t any_stride(std::int64_t stride) {
  asm("" : "+r"(stride));
  return stride;
}

/// A tile as a function of its own, which all products of such tiles share, whatever their shapes are.
template <int Rows, int Vectors, bool IsLeftTransposed, int RightStep, int Ahead, class Arch, class Terms,
          class Register = batch<Arch>, class Finish, class OtherWork>
[[gnu::noinline, gnu::flatten]] void multiply_tile_of_any(float const* left, std::int64_t left_stride,
                                                          float const* right, int steps, Finish finish,
                                                          OtherWork other) {
  multiply_tile<Rows, Vectors, IsLeftTransposed, RightStep, Ahead, Arch, Terms, Register>(left, left_stride, right,
                                                                                          steps, finish, other);
}

/// True if a tile is such a function: it has many sums, which leave registers for its strides, and so many steps that a
/// call costs little beside them; with ten steps it costs a twentieth.
template <class Arch>
[[nodiscard]] consteval bool is_shared_tile(int rows, int vectors, int steps) {
  return vector_registers<Arch>() == 32 && rows * vectors >= 16 && rows * vectors * steps >= 1024;
}

}  // namespace stagecraft::kernels::detail
