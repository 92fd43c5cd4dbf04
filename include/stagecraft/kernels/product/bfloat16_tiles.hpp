// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices of bfloat16 where the processor multiplies tiles of them (AMX): blocks of the result stay in the
// processor's tiles while all products are summed. Matrices lie as in bfloat16_pairs.hpp, which calls this. `amx_tiles`
// are the registers, with a function for each instruction; the kernel takes any type with its members.
#pragma once

#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <stagecraft/kernels/product/packed_matrix.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/transpose.hpp>
#include <stagecraft/threads/share.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// Rows of a tile, and 32-bit numbers in one of them, at most.
inline constexpr int most_tile_side = 16;

/// Rows of each tile and the bytes of a row: the 64 bytes that LDTILECFG reads. A tile without rows is not used.
struct tile_shapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(tile_shapes) == 64);

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__)

/// True if an architecture has instructions for products of tiles of bfloat16.
template <class Arch>
inline constexpr bool multiplies_bfloat16_tiles = has_avx512<Arch>;

/// The tiles of a block of a product, which has up to two rows of tiles by two columns: 0 to 3 are the sums, 4 and 5
/// the left factor, 6 and 7 the right one. A stride is the number of bytes from a row to the next. processor_check.hpp
/// asks Linux to let the program use them.
class amx_tiles {
 public:
  explicit amx_tiles(tile_shapes const& shapes) noexcept { _tile_loadconfig(written(&shapes)); }
  amx_tiles(amx_tiles const&) = delete;
  amx_tiles& operator=(amx_tiles const&) = delete;
  ~amx_tiles() { _tile_release(); }

  template <int Row, int Column>
  void zero() noexcept {
    if constexpr (Row == 0 && Column == 0) _tile_zero(0);
    if constexpr (Row == 0 && Column == 1) _tile_zero(1);
    if constexpr (Row == 1 && Column == 0) _tile_zero(2);
    if constexpr (Row == 1 && Column == 1) _tile_zero(3);
  }
  template <int Row>
  void load_left(float const* from, long stride) noexcept {
    if constexpr (Row == 0) _tile_loadd(4, written(from), stride);
    if constexpr (Row == 1) _tile_loadd(5, written(from), stride);
  }
  template <int Column>
  void load_right(float const* from, long stride) noexcept {
    if constexpr (Column == 0) _tile_loadd(6, written(from), stride);
    if constexpr (Column == 1) _tile_loadd(7, written(from), stride);
  }
  /// sums(Row, Column) += left(Row) * right(Column), of pairs of bfloat16.
  template <int Row, int Column>
  void add_products() noexcept {
    if constexpr (Row == 0 && Column == 0) _tile_dpbf16ps(0, 4, 6);
    if constexpr (Row == 0 && Column == 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (Row == 1 && Column == 0) _tile_dpbf16ps(2, 5, 6);
    if constexpr (Row == 1 && Column == 1) _tile_dpbf16ps(3, 5, 7);
  }
  template <int Row, int Column>
  void store(float* to, long stride) noexcept {
    if constexpr (Row == 0 && Column == 0) _tile_stored(0, to, stride);
    if constexpr (Row == 0 && Column == 1) _tile_stored(1, to, stride);
    if constexpr (Row == 1 && Column == 0) _tile_stored(2, to, stride);
    if constexpr (Row == 1 && Column == 1) _tile_stored(3, to, stride);
  }

 private:
  /// Returns p after all stores to it are complete: GCC 12's loads of tiles do not say that they read.
  template <class T>
  [[nodiscard, gnu::always_inline]] static inline T const* written(T const* p) noexcept {
    asm volatile("" : "+r"(p) : : "memory");
    return p;
  }
};

#else

template <class Arch>
inline constexpr bool multiplies_bfloat16_tiles = false;

class amx_tiles;  // the flags do not allow it

#endif

}  // namespace stagecraft::kernels

namespace stagecraft::kernels::detail {

/// Columns of a tile: all of them are of one panel.
[[nodiscard]] consteval int tile_columns(int panel_columns) {
  int columns = most_tile_side;
  while (panel_columns % columns != 0) columns /= 2;
  return columns;
}

/// Rows of a block of a result with `rows` rows: even parts, so that the last one is hardly lower. It begins with rows
/// of the block before it, which are not stored twice: one shape of tiles is enough.
[[nodiscard]] consteval int block_rows(int rows) {
  int const blocks = (rows + 2 * most_tile_side - 1) / (2 * most_tile_side);
  return (rows + blocks - 1) / blocks;
}

/// A block of Rows rows, and up to two tiles of Width columns.
template <int Rows, int Width>
struct tile_block {
  /// Rows of the upper tiles, and of the lower ones, if there are any.
  static constexpr int upper = Rows > most_tile_side ? (Rows + 1) / 2 : Rows, lower = Rows - upper;
  static constexpr int sums_stride = 2 * Width;

