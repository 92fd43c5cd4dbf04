// SPDX-License-Identifier: BSD-3-Clause
// The tiles of AMX in software, bit by bit as Intel documents each instruction, for processors that have none: Software
// Developer's Manual, volume 2, LDTILECFG, TILELOADD, TILESTORED and TDPBF16PS.
#pragma once

#include <stagecraft/kernels/product/bfloat16_tiles.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace stagecraft::kernels::reference {

/// Eight tiles by their numbers.
class tile_registers {
 public:
  void configure(tile_shapes const& shapes) {
    if (shapes.palette != 1 || shapes.start_row != 0) throw std::logic_error("no such palette of tiles");
    for (int tile = 0; tile < 16; ++tile) {
      int const rows = shapes.rows[tile], bytes = shapes.row_bytes[tile];
      bool const fits = rows <= most_tile_side && bytes <= 4 * most_tile_side && bytes % 4 == 0 && tile < 8;
      if ((rows == 0) != (bytes == 0) || (rows > 0 && !fits)) throw std::logic_error("no such shape of a tile");
      if (tile < 8) tiles_[tile] = {rows, bytes / 4, {}};
    }
  }
  void release() {
    for (auto& tile : tiles_) tile = {};
  }
  void zero(int tile) {
    auto& of = used(tile);
    of = {of.rows, of.columns, {}};
  }
  void load(int tile, void const* from, long stride) {
    zero(tile);
    auto& to = used(tile);
    for (int row = 0; row < to.rows; ++row)
      std::memcpy(to.numbers[row], static_cast<char const*>(from) + row * stride,
                  4U * static_cast<unsigned>(to.columns));
  }
  void store(int tile, void* to, long stride) {
    auto const& from = used(tile);
    for (int row = 0; row < from.rows; ++row)
      std::memcpy(static_cast<char*>(to) + row * stride, from.numbers[row], 4U * static_cast<unsigned>(from.columns));
  }
  /// TDPBF16PS: the products of first numbers and those of second ones are summed by themselves, from zero; then their
  /// sum is added.
  void add_products(int sums, int left, int right) {
    auto& to = used(sums);
    auto const &a = used(left), &b = used(right);
    if (to.rows != a.rows || to.columns != b.columns || a.columns != b.rows)
      throw std::logic_error("the shapes of three tiles do not fit");
    for (int m = 0; m < to.rows; ++m)
      for (int n = 0; n < to.columns; ++n) {
        float first = 0, second = 0;
        for (int k = 0; k < a.columns; ++k) {
          first = fused(lower(a.numbers[m][k]), lower(b.numbers[k][n]), first);
          second = fused(upper(a.numbers[m][k]), upper(b.numbers[k][n]), second);
        }
        float const before = flushed(std::bit_cast<float>(to.numbers[m][n]));
        to.numbers[m][n] = std::bit_cast<std::uint32_t>(flushed(before + flushed(first + second)));
      }
  }

 private:
  struct contents {
    int rows = 0, columns = 0;
    std::uint32_t numbers[most_tile_side][most_tile_side] = {};
  };

  contents& used(int number) {
    if (tiles_[number].rows == 0) throw std::logic_error("a tile that has no rows is used");
    return tiles_[number];
  }
  /// Denormal numbers are zeros, of their sign, before and behind each operation.
  static float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }
  static float fused(float a, float b, float c) { return flushed(std::fma(flushed(a), flushed(b), c)); }
  static float lower(std::uint32_t pair) { return std::bit_cast<float>(pair << 16U); }
  static float upper(std::uint32_t pair) { return std::bit_cast<float>(pair & 0xFFFF0000U); }

  contents tiles_[8];
};

/// In place of amx_tiles.
class reference_tiles {
 public:
  explicit reference_tiles(tile_shapes const& shapes) { tiles_.configure(shapes); }

  template <int Row, int Column>
  void zero() {
    tiles_.zero(2 * Row + Column);
  }
  template <int Row>
  void load_left(float const* from, long stride) {
    tiles_.load(4 + Row, from, stride);
  }
  template <int Column>
  void load_right(float const* from, long stride) {
    tiles_.load(6 + Column, from, stride);
  }
  template <int Row, int Column>
  void add_products() {
    tiles_.add_products(2 * Row + Column, 4 + Row, 6 + Column);
  }
  template <int Row, int Column>
  void store(float* to, long stride) {
    tiles_.store(2 * Row + Column, to, stride);
  }

 private:
  tile_registers tiles_;
};

}  // namespace stagecraft::kernels::reference
