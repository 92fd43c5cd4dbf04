// SPDX-License-Identifier: BSD-3-Clause
// The gradients of a product with a packed matrix and of its bias: the backward pass of a dense layer. All shapes are
// known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/product/matmul.hpp>
#include <stagecraft/kernels/product/packed_matrix.hpp>
#include <stagecraft/kernels/product/register_tile.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/transpose.hpp>
#include <stagecraft/threads/share.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace stagecraft::kernels {

namespace detail {

/// Columns of the weights' gradient that are transposed at once, and that a tile of the input's gradient is wide.
template <int K, class Arch>
inline constexpr int transposed_columns = packed_matrix<1, K, Arch>::panel_columns;

/// The most rows of dy of which a weight gradient copies a panel, aligned and padded with zeros, to the stack.
inline constexpr int most_copied_rows = 256;

/// x with zeros in all but the first Lanes lanes.
template <int Lanes, class Arch>
[[nodiscard]] inline batch<Arch> keep_lanes(batch<Arch> const& x) {
  if constexpr (Lanes == lanes<Arch>) {
    return x;
  } else {
    alignas(64) float values[lanes<Arch>] = {};
    store_lanes<Lanes>(x, values);
    return batch<Arch>::load_aligned(values);
  }
}

}  // namespace detail

/// Floats of workspace that `matmul_input_gradient` needs.
template <int K, int N, class Arch = default_architecture>
inline constexpr int input_gradient_workspace =
    (N + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch> * detail::transposed_columns<K, Arch>;

namespace detail {

/// The input gradient of a single row: transposing the weights would cost more than the products. Each element is the
/// dot product of dy and a row of w; as many rows as a register has lanes are summed side by side.
template <int K, int N, bool Accumulate, class Arch, class Epilogue>
inline void row_input_gradient(float const* dy, float const* w, float* dx, Epilogue const& epilogue, share part) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int vectors = (N + width - 1) / width;
  constexpr int last_lanes = N - (vectors - 1) * width;
  auto const rows = [&]<int Count>(int first) {
    batch<Arch> sum[width];
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) sum[i] = batch<Arch>(0.0F);
    for (int v = 0; v < vectors; ++v) {
      batch<Arch> const factor =
          v + 1 < vectors ? batch<Arch>::load_unaligned(dy + v * width) : load_lanes<last_lanes, Arch>(dy + v * width);
      float const* const column = w + layout::index(first, v * width);
#pragma GCC unroll 16
      for (int i = 0; i < Count; ++i)
        sum[i] = fused_multiply_add(factor, batch<Arch>::load_unaligned(column + i * layout::panel_columns), sum[i]);
    }
    alignas(64) float lane_sums[width * width];
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) sum[i].store_aligned(lane_sums + i * width);
    alignas(64) float transposed[width * width];
    transpose_block<Arch>(lane_sums, width, width, transposed, width);
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) sum[i] = batch<Arch>::load_aligned(transposed + i * width);
#pragma GCC unroll 4
    for (int distance = width / 2; distance > 0; distance /= 2)
#pragma GCC unroll 8
      for (int i = 0; i < distance; ++i) sum[i] = sum[i] + sum[i + distance];
    if constexpr (Accumulate) sum[0] = sum[0] + load_lanes<Count, Arch>(dx + first);
    store_lanes<Count>(epilogue(sum[0], first, std::int64_t{first}), dx + first);
  };
  auto const [first, last] = part.of((K + width - 1) / width);
  auto block = static_cast<int>(first);
  for (int const whole = last < K / width ? static_cast<int>(last) : K / width; block < whole; ++block)
    rows.template operator()<width>(block * width);
  if constexpr (K % width != 0)
    if (block < last) rows.template operator()<K % width>(K - K % width);
}

}  // namespace detail

/// dx (+)= dy * transposed(w), through the epilogue once the sums are complete. dy: M x N and dx: M x K, row by row; w:
/// packed_matrix<K, N, Arch>. `workspace` holds `input_gradient_workspace<K, N, Arch>` floats, each thread's own: a
/// panel of the transposed weights. A thread's share is a range of dx's columns, as far as their panels allow.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture, class Epilogue = no_epilogue>
  requires(!std::same_as<Epilogue, share>)
