// SPDX-License-Identifier: BSD-3-Clause
// The registers of AMX, each of which holds a tile of a matrix: what a block of a product does with them, one
// instruction after the other. The kernel, product/bfloat16_tiles.hpp, takes any type with these members.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <cstdint>

namespace stagecraft::kernels {

/// Rows of a tile, and 32-bit numbers in one of them, at most.
inline constexpr int most_tile_side = 16;

/// How many rows of how many bytes each tile has: the 64 bytes that LDTILECFG reads. A tile without rows is not used.
struct tile_shapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(tile_shapes) == 64);

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__)

/// Whether an architecture has instructions for products of tiles of bfloat16.
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
  /// The same address, behind which everything has been written: GCC 12's loads of tiles do not say that they read.
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
