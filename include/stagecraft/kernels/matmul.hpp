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

/// Floats that a product with a single row reads ahead of its sums, where a panel does not fit into the first-level
/// cache.
inline constexpr int read_ahead = 512;

/// Stores what the epilogue gives.
template <class Epilogue>
struct store_output {
  Epilogue epilogue;

  template <int Lanes, class Batch>
  void store(Batch const& sum, float* to, int column) const {
    store_lanes<Lanes>(epilogue(sum, column), to);
  }
};

/// Stores what the epilogue gives in a second place, and a function of it in the first.
template <class Epilogue, class Function>
struct store_two_outputs {
  Epilogue epilogue;
  Function function;
  float* before;
  float const* y;

  template <int Lanes, class Batch>
  void store(Batch const& sum, float* to, int column) const {
    Batch const value = epilogue(sum, column);
    store_lanes<Lanes>(value, before + (to - y));
    store_lanes<Lanes>(function(value), to);
  }
};

/// What becomes of a tile's sums: added to the result if `add`, given to `output` if `last`, else stored.
template <int Stride, int Vectors, int LastLanes, class Arch, class Output>
struct tile_store {
  float* y;
  bool add;
  bool last;
  int column;
  Output output;

  template <int Lanes>
  void store(batch<Arch> sum, float* to, int at) const {
    if (add) sum = sum + load_lanes<Lanes, Arch>(to);
    if (last)
      output.template store<Lanes>(sum, to, at);
    else
      store_lanes<Lanes>(sum, to);
  }

  void operator()(int i, int j, batch<Arch> const& sum) const {
    float* const to = y + i * Stride + j * lanes<Arch>;
    int const at = column + j * lanes<Arch>;
    if (LastLanes == lanes<Arch> || j + 1 < Vectors)
      store<lanes<Arch>>(sum, to, at);
    else
      store<LastLanes>(sum, to, at);
  }
};

/// y (+)= left * right, through `output`: M rows of left, one panel of right of which Columns columns count.
template <int M, int LeftStride, int PanelColumns, int Columns, int Stride, class Arch, class Output>
inline void multiply_panel(float const* left, float const* right, int steps, float* y, bool add, bool last, int column,
                           Output const& output) {
  constexpr int vectors = (Columns + lanes<Arch> - 1) / lanes<Arch>;
  constexpr int last_lanes = Columns - (vectors - 1) * lanes<Arch>;
  constexpr row_blocks cut = cut_rows<Arch>(M, vectors);
  constexpr int ahead = M == 1 && LeftStride * PanelColumns > 8192 ? read_ahead : 0;
  using store = tile_store<Stride, vectors, last_lanes, Arch, Output>;
  for (int block = 0; block < cut.tall; ++block) {
    multiply_tile<cut.height, vectors, LeftStride, 1, PanelColumns, ahead, Arch>(left, right, steps,
                                                                                 store{y, add, last, column, output});
    left += cut.height * LeftStride;
    y += cut.height * Stride;
  }
  if constexpr (cut.low > 0)
    for (int block = 0; block < cut.low; ++block) {
      multiply_tile<cut.height - 1, vectors, LeftStride, 1, PanelColumns, ahead, Arch>(
          left, right, steps, store{y, add, last, column, output});
      left += (cut.height - 1) * LeftStride;
      y += (cut.height - 1) * Stride;
    }
}

/// y = output(x * w).
template <int M, int K, int N, class Arch, class Output>
inline void multiply(float const* x, float const* w, float* y, Output const& output) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int panel = layout::panel_columns;
  constexpr int whole = N / panel;
  constexpr int blocks = M == 1 ? 1 : (K + most_steps - 1) / most_steps;
  constexpr int steps = (K + blocks - 1) / blocks;
  for (int from = 0; from < K; from += steps) {
    int const count = blocks == 1 ? K : from + steps < K ? steps : K - from;
    bool const add = blocks > 1 && from > 0;
    bool const last = blocks == 1 || from + steps >= K;
    float const* right = w + from * panel;
    for (int p = 0; p < whole; ++p, right += layout::panel_stride)
      multiply_panel<M, K, panel, panel, N, Arch>(x + from, right, count, y + p * panel, add, last, p * panel, output);
    if constexpr (N % panel != 0)
      multiply_panel<M, K, panel, N % panel, N, Arch>(x + from, right, count, y + whole * panel, add, last,
                                                      whole * panel, output);
  }
}

}  // namespace detail

/// y = epilogue(x * w). x: M x K and y: M x N, row by row; w: packed_matrix<K, N, Arch>.
/// `epilogue(batch, column)` gets the sums of `lanes` columns, the first of which is `column`, and gives what is
/// stored.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void matmul(float const* x, float const* w, float* y, Epilogue const& epilogue = {}) {
  detail::multiply<M, K, N, Arch>(x, w, y, detail::store_output<Epilogue>{epilogue});
}

/// before = epilogue(x * w) and y = function(before), for activations whose gradient needs their input. `before` is
/// M x N, row by row, and not y.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue, class Function>
inline void matmul(float const* x, float const* w, float* before, float* y, Epilogue const& epilogue,
                   Function const& function) {
  detail::multiply<M, K, N, Arch>(x, w, y,
                                  detail::store_two_outputs<Epilogue, Function>{epilogue, function, before, y});
}

}  // namespace stagecraft::kernels