inline void matmul_input_gradient(float const* dy, float const* w, float* workspace, float* dx,
                                  Epilogue const& epilogue = {}, share part = {}) {
  if constexpr (M == 1 && N > lanes<Arch>)
    return detail::row_input_gradient<K, N, Accumulate, Arch>(dy, w, dx, epilogue, part);
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int panel = detail::transposed_columns<K, Arch>;
  auto const transpose = [&](int first, auto vectors) {
    for (int v = 0; v < vectors; ++v)
      for (int n = 0; n < N; n += width) {
        int const k = first + v * width;
        transpose_block<Arch>(w + layout::index(k, n), layout::panel_columns, K - k, workspace + n * panel + v * width,
                              panel);
      }
  };
  detail::for_each_panel<M, K, panel, Arch>(part, [&]<int Columns>(int p, int first_tile, int last_tile) {
    transpose(p * panel, std::integral_constant<int, (Columns + width - 1) / width>());
    for (int n = 0; n < N; n += detail::most_steps)
      detail::multiply_panel<M, N, panel, Columns, K, Arch>(
          first_tile, last_tile, dy + n, workspace + n * panel, N - n < detail::most_steps ? N - n : detail::most_steps,
          dx, p * panel, Accumulate || n > 0, n + detail::most_steps >= N, detail::store_output<Epilogue>{epilogue});
  });
}

/// The gradient by the left operand; no epilogue is applied.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture>
inline void matmul_input_gradient(float const* dy, float const* w, float* workspace, float* dx, share part) {
  matmul_input_gradient<M, K, N, Accumulate, Arch>(dy, w, workspace, dx, no_epilogue{}, part);
}

/// Stores the weights' gradient.
struct store_gradient {
  float* gradient;

  template <class Batch>
  void operator()(Batch const& sum, int offset) const {
    sum.store_unaligned(gradient + offset);
  }
};

namespace detail {

/// True if a weight gradient's `finish` takes long, and there are registers for its work beside the sums.
template <class Finish, class Arch>
inline constexpr bool defers_finish = vector_registers<Arch>() == 32 && requires { requires Finish::takes_long; };

/// The sums of a finished tile, which `finish` takes one after the other beside the products of the next tile: the
/// processor does not look far enough ahead to take roots and divide while it multiplies already.
template <int Rows, int Vectors, int PanelColumns, int Steps, class Arch, class Finish>
struct deferred_tile {
  static constexpr int most = Rows * Vectors;
  /// Calls during the next tile's steps, the steps from one call to the next, and the sums that a call finishes.
  static constexpr int calls = Steps < most ? Steps : most;
  static constexpr int every = Steps / calls;
  static constexpr int together = (most + calls - 1) / calls;

  Finish finish_one;
  float const* sums;
  float const* next = sums;
  float const* end = sums;
  int offset = 0;  ///< offset of the next sum in the gradient

  void operator()() {
#pragma GCC unroll 1
    for (int n = 0; n < together; ++n)
      if (next != end) one();
  }
  void finish() {
#pragma GCC unroll 1
    while (next != end) one();
  }

 private:
  void one() {
    constexpr int columns = Vectors * lanes<Arch>;
    finish_one(batch<Arch>::load_aligned(next), offset);
    next += lanes<Arch>;
    offset += lanes<Arch>;
    if constexpr (columns != PanelColumns)
      if ((next - sums) % columns == 0) offset += PanelColumns - columns;
  }
};

/// The place of a tile's sums: the first one is the gradient's number `first`.
template <int Vectors, int PanelColumns, int LastLanes, bool Accumulate, class Arch>
struct gradient_tile {
  static constexpr int vectors = Vectors, width = lanes<Arch>;

  float const* gradient;
  int first;

  [[nodiscard]] constexpr int offset(int i, int j) const { return first + i * PanelColumns + j * width; }
  [[nodiscard]] batch<Arch> complete(batch<Arch> sum, [[maybe_unused]] int i, int j) const {
    if (LastLanes < width && j == Vectors - 1) sum = keep_lanes<LastLanes, Arch>(sum);
    if constexpr (Accumulate) sum = sum + batch<Arch>::load_unaligned(gradient + offset(i, j));
    return sum;
  }
};

/// Keeps the sums of a tile for a deferred_tile.
template <class Tile>
struct kept_tile {
  Tile tile;
  float* sums;

