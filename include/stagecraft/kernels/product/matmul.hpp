// SPDX-License-Identifier: BSD-3-Clause
// The product of a batch with a packed matrix: the forward pass of a dense layer, bias and activation included. All
// shapes are known at compile time; nothing is allocated.
#pragma once

#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/product/packed_matrix.hpp>
#include <stagecraft/kernels/product/register_tile.hpp>
#include <stagecraft/kernels/simd/parts_of_registers.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstdint>
#include <type_traits>

namespace stagecraft::kernels {

namespace detail {

/// The most steps of a product that are summed at once, so that the panel they read stays in the second-level cache.
inline constexpr int most_steps = 1024;

/// Floats of a right factor that every thread may read all of: they lie in a cache that threads share.
inline constexpr std::int64_t most_read_by_all = 1 << 19;

/// Floats that a product with a single row reads ahead of its sums, where a panel does not fit into the first-level
/// cache.
inline constexpr int read_ahead = 512;

/// The most floats of a right factor that the second-level cache holds beside all else: the panels of a larger one are
/// fetched before they are multiplied.
inline constexpr std::int64_t most_kept = 1 << 18;

/// Fetches `Floats` floats every `Every` steps into the second-level cache.
template <int Every, int Floats>
struct fetch_ahead {
  static constexpr int every = Every, floats = Floats;
  float const* next;

  void operator()() {
#pragma GCC unroll 16
    for (int i = 0; i < Floats; i += 16) __builtin_prefetch(next + i, 0, 2);
    next += Floats;
  }
  void finish() {}
};

/// Stores the result of the epilogue.
template <class Epilogue>
struct store_output {
  Epilogue epilogue;

  template <int Lanes, class Batch>
  void store(Batch const& sum, float* y, int column, std::int64_t element) const {
    store_lanes<Lanes>(epilogue(sum, column, element), y + element);
  }
};

/// Stores the result of the epilogue in a second place, and a function of it in the first.
template <class Epilogue, class Function>
struct store_two_outputs {
  Epilogue epilogue;
  Function function;
  float* before;

  template <int Lanes, class Batch>
  void store(Batch const& sum, float* y, int column, std::int64_t element) const {
    Batch const value = epilogue(sum, column, element);
    store_lanes<Lanes>(value, before + element);
    store_lanes<Lanes>(function(value), y + element);
  }
};

/// Stores the sums of a tile whose first element is y[first]: adds them to the result if `add`, passes them to `output`
/// if `last`, else writes them.
template <int Vectors, int LastLanes, class Arch, class Terms, class Stride, class Output>
struct tile_store {
  float* y;
  Stride stride;
  std::int64_t first;
  int column;
  bool add;
  bool last;
  Output output;

  template <int Lanes>
  void store(batch<Arch> sum, std::int64_t element, int at) const {
    if (add) sum = Terms::join(sum, load_lanes<Lanes, Arch>(y + element));
    if (last)
      output.template store<Lanes>(sum, y, at, element);
    else
      store_lanes<Lanes>(sum, y + element);
  }