  static constexpr tile_shapes shapes = [] {
    tile_shapes result;
    for (int tile = 0; tile < 8; ++tile) {
      bool const is_sum = tile < 4, is_left = tile == 4 || tile == 5, is_upper = tile < 2 || tile == 4;
      result.rows[tile] = static_cast<std::uint8_t>(is_sum || is_left ? (is_upper ? upper : lower) : most_tile_side);
      result.row_bytes[tile] = static_cast<std::uint16_t>(4 * (is_left ? most_tile_side : Width));
      if (result.rows[tile] == 0) result.row_bytes[tile] = 0;
    }
    return result;
  }();

  /// sums = left * right: `Steps` pairs of each row of left, and rows of right, Columns tiles of them.
  template <int Steps, int Columns, int LeftStride, int RightStride, class Tiles>
  static void multiply(Tiles& tiles, float const* left, float const* right, float* sums) {
    each_sum<Columns>([&]<int Row, int Column>() { tiles.template zero<Row, Column>(); });
    constexpr int whole = Steps / most_tile_side * most_tile_side, rest = Steps - whole;
    for (int step = 0; step < whole; step += most_tile_side)
      add<Columns, LeftStride, RightStride>(tiles, left + step, right + std::ptrdiff_t{step} * RightStride);
    if constexpr (rest > 0) {  // zeros for the others: the numbers after them may be NaN
      alignas(64) float last_left[Rows * most_tile_side] = {}, last_right[most_tile_side * sums_stride] = {};
      for (int row = 0; row < Rows; ++row)
        std::memcpy(last_left + row * most_tile_side, left + std::ptrdiff_t{row} * LeftStride + whole,
                    rest * sizeof(float));
      for (int step = 0; step < rest; ++step)
        std::memcpy(last_right + step * sums_stride, right + std::ptrdiff_t{whole + step} * RightStride,
                    Columns * Width * sizeof(float));
      add<Columns, most_tile_side, sums_stride>(tiles, last_left, last_right);
    }
    each_sum<Columns>([&]<int Row, int Column>() {
      tiles.template store<Row, Column>(sums + Row * upper * sums_stride + Column * Width, 4L * sums_stride);
    });
  }

