// SPDX-License-Identifier: BSD-3-Clause
// The gradients of a product of matrices in pairs of bfloat16, and where its factors lie meanwhile.
#pragma once

#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/kernels/product/bfloat16_pairs.hpp>
#include <stagecraft/threads/share.hpp>
#include <cstdint>

namespace stagecraft::cpu {

/// The gradients of y (Rows x Units) = x (Rows x Inputs) w. Its functions take memory of `floats` floats for the packed
/// factors, one after the other, with room to read on: rows of dy that may end with a zero, pairs of rows of dy and x,
/// and w's pairs of columns. `make_factors` and `turn` come first, and all threads must have ended them.
template <int Rows, int Inputs, int Units, class Arch>
struct gradients_of_pairs {
  static constexpr long long gradient_pairs = behind_factor(1LL * Rows * kernels::pairs_of(Units)),
                             input_pairs = gradient_pairs + behind_factor(1LL * kernels::pairs_of(Rows) * Units),
                             column_pairs = input_pairs + behind_factor(1LL * kernels::pairs_of(Rows) * Inputs),
                             floats =
                                 column_pairs + kernels::packed_matrix<kernels::pairs_of(Units), Inputs, Arch>::size;

  /// x: floats, or as std::uint16_t bfloat16.
  template <bool OfInput, bool OfWeight, class Number>
  static void make_factors(Number const* x, float const* dy, float* room, kernels::share part) {
    if constexpr (OfInput) kernels::narrow_rows<Rows, Units, Arch>(dy, reinterpret_cast<std::uint16_t*>(room), part);
    if constexpr (OfWeight) {
      kernels::pair_rows<Rows, Inputs, Arch>(x, room + input_pairs, part);
      kernels::pair_rows<Rows, Units, Arch>(dy, room + gradient_pairs, part);
    }
  }
  /// w: pairs of rows.
  static void turn(float const* w, float* room, kernels::share part) {
    kernels::transpose_row_pairs<Inputs, Units, Arch>(w, room + column_pairs, part);
  }
  template <class Epilogue>
  static void find_input_gradient(float const* room, float* dx, Epilogue const& epilogue, kernels::share part) {
    kernels::matmul_of_pairs<Rows, Units, Inputs, Arch>(reinterpret_cast<std::uint16_t const*>(room),
                                                        room + column_pairs, dx, epilogue, part);
  }
  template <bool Adds>
  static void find_weight_gradient(float const* room, float* dw, kernels::share part) {
    kernels::weight_gradient_of_pairs<Rows, Inputs, Units, Adds, Arch>(room + input_pairs, room + gradient_pairs, dw,
                                                                       part);
  }
};

}  // namespace stagecraft::cpu