  template <class Batch>
  void operator()(int i, int j, Batch const& sum) const {
    tile.complete(sum, i, j).store_aligned(sums + (i * Tile::vectors + j) * Tile::width);
  }
};

/// True if a gradient with `columns` columns is summed with its rows in the lanes, since a quarter of a register would
/// be empty otherwise.
template <class Arch>
[[nodiscard]] consteval bool sums_rows_in_lanes(int rows, int columns) {
  return columns * 4 <= lanes<Arch> * 3 && columns >= 4 && rows >= lanes<Arch>;
}

/// The weight gradient for few columns: sums tiles of the transposed gradient, and transposes them.
template <int M, int K, int N, bool Accumulate, class Arch, class Terms, class Finish>
inline void narrow_weight_gradient(float const* x, float const* dy, [[maybe_unused]] float const* dw,
                                   Finish const& finish, share part) {
  constexpr int width = lanes<Arch>;
  constexpr int tile_vectors = 2 * (N + 1) < vector_registers<Arch>() ? 2 : 1;
  alignas(64) float transposed[width * tile_vectors * width];
  for (int i = N * tile_vectors * width; i < width * tile_vectors * width; ++i) transposed[i] = 0.0F;
  auto const tile = [&]<int Vectors>(int k) {
    multiply_tile<N, Vectors, true, K, 0, Arch, Terms>(
        dy, known_stride<N>{}, x + k, M,
        [&](int i, int j, batch<Arch> const& sum) { sum.store_aligned(transposed + (i * tile_vectors + j) * width); });
    for (int j = 0; j < Vectors; ++j) {
      alignas(64) float rows[width * width];
      transpose_block<Arch>(transposed + j * width, tile_vectors * width, width, rows, width);
      int const first = k + j * width;
      int const count = K - first < width ? K - first : width;
      for (int i = 0; i < count; ++i) {
        batch<Arch> sum = batch<Arch>::load_aligned(rows + i * width);
        int const offset = (first + i) * width;
        if constexpr (Accumulate) sum = sum + batch<Arch>::load_unaligned(dw + offset);
        finish(sum, offset);
      }
    }
  };
  constexpr int tile_rows = tile_vectors * width;
  constexpr int whole = K / tile_rows;
  auto const [first, last] = part.of((K + tile_rows - 1) / tile_rows);
  auto number = static_cast<int>(first);
  if constexpr (whole > 0)
    for (int const end = last < whole ? static_cast<int>(last) : whole; number < end; ++number)
      tile.template operator()<tile_vectors>(number * tile_rows);
  if constexpr (K % tile_rows != 0)
    if (number < last) tile.template operator()<(K % tile_rows + width - 1) / width>(whole * tile_rows);
}

}  // namespace detail

/// Passes every register of dw (+)= transposed(x) * dy to `finish(batch, offset)`, once, with its offset in
/// packed_matrix<K, N, Arch>; lanes of padding are 0. x: M x K and dy: M x N, row by row; up to a register after their
/// ends may be read. `finish` may store the gradient, or update the weight there and then so that the gradient is never
/// written; with a member `static constexpr bool takes_long = true`, because it divides or takes roots, it is called
/// beside the products that follow. `dw` is read if Accumulate; else it may be null. A thread's share is a range of
/// columns, as far as the panels of dw allow: about the same as in `matmul`.
template <int M, int K, int N, bool Accumulate, class Arch = default_architecture, class Terms = detail::float_terms,
          class Finish>
  requires(!std::same_as<Finish, share>)
inline void matmul_weight_gradient(float const* x, float const* dy, [[maybe_unused]] float const* dw, Finish finish,
                                   share part = {}) {
  if constexpr (detail::sums_rows_in_lanes<Arch>(K, N))
    return detail::narrow_weight_gradient<M, K, N, Accumulate, Arch, Terms>(x, dy, dw, finish, part);
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>;
  constexpr int panel = layout::panel_columns;
  constexpr bool copies = M <= detail::most_copied_rows;
  alignas(64) float copy[copies ? M * panel : 1];

  detail::for_each_panel<K, N, panel, Arch>(part, [&]<int Columns>(int p, int first_tile, int last_tile) {
    constexpr int vectors = (Columns + width - 1) / width;
    constexpr int last_lanes = Columns - (vectors - 1) * width;
    constexpr detail::row_blocks cut = detail::cut_rows<Arch>(K, vectors);
    float const* right = dy + p * panel;
    if constexpr (copies) {
      for (int m = 0; m < M; ++m, right += N) {
        for (int j = 0; j < vectors - 1; ++j)
          batch<Arch>::load_unaligned(right + j * width).store_aligned(copy + m * panel + j * width);
        load_lanes<last_lanes, Arch>(right + (vectors - 1) * width)
            .store_aligned(copy + m * panel + (vectors - 1) * width);
      }
      right = copy;
    }
    detail::gradient_tile<vectors, panel, copies ? width : last_lanes, Accumulate, Arch> sums_of{dw, 0};
    constexpr int step = copies ? panel : N;
    if constexpr (!detail::defers_finish<Finish, Arch>) {
      detail::for_each_tile<cut>(first_tile, last_tile, [&]<int Height>(int k) {
        auto own = sums_of;
        own.first = p * layout::panel_stride + k * panel;
        detail::multiply_tile<Height, vectors, true, step, 0, Arch, Terms>(
            x + k, detail::known_stride<K>{}, right, M,
            [=](int i, int j, batch<Arch> const& sum) { finish(own.complete(sum, i, j), own.offset(i, j)); });
      });
    } else {
      alignas(64) float sums[cut.height * vectors * width];
      detail::deferred_tile<cut.height, vectors, panel, M, Arch, Finish> deferred{finish, sums};
      detail::for_each_tile<cut>(first_tile, last_tile, [&]<int Height>(int k) {
        int const base = p * layout::panel_stride + k * panel;
        sums_of.first = base;
        detail::kept_tile const kept{sums_of, sums};
        if constexpr (detail::is_shared_tile<Arch>(Height, vectors, M))
          detail::multiply_tile_of_any<Height, vectors, true, step, 0, Arch, Terms>(x + k, detail::any_stride(K), right,
                                                                                    M, kept, deferred);
        else
          detail::multiply_tile<Height, vectors, true, step, 0, Arch, Terms>(x + k, detail::known_stride<K>{}, right, M,
                                                                             kept, deferred);
        deferred.offset = base;
        deferred.end = sums + Height * vectors * width;
      });
      deferred.finish();
    }
  });
}