  template <class Register>
  void operator()(int i, int j, Register const& sums) const {
    batch<Arch> const sum = [&] {
      if constexpr (std::is_same_v<Register, batch<Arch>>)
        return sums;
      else
        return widened<Arch>(sums);
    }();
    std::int64_t const element = first + i * stride + j * lanes<Arch>;
    int const at = column + j * lanes<Arch>;
    if (LastLanes == lanes<Arch> || j + 1 < Vectors)
      store<lanes<Arch>>(sum, element, at);
    else
      store<LastLanes>(sum, element, at);
  }
};

/// The tiles `first_tile` to `last_tile` of y (+)= left * right, through `output`: M rows of left, one panel of right
/// with Columns valid columns, the first of them y's `column`. `steps` products are summed, in half registers where the
/// columns fit into them. With `Fetches`, the same steps of the next panel are fetched meanwhile: else the first tile
/// would wait for a slow cache, or for memory.
template <int M, int LeftStride, int PanelColumns, int Columns, int Stride, class Arch, class Terms = float_terms,
          bool Fetches = false, class Output>
inline void multiply_panel(int first_tile, int last_tile, float const* left, float const* right, int steps, float* y,
                           int column, bool add, bool last, Output const& output) {
  constexpr int vectors = (Columns + lanes<Arch> - 1) / lanes<Arch>;
  constexpr int last_lanes = Columns - (vectors - 1) * lanes<Arch>;
  constexpr bool is_half =
      vectors == 1 && has_half_registers<Arch> && 2 * Columns <= lanes<Arch> && std::is_same_v<Terms, float_terms>;
  using sums = std::conditional_t<is_half, half_register<Arch>, batch<Arch>>;
  constexpr int tiles = cut_rows<Arch>(M, vectors).tiles();
  constexpr int ahead = (M == 1 || (Fetches && tiles == 1)) && LeftStride * PanelColumns > 8192 ? read_ahead : 0;
  constexpr int every = tiles <= 16 ? 4 : 16;
  using fetch = fetch_ahead<every, (every * PanelColumns / tiles + 15) / 16 * 16>;  // a type: GCC 12 fails at numbers
  [[maybe_unused]] float const *const end_of_next = right + std::int64_t{LeftStride + steps} * PanelColumns,
                                      *next = right + std::int64_t{LeftStride} * PanelColumns;
  for_each_tile<cut_rows<Arch>(M, vectors)>(first_tile, last_tile, [&]<int Height>(int row) {
    float const* const first = left + std::int64_t{row} * LeftStride;
    auto const store = [&](auto stride) {
      return tile_store<vectors, last_lanes, Arch, Terms, decltype(stride), Output>{
          y, stride, std::int64_t{row} * Stride + column, column, add, last, output};
    };
    constexpr bool is_shared = is_shared_tile<Arch>(Height, vectors, LeftStride);
    if constexpr (Fetches && tiles > 1) {
      fetch const work{next < end_of_next ? next : right};
      next += std::int64_t{steps / (fetch::every * interleaved_sums<Arch>(Height, vectors))} * fetch::floats;
      if constexpr (is_shared)
        multiply_tile_of_any<Height, vectors, false, PanelColumns, ahead, Arch, Terms, sums>(
            first, any_stride(LeftStride), right, steps, store(any_stride(Stride)), work);
      else
        multiply_tile<Height, vectors, false, PanelColumns, ahead, Arch, Terms, sums>(
            first, known_stride<LeftStride>{}, right, steps, store(known_stride<Stride>{}), work);
    } else if constexpr (is_shared) {
      multiply_tile_of_any<Height, vectors, false, PanelColumns, ahead, Arch, Terms, sums>(
          first, any_stride(LeftStride), right, steps, store(any_stride(Stride)), no_other_work{});
    } else {
      multiply_tile<Height, vectors, false, PanelColumns, ahead, Arch, Terms, sums>(
          first, known_stride<LeftStride>{}, right, steps, store(known_stride<Stride>{}));
    }
  });
}

/// Panels that a product with a single row reads side by side: reading them is all the work there, and several streams
/// are read faster than one. Their number leaves registers for the loaded weights.
template <class Arch>
inline constexpr int panels_side_by_side = vector_registers<Arch>() == 32 ? 2 : 4;

/// True if the panels of a matrix that a single row is multiplied with are read side by side.
template <int N, class Arch>
inline constexpr bool reads_side_by_side =
    N / packed_matrix<1, N, Arch>::panel_columns > 0 &&
    N / packed_matrix<1, N, Arch>::panel_columns % panels_side_by_side<Arch> == 0;

/// Panels of y = output(x * w) for a single row x; each sum has one term after the other, however many there are.
template <int Panels, int K, int N, class Arch, class Output>
inline void multiply_side_by_side(float const* x, float const* w, float* y, int column, Output const& output) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int width = lanes<Arch>, panel = layout::panel_columns, vectors = panel / width;
  constexpr int steps =
      vector_registers<Arch>() == 32 || K % 2 != 0 ? 1 : 2;  // steps of a panel before the next panel's
  batch<Arch> sum[Panels][vectors];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) sum[p][j] = batch<Arch>(0.0F);
  for (int k = 0; k < K; k += steps, w += steps * panel) {
    batch<Arch> element[steps];
#pragma GCC unroll 2
    for (int s = 0; s < steps; ++s) element[s] = batch<Arch>(x[k + s]);
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 2
      for (int s = 0; s < steps; ++s)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; ++j)
          sum[p][j] = fused_multiply_add(
              element[s], batch<Arch>::load_unaligned(w + p * layout::panel_stride + s * panel + j * width), sum[p][j]);
  }
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      int const at = column + p * panel + j * width;
      output.template store<width>(sum[p][j], y, at, std::int64_t{at});
    }
}