 private:
  template <int Columns, class Function>
  static void each_sum(Function const& function) {
    function.template operator()<0, 0>();
    if constexpr (Columns > 1) function.template operator()<0, 1>();
    if constexpr (lower > 0) function.template operator()<1, 0>();
    if constexpr (lower > 0 && Columns > 1) function.template operator()<1, 1>();
  }
  /// Adds the products of as many pairs as a tile has in a row.
  template <int Columns, int LeftStride, int RightStride, class Tiles>
  static void add(Tiles& tiles, float const* left, float const* right) {
    tiles.template load_left<0>(left, 4L * LeftStride);
    tiles.template load_right<0>(right, 4L * RightStride);
    tiles.template add_products<0, 0>();
    if constexpr (Columns > 1) {
      tiles.template load_right<1>(right + Width, 4L * RightStride);
      tiles.template add_products<0, 1>();
    }
    if constexpr (lower > 0) {
      tiles.template load_left<1>(left + std::ptrdiff_t{upper} * LeftStride, 4L * LeftStride);
      tiles.template add_products<1, 0>();
      if constexpr (Columns > 1) tiles.template add_products<1, 1>();
    }
  }
};

/// Computes a result of Rows x Columns in panels of PanelColumns: calls store.operator()<valid lanes>(sum, row, column)
/// for each register of it. `left(row)` returns the begin of the rows from that one on, LeftStride pairs apart, and is
/// called once for each block of rows; `right(panel, column)` returns the begin of the rows of the right factor, from
/// that column of the panel on, RightStride pairs apart. Items of `part`: blocks, one row of them after the other.
template <int Rows, int Steps, int Columns, int PanelColumns, int LeftStride, int RightStride, class Arch, class Tiles,
          class Left, class Right, class Store>
inline void multiply_in_blocks(share part, Left const& left, Right const& right, Store const& store) {
  constexpr int height = block_rows(Rows), width = tile_columns(PanelColumns), block_columns = 2 * width;
  constexpr int rows_of_blocks = (Rows + height - 1) / height;
  constexpr int of_panel = (PanelColumns + block_columns - 1) / block_columns;
  constexpr int whole = Columns / PanelColumns, rest = Columns % PanelColumns;
  constexpr int of_row = whole * of_panel + (rest + block_columns - 1) / block_columns;
  constexpr int last_lanes = Columns % lanes<Arch>;
  using block = tile_block<height, width>;
  auto const [first, last] = part.of(std::int64_t{rows_of_blocks} * of_row);
  if (first == last) return;
  Tiles tiles(block::shapes);
  alignas(64) float sums[height * block::sums_stride];
  int block_row = -1, begin = 0;
  float const* rows = nullptr;
  for (auto number = static_cast<int>(first); number < last; ++number) {
    if (number / of_row != block_row) {
      block_row = number / of_row;
      begin = block_row * height + height <= Rows ? block_row * height : Rows - height;
      rows = left(begin);
    }
    int const panel = number % of_row / of_panel, within = number % of_row % of_panel * block_columns;
    int const column = panel * PanelColumns + within;
    int const columns = Columns - column < PanelColumns - within ? Columns - column : PanelColumns - within;
    auto const multiply = [&]<int Count>() {
      block::template multiply<Steps, Count, LeftStride, RightStride>(tiles, rows, right(panel, within), sums);
    };
    if (columns > width)
      multiply.template operator()<2>();
    else
      multiply.template operator()<1>();
    int const count = columns < block_columns ? columns : block_columns;
    for (int row = block_row * height; row < begin + height; ++row) {
      float const* const of = sums + (row - begin) * block::sums_stride;
      for (int j = 0; j < count; j += lanes<Arch>) {
        auto const sum = batch<Arch>::load_aligned(of + j);
        if (last_lanes == 0 || j + lanes<Arch> <= count)
          store.template operator()<lanes<Arch>>(sum, row, column + j);
        else
          store.template operator()<last_lanes == 0 ? lanes<Arch> : last_lanes>(sum, row, column + j);
      }
    }
  }
}

/// y = output(x * w) in floats, as `multiply`: M rows of K pairs; w: a packed_matrix<K, N, Arch> of pairs.
template <int M, int K, int N, class Arch, class Tiles, class Output>
inline void multiply_in_tiles(float const* x, float const* w, float* y, Output const& output, share part) {
  using layout = packed_matrix<K, N, Arch>;
  multiply_in_blocks<M, K, N, layout::panel_columns, K, layout::panel_columns, Arch, Tiles>(
      part, [=](int row) { return x + std::ptrdiff_t{row} * K; },
      [=](int panel, int column) { return w + std::ptrdiff_t{panel} * layout::panel_stride + column; },
      [&]<int Lanes>(batch<Arch> const& sum, int row, int column) {
        output.template store<Lanes>(sum, y, column, std::int64_t{row} * N + column);
      });
}

/// dw (+)= transposed(x) * dy in floats, a packed_matrix<K, N, Arch> whose padding becomes 0: x has M rows of K pairs,
/// dy M rows of N. Up to a register after their ends may be read.
template <int M, int K, int N, bool Accumulate, class Arch, class Tiles>
inline void weight_gradient_in_tiles(float const* x, float const* dy, float* dw, share part) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>, panel_columns = layout::panel_columns, height = block_rows(K);
  constexpr int stride = (M + width - 1) / width * width, rows = (height + width - 1) / width * width;
  alignas(64) float transposed[rows * stride];
  multiply_in_blocks<K, M, N, panel_columns, stride, N, Arch, Tiles>(
      part,
      [&](int first) -> float const* {
        for (int k = 0; k < height; k += width)
          for (int m = 0; m < M; m += width)
            transpose_block<Arch>(x + std::ptrdiff_t{m} * K + first + k, K, M - m, transposed + k * stride + m, stride);
        return transposed;
      },
      [=](int panel, int column) { return dy + panel * panel_columns + column; },
      [=]<int Lanes>(batch<Arch> sum, int row, int column) {
        float* const to = dw + layout::index(row, column);
        sum = keep_lanes<Lanes, Arch>(sum);
        if constexpr (Accumulate) sum = sum + batch<Arch>::load_unaligned(to);
        sum.store_unaligned(to);
      });
}

}  // namespace stagecraft::kernels::detail
