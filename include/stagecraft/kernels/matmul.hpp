// SPDX-License-Identifier: BSD-3-Clause
// The product of a batch with a packed matrix: the forward pass of a dense layer, bias and activation included.
// Level 4 of the house. All shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/packed_matrix.hpp>
#include <stagecraft/kernels/register_tile.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

/// What `matmul` does to its sums before they leave the registers: nothing.
struct no_epilogue {
  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int /*column*/) const noexcept {
    return sum;
  }
};

/// Adds bias[column]. The bias is padded to whole registers.
struct bias_epilogue {
  float const* bias;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int column) const noexcept {
    return sum + Batch::load_unaligned(bias + column);
  }
};

/// An epilogue and then a function of the batch alone, such as an activation.
template <class Epilogue, class Function>
struct epilogue_then {
  Epilogue epilogue;
  Function function;

  template <class Batch>
  [[nodiscard]] Batch operator()(Batch const& sum, int column) const {
    return function(epilogue(sum, column));
  }
};

template <class Epilogue, class Function>
epilogue_then(Epilogue, Function) -> epilogue_then<Epilogue, Function>;

namespace detail {

/// The most steps of a product that are summed at once, so that the panel they read stays in the second-level cache.
inline constexpr int most_steps = 1024;

/// What becomes of a tile's sums: added to the result if `add`, given to the epilogue if `last`, stored.
template <int Stride, int Vectors, int LastLanes, class Arch, class Epilogue>
struct tile_store {
  float* y;
  bool add;
  bool last;
  int column;
  Epilogue epilogue;

  void operator()(int i, int j, batch<Arch> sum) const {
    float* const to = y + i * Stride + j * lanes<Arch>;
    if (LastLanes == lanes<Arch> || j + 1 < Vectors) {
      if (add) sum = sum + batch<Arch>::load_unaligned(to);
      if (last) sum = epilogue(sum, column + j * lanes<Arch>);
      sum.store_unaligned(to);
    } else {
      if (add) sum = sum + load_lanes<LastLanes, Arch>(to);
      if (last) sum = epilogue(sum, column + j * lanes<Arch>);
      store_lanes<LastLanes>(sum, to);
    }
  }
};

/// y (+)= epilogue(left * right): M rows of left, one panel of right of which Columns columns count.
template <int M, int LeftStride, int PanelColumns, int Columns, int Stride, class Arch, class Epilogue>
inline void multiply_panel(float const* left, float const* right, int steps, float* y, bool add, bool last, int column,
                           Epilogue const& epilogue) {
  constexpr int vectors = (Columns + lanes<Arch> - 1) / lanes<Arch>;
  constexpr int last_lanes = Columns - (vectors - 1) * lanes<Arch>;
  constexpr row_blocks cut = cut_rows<Arch>(M, vectors);
  using store = tile_store<Stride, vectors, last_lanes, Arch, Epilogue>;
  for (int block = 0; block < cut.tall; ++block) {
    multiply_tile<cut.height, vectors, LeftStride, 1, PanelColumns, Arch>(left, right, steps,
                                                                         store{y, add, last, column, epilogue});
    left += cut.height * LeftStride;
    y += cut.height * Stride;
  }
  if constexpr (cut.low > 0)
    for (int block = 0; block < cut.low; ++block) {
      multiply_tile<cut.height - 1, vectors, LeftStride, 1, PanelColumns, Arch>(left, right, steps,
                                                                               store{y, add, last, column, epilogue});
      left += (cut.height - 1) * LeftStride;
      y += (cut.height - 1) * Stride;
    }
}

}  // namespace detail

/// y = epilogue(x * w). x: M x K and y: M x N, row by row; w: packed_matrix<K, N, Arch>.
/// `epilogue(batch, column)` gets the sums of `lanes` columns, the first of which is `column`, and gives what is stored.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void matmul(float const* x, float const* w, float* y, Epilogue const& epilogue = {}) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int panel = layout::panel_columns;
  constexpr int whole = N / panel;
  constexpr int blocks = M == 1 ? 1 : (K + detail::most_steps - 1) / detail::most_steps;
  constexpr int steps = (K + blocks - 1) / blocks;
  for (int from = 0; from < K; from += steps) {
    int const count = blocks == 1 ? K : from + steps < K ? steps : K - from;
    bool const add = blocks > 1 && from > 0;
    bool const last = blocks == 1 || from + steps >= K;
    float const* right = w + from * panel;
    for (int p = 0; p < whole; ++p, right += layout::panel_stride)
      detail::multiply_panel<M, K, panel, panel, N, Arch>(x + from, right, count, y + p * panel, add, last, p * panel,
                                                          epilogue);
    if constexpr (N % panel != 0)
      detail::multiply_panel<M, K, panel, N % panel, N, Arch>(x + from, right, count, y + whole * panel, add, last,
                                                              whole * panel, epilogue);
  }
}

}  // namespace stagecraft::kernels