/// Floats of workspace for a weight gradient of M rows that `finish` takes: the sums over some of the rows.
template <int M, int K, int N, class Arch = default_architecture>
inline constexpr int weight_gradient_workspace = M > detail::most_copied_rows ? packed_matrix<K, N, Arch>::size : 0;

/// The weight gradient of any number of rows, block by block, so that the sums stay in the cache. `sums`:
/// `weight_gradient_workspace` floats, or the gradient to which it is added if Accumulate.
template <int M, int K, int N, bool Accumulate, class Arch = default_architecture, class Finish>
inline void matmul_weight_gradient_of_rows(float const* x, float const* dy, float* sums, Finish const& finish,
                                           share part = {}) {
  constexpr int rows = M < detail::most_copied_rows ? M : detail::most_copied_rows;
  if constexpr (M == rows) {
    matmul_weight_gradient<M, K, N, Accumulate, Arch>(x, dy, sums, finish, part);
  } else {
    matmul_weight_gradient<rows, K, N, Accumulate, Arch>(x, dy, sums, store_gradient{sums}, part);
    std::int64_t from = rows;
    if constexpr (M > 2 * rows)
      for (; from + rows < M; from += rows)
        matmul_weight_gradient<rows, K, N, true, Arch>(x + from * K, dy + from * N, sums, store_gradient{sums}, part);
    matmul_weight_gradient<(M - 1) % rows + 1, K, N, true, Arch>(x + from * K, dy + from * N, sums, finish, part);
  }
}

/// dw (+)= transposed(x) * dy. x: M x K and dy: M x N, row by row; dw: packed_matrix<K, N, Arch>. With Accumulate the
/// padding of dw must be 0 before; it is 0 afterwards, except for registers that are padding altogether, which are not
/// touched.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture>
inline void matmul_weight_gradient(float const* x, float const* dy, float* dw, share part = {}) {
  matmul_weight_gradient_of_rows<M, K, N, Accumulate, Arch>(x, dy, dw, store_gradient{dw}, part);
}

/// db (+)= the sums of dy's columns. dy: M x N, row by row; db: N floats, padded to whole registers. A thread's share
/// is a range of columns.
template <int M, int N, bool Accumulate = false, class Arch = default_architecture>
inline void bias_gradient(float const* dy, float* db, share part = {}) {
  constexpr int width = lanes<Arch>;
  auto const sum_columns = [&]<int Vectors, int LastLanes>(int column) {
    batch<Arch> sum[2][Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) sum[0][j] = sum[1][j] = batch<Arch>(0.0F);
    auto const add_row = [&](int half, float const* row) {
#pragma GCC unroll 8
      for (int j = 0; j < Vectors; ++j)
        sum[half][j] = sum[half][j] + (j + 1 < Vectors ? batch<Arch>::load_unaligned(row + j * width)
                                                       : load_lanes<LastLanes, Arch>(row + j * width));
    };
    float const* row = dy + column;
    for (int m = 0; m + 2 <= M; m += 2, row += 2 * N) {
      add_row(0, row);
      add_row(1, row + N);
    }
    if constexpr (M % 2 == 1) add_row(0, row);
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      batch<Arch> total = sum[0][j] + sum[1][j];
      float* const to = db + column + j * width;
      if (Accumulate) total = total + batch<Arch>::load_unaligned(to);
      total.store_unaligned(to);
    }
  };
  constexpr int group_vectors = 4;
  constexpr int group = group_vectors * width;
  constexpr int groups = (N + group - 1) / group;
  auto const range = part.of(groups);
  for (auto g = static_cast<int>(range.first); g < range.last; ++g) {
    if (N % group == 0 || g + 1 < groups) {
      if constexpr (N >= group) sum_columns.template operator()<group_vectors, width>(g * group);
    } else if constexpr (N % group != 0) {
      constexpr int vectors = (N % group + width - 1) / width;
      sum_columns.template operator()<vectors, N % group - (vectors - 1) * width>(g * group);
    }
  }
}

}  // namespace stagecraft::kernels