/// y = output(x * w) for a single row x.
template <int K, int N, class Arch, class Output>
inline void multiply_row(float const* x, float const* w, float* y, Output const& output, share part) {
  using layout = packed_matrix<K, N, Arch>;
  constexpr int panel = layout::panel_columns, whole = N / panel, rest = N % panel;
  auto const range = part.of(whole + (rest > 0 ? 1 : 0));
  auto p = static_cast<int>(range.first);
  auto const last = static_cast<int>(range.last);
  auto const some = [&]<int Panels>() {
    for (int const end = last < whole ? last : whole; p + Panels <= end; p += Panels)
      multiply_side_by_side<Panels, K, N, Arch>(x, w + p * layout::panel_stride, y, p * panel, output);
  };
  some.template operator()<panels_side_by_side<Arch>>();
  some.template operator()<1>();
  if constexpr (rest > 0)
    if (last > whole)
      multiply_panel<1, K, panel, rest, N, Arch>(0, 1, x, w + whole * layout::panel_stride, K, y, whole * panel, false,
                                                 true, output);
}

/// y = output(x * w).
template <int M, int K, int N, class Arch, class Terms = float_terms, class Output>
inline void multiply(float const* x, float const* w, float* y, Output const& output, share part) {
  if constexpr (M == 1 && std::is_same_v<Terms, float_terms> && reads_side_by_side<N, Arch>)
    return multiply_row<K, N, Arch>(x, w, y, output, part);
  using layout = packed_matrix<K, N, Arch>;
  constexpr int panel = layout::panel_columns;
  constexpr int blocks = M == 1 ? 1 : (K + most_steps - 1) / most_steps;
  constexpr int steps = (K + blocks - 1) / blocks;
  constexpr bool by_rows = std::int64_t{K} * N <= most_read_by_all;
  for (int from = 0; from < K; from += steps) {
    int const count = blocks == 1 ? K : from + steps < K ? steps : K - from;
    bool const add = blocks > 1 && from > 0;
    bool const last = blocks == 1 || from + steps >= K;
    for_each_panel<M, N, panel, Arch, by_rows>(part, [&]<int Columns>(int p, int first_tile, int last_tile) {
      multiply_panel<M, K, panel, Columns, N, Arch, Terms, (M > 1 && std::int64_t{K} * N > most_kept)>(
          first_tile, last_tile, x + from, w + p * layout::panel_stride + from * panel, count, y, p * panel, add, last,
          output);
    });
  }
}

/// True if one sum of K terms can be the sum of the lanes of a register that has one for each of the tile's sums.
template <int K, class Arch>
inline constexpr bool sums_in_lanes = [] {
  constexpr int sums = interleaved_sums<Arch>(1, 1);
  return K >= 2 * sums && K % sums == 0 && sums == 8 &&
         (lanes<Arch> == 8 || (lanes<Arch> == 16 && has_half_registers<Arch>));
}();

}  // namespace detail

/// True if `dot` has the K terms of a product.
template <int K, class Arch = default_architecture>
inline constexpr bool has_dot = detail::sums_in_lanes<K, Arch>;

/// y = epilogue(the sum of x[k] * w[k]), for a product of one row with a matrix of one column. It has the bits of
/// `matmul`, whose tile adds the terms in as many sums as a register has lanes here, and takes an eighth of its
/// products. w: K floats one after the other.
template <int K, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void dot(float const* x, float const* w, float* y, Epilogue const& epilogue = {}) {
  static_assert(has_dot<K, Arch>);
  using sums = std::conditional_t<lanes<Arch> == 8, batch<Arch>, half_register<Arch>>;
  sums sum(0.0F);
  for (int k = 0; k < K; k += 8)
    sum = fused_multiply_add(sums::load_unaligned(x + k), sums::load_unaligned(w + k), sum);
  alignas(32) float each[8];
  sum.store_aligned(each);
  for (int distance = 4; distance > 0; distance /= 2)
    for (int i = 0; i < distance; ++i) each[i] = each[i] + each[i + distance];
  store_lanes<1>(epilogue(batch<Arch>(each[0]), 0, std::int64_t{0}), y);
}

/// y = epilogue(x * w). x: M x K and y: M x N, row by row; w: packed_matrix<K, N, Arch>. See epilogue.hpp for what an
/// epilogue is. A thread's share is a range of columns, as far as the panels of w allow, or,
/// where there are many, of rows.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void matmul(float const* x, float const* w, float* y, Epilogue const& epilogue = {}, share part = {}) {
  detail::multiply<M, K, N, Arch>(x, w, y, detail::store_output<Epilogue>{epilogue}, part);
}

/// before = epilogue(x * w) and y = function(before), for activations whose gradient needs their input. `before` is
/// M x N, row by row, and not y.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue, class Function>
inline void matmul(float const* x, float const* w, float* before, float* y, Epilogue const& epilogue,
                   Function const& function, share part = {}) {
  detail::multiply<M, K, N, Arch>(x, w, y, detail::store_two_outputs<Epilogue, Function>{epilogue, function, before},
                                  part);
}

}  // namespace stagecraft::kernels
