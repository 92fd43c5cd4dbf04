// SPDX-License-Identifier: BSD-3-Clause
// Normalization of each row of a row-major matrix, and its gradients.
// Keras counterpart: tf.keras.layers.LayerNormalization.
#pragma once

#include <stagecraft/kernels/normalization/channel_rows.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/simd_reduction.hpp>
#include <stagecraft/threads/share.hpp>

#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

namespace detail {

/// A row of `Columns` floats in registers, and the steps of its normalization.
template <int Columns, class Arch>
struct row_registers {
  using value = batch<Arch>;
  static constexpr int width = lanes<Arch>;
  static constexpr int vectors = (Columns + width - 1) / width;
  static constexpr int last_lanes = Columns - (vectors - 1) * width;
  static constexpr float per_column = 1.0F / Columns;

  /// `visit<Lanes>(which, column)` for each register of a row; `which` tells four chains of sums apart.
  template <class Visit>
  [[gnu::always_inline]] static inline void for_each(Visit const& visit) {
    constexpr int whole = (vectors - 1) / 4 * 4;
    for (int i = 0; i < whole; i += 4) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) visit.template operator()<width>(k, (i + k) * width);
    }
#pragma GCC unroll 4
    for (int k = 0; k < vectors - 1 - whole; ++k) visit.template operator()<width>(k, (whole + k) * width);
    visit.template operator()<last_lanes>((vectors - 1) % 4, (vectors - 1) * width);
  }
  /// The four chains of one sum, and their sum.
  struct chains {
    value part[4] = {value(0.0F), value(0.0F), value(0.0F), value(0.0F)};
    [[nodiscard]] value sum() const {
      if constexpr (vectors == 1) return part[0];
      if constexpr (vectors == 2) return part[0] + part[1];
      return (part[0] + part[1]) + (part[2] + part[3]);
    }
  };
  template <int Lanes>
  [[nodiscard]] static value load(float const* p) {
    return load_lanes<Lanes, Arch>(p);
  }
  template <int Lanes>
  [[nodiscard]] static value keep(value const& x) {
    if constexpr (Lanes == width)
      return x;
    else
      return keep_first<Arch>(x, Lanes);
  }

  /// y = (x - mean) * reciprocal * gamma + beta.
  template <bool Scale, bool Center>
  static void write(float const* x, value const& mean, value const& reciprocal, float const* gamma, float const* beta,
                    float* y) {
    for_each([&]<int Lanes>(int, int column) {
      value const d = load<Lanes>(x + column) - mean;
      value result = d * reciprocal;
      if constexpr (Scale && Center)
        result = fused_multiply_add(result, load<Lanes>(gamma + column), load<Lanes>(beta + column));
      else if constexpr (Scale)
        result = result * load<Lanes>(gamma + column);
      else if constexpr (Center)
        result = fused_multiply_add(d, reciprocal, load<Lanes>(beta + column));
      store_lanes<Lanes>(result, y + column);
    });
  }

  /// dy * gamma.
  template <int Lanes>
  [[nodiscard]] static value scaled(float const* dy, float const* gamma, int column) {
    value const g = load<Lanes>(dy + column);
    return gamma != nullptr ? g * load<Lanes>(gamma + column) : g;
  }
  /// The chains of the sums of dy * gamma and of that times x - mean.
  static void add_gradients(float const* x, float const* dy, value const& mean, float const* gamma, chains& sum,
                            chains& slope) {
    for_each([&]<int Lanes>(int k, int column) {
      value const g = scaled<Lanes>(dy, gamma, column);
      sum.part[k] = sum.part[k] + g;
      slope.part[k] = fused_multiply_add(g, keep<Lanes>(load<Lanes>(x + column) - mean), slope.part[k]);
    });
  }
  /// dx (+)= reciprocal * (dy * gamma - sum - (x - mean) * slope).
  template <bool Accumulate>
  static void write_gradient(float const* x, float const* dy, value const& mean, value const& reciprocal,
                             value const& sum, value const& slope, float const* gamma, float* dx) {
    for_each([&]<int Lanes>(int, int column) {
      value const g = scaled<Lanes>(dy, gamma, column);
      value result = fused_negative_multiply_add(load<Lanes>(x + column) - mean, slope, g - sum);
      if constexpr (Accumulate)
        result = fused_multiply_add(reciprocal, result, load<Lanes>(dx + column));
      else
        result = reciprocal * result;
      store_lanes<Lanes>(result, dx + column);
    });
  }
};

/// Takes as many rows at a time as a register has lanes: each lane of a sum over columns, and of its results, belongs
/// to a row. It serves rows so short that this number of them stays in the first-level cache.
template <int Columns, class Arch>
struct row_block : row_registers<Columns, Arch> {
  using registers = row_registers<Columns, Arch>;
  using value = batch<Arch>;
  static constexpr int rows = lanes<Arch>;

  /// The sums of rows; `sum_of(row)` returns one register each.
  template <class Sum>
  [[nodiscard]] static value sums(int count, Sum const& sum_of) {
    alignas(64) float partial[rows * rows];
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i) sum_of(i).store_aligned(partial + i * rows);
    for (int i = count; i < rows; ++i) value(0.0F).store_aligned(partial + i * rows);
    return horizontal_sums<Arch>(partial);
  }

  template <bool Scale, bool Center>
  static void normalize(float const* x, int count, float epsilon, float const* gamma, float const* beta, float* y,
                        float* mean, float* reciprocal) {
    // The mean is kept as a difference from the row's first number, so that rounding loses nothing of it.
    alignas(64) float offset[rows], r[rows];
    value const factor(registers::per_column);
    auto const mean_of = [&](int i) { return value(x[i * Columns]) + value(offset[i]); };
    (factor * sums(count, [&](int i) {
       value const shift(x[i * Columns]);
       typename registers::chains sum;
       registers::for_each([&]<int Lanes>(int k, int column) {
         value const d = registers::template load<Lanes>(x + i * Columns + column) - shift;
         sum.part[k] = sum.part[k] + registers::template keep<Lanes>(d);
       });
       return sum.sum();
     })).store_aligned(offset);
    value const squares = sums(count, [&](int i) {
      value const m = mean_of(i);
      typename registers::chains sum;
      registers::for_each([&]<int Lanes>(int k, int column) {
        value const d = registers::template keep<Lanes>(registers::template load<Lanes>(x + i * Columns + column) - m);
        sum.part[k] = fused_multiply_add(d, d, sum.part[k]);
      });
      return sum.sum();
    });
    (value(1.0F) / xsimd::sqrt(fused_multiply_add(factor, squares, value(epsilon)))).store_aligned(r);
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i)
      registers::template write<Scale, Center>(x + i * Columns, mean_of(i), value(r[i]), gamma, beta, y + i * Columns);
    if (mean != nullptr)
      for (int i = 0; i < count; ++i) mean[i] = x[i * Columns] + offset[i];
    if (reciprocal != nullptr) store_first(value::load_aligned(r), reciprocal, count);
  }

  template <bool Accumulate>
  static void gradient(float const* x, float const* dy, int count, float const* mean, float const* reciprocal,
                       float const* gamma, float* dx) {
    alignas(64) float sum[rows], slope[rows], partial[2 * rows * rows];
    for (int i = 0; i < rows; ++i) {
      typename registers::chains of_gradient, of_slope;
      if (i < count)
        registers::add_gradients(x + i * Columns, dy + i * Columns, value(mean[i]), gamma, of_gradient, of_slope);
      of_gradient.sum().store_aligned(partial + i * rows);
      of_slope.sum().store_aligned(partial + (rows + i) * rows);
    }
    value const factor(registers::per_column), r = load_first<Arch>(reciprocal, count);
    (factor * horizontal_sums<Arch>(partial)).store_aligned(sum);
    (factor * horizontal_sums<Arch>(partial + rows * rows) * r * r).store_aligned(slope);
    for (int i = 0; i < count; ++i)
      registers::template write_gradient<Accumulate>(x + i * Columns, dy + i * Columns, value(mean[i]),
                                                     value(reciprocal[i]), value(sum[i]), value(slope[i]), gamma,
                                                     dx + i * Columns);
  }
};

/// Takes one row at a time: for long rows.
template <int Columns, class Arch>
struct long_row : row_registers<Columns, Arch> {
  using registers = row_registers<Columns, Arch>;
  using value = batch<Arch>;

  template <bool Scale, bool Center>
  static void normalize(float const* x, float epsilon, float const* gamma, float const* beta, float* y, float& mean,
                        float& reciprocal) {
    typename registers::chains part, rest, square;
    registers::for_each([&]<int Lanes>(int k, int column) {
      part.part[k] = part.part[k] + registers::template load<Lanes>(x + column);
    });
    float const near = horizontal_sum(part.sum()) * registers::per_column;
    value const shift(near);
    registers::for_each([&]<int Lanes>(int k, int column) {
      prefetch(x + Columns + column);  // the next row
      value const d = registers::template keep<Lanes>(registers::template load<Lanes>(x + column) - shift);
      rest.part[k] = rest.part[k] + d;
      square.part[k] = fused_multiply_add(d, d, square.part[k]);
    });
    // A second sum finds the rounding error of the mean.
    value const offset(horizontal_sum(rest.sum()) * registers::per_column);
    value const variance =
        fused_negative_multiply_add(offset, offset, value(horizontal_sum(square.sum()) * registers::per_column));
    value const m = shift + offset;
    value const r = value(1.0F) / xsimd::sqrt(at_least(variance, value(0.0F)) + value(epsilon));
    store_first<Arch>(m, &mean, 1);
    store_first<Arch>(r, &reciprocal, 1);
    registers::template write<Scale, Center>(x, m, r, gamma, beta, y);
  }

  template <bool Accumulate>
  static void gradient(float const* x, float const* dy, float mean, float reciprocal, float const* gamma, float* dx) {
    typename registers::chains of_gradient, of_slope;
    registers::add_gradients(x, dy, value(mean), gamma, of_gradient, of_slope);
    float const sum = horizontal_sum(of_gradient.sum()) * registers::per_column;
    float const slope = horizontal_sum(of_slope.sum()) * registers::per_column * reciprocal * reciprocal;
    registers::template write_gradient<Accumulate>(x, dy, value(mean), value(reciprocal), value(sum), value(slope),
                                                   gamma, dx);
  }
};

/// sums[column] += dy, sums[Stride + column] += dy * (x - mean) * reciprocal, over `rows` rows.
template <int Columns, int Stride, class Arch>
struct column_gradients : row_registers<Columns, Arch> {
  using registers = row_registers<Columns, Arch>;
  using value = batch<Arch>;
  static constexpr int block = has_avx512<Arch> ? 8 : 4;  // registers of each sum at once

  static void add(float const* x, float const* dy, std::int64_t rows, float const* mean, float const* reciprocal,
                  float* sums) {
    constexpr int whole_blocks = (registers::vectors - 1) / block;
    for (int i = 0; i < whole_blocks; ++i)
      add_block<block, registers::width>(x, dy, rows, mean, reciprocal, i * block * registers::width, sums);
    add_block<registers::vectors - whole_blocks * block, registers::last_lanes>(
        x, dy, rows, mean, reciprocal, whole_blocks * block * registers::width, sums);
  }

 private:
  template <int Vectors, int LastLanes>
  static void add_block(float const* x, float const* dy, std::int64_t rows, float const* mean, float const* reciprocal,
                        int column, float* sums) {
    constexpr int width = registers::width;
    value of_beta[Vectors], of_gamma[Vectors];
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      of_beta[j] = value::load_unaligned(sums + column + j * width);
      of_gamma[j] = value::load_unaligned(sums + Stride + column + j * width);
    }
    std::int64_t at = column;
    for (std::int64_t row = 0; row < rows; ++row, at += Columns) {
      value const m(mean[row]), r(reciprocal[row]);
      auto const add = [&]<int Lanes>(int j) {
        value const g = registers::template load<Lanes>(dy + at + j * width);
        value const d = registers::template load<Lanes>(x + at + j * width) - m;
        of_beta[j] = of_beta[j] + g;
        of_gamma[j] = fused_multiply_add(g, d * r, of_gamma[j]);
      };
#pragma GCC unroll 8
      for (int j = 0; j + 1 < Vectors; ++j) add.template operator()<width>(j);
      add.template operator()<LastLanes>(Vectors - 1);
    }
#pragma GCC unroll 8
    for (int j = 0; j < Vectors; ++j) {
      of_beta[j].store_unaligned(sums + column + j * width);
      of_gamma[j].store_unaligned(sums + Stride + column + j * width);
    }
  }
};

/// Rows up to this length are taken several at a time.
template <class Arch>
inline constexpr int longest_block_row = 16 * lanes<Arch>;

}  // namespace detail

/// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta for each of `rows` rows; gamma or beta may be null. Unless
/// they are null, mean[row] and reciprocal[row] = 1 / sqrt(variance + epsilon) are kept for the gradient.
template <int Columns, class Arch = default_architecture>
inline void layer_normalize(float const* x, std::int64_t rows, float epsilon, float const* gamma, float const* beta,
                            float* y, float* mean, float* reciprocal, share part = {}) {
  constexpr bool in_blocks = Columns <= detail::longest_block_row<Arch>;
  auto const [first, last] = part.of(rows, channel_rows<Columns, Arch>::granule);
  auto const normalize = [&]<bool Scale, bool Center>() {
    if constexpr (in_blocks) {
      using block = detail::row_block<Columns, Arch>;
      for (std::int64_t row = first; row < last; row += block::rows) {
        int const count = last - row < block::rows ? static_cast<int>(last - row) : block::rows;
        block::template normalize<Scale, Center>(x + row * Columns, count, epsilon, gamma, beta, y + row * Columns,
                                                 mean == nullptr ? nullptr : mean + row,
                                                 reciprocal == nullptr ? nullptr : reciprocal + row);
      }
    } else {
      for (std::int64_t row = first; row < last; ++row) {
        float m = 0, r = 0;
        detail::long_row<Columns, Arch>::template normalize<Scale, Center>(x + row * Columns, epsilon, gamma, beta,
                                                                           y + row * Columns, m, r);
        if (mean != nullptr) mean[row] = m;
        if (reciprocal != nullptr) reciprocal[row] = r;
      }
    }
  };
  if (gamma != nullptr && beta != nullptr) return normalize.template operator()<true, true>();
  if (gamma != nullptr) return normalize.template operator()<true, false>();
  if (beta != nullptr) return normalize.template operator()<false, true>();
  normalize.template operator()<false, false>();
}

namespace detail {

/// Floats of one array of sums per column.
template <int Columns>
inline constexpr int column_sums_stride = (Columns + 31) / 16 * 16;

}  // namespace detail

/// Floats of workspace, on each thread, that `layer_normalization_gradient` needs.
template <int Columns, class Arch = default_architecture>
inline constexpr long long layer_normalization_workspace = 2LL * detail::column_sums_stride<Columns>;

/// dx (or dx +=, if Accumulate) = the gradient of `layer_normalize`, unless dx is null. Unless `partial` is null, it
/// gets the sums of dy and of dy * (x - mean) * reciprocal for each item of the rows (channel_items<Rows, Columns,
/// Arch>); all items together sum to the gradients of beta and gamma. mean and reciprocal are those of
/// `layer_normalize`; gamma may be null.
template <int Rows, int Columns, bool Accumulate = false, class Arch = default_architecture>
inline void layer_normalization_gradient(float const* x, float const* dy, float const* mean, float const* reciprocal,
                                         float const* gamma, float* workspace, float* dx, float* partial,
                                         share part = {}) {
  using items = channel_items<Rows, Columns, Arch>;
  constexpr int stride = detail::column_sums_stride<Columns>;
  constexpr int partial_stride = channel_rows<Columns, Arch>::channel_floats;
  auto const inputs = [&](std::int64_t row, std::int64_t end) {
    if constexpr (Columns <= detail::longest_block_row<Arch>) {
      using block = detail::row_block<Columns, Arch>;
      for (; row < end; row += block::rows)
        block::template gradient<Accumulate>(x + row * Columns, dy + row * Columns,
                                             end - row < block::rows ? static_cast<int>(end - row) : block::rows,
                                             mean + row, reciprocal + row, gamma, dx + row * Columns);
    } else {
      for (; row < end; ++row)
        detail::long_row<Columns, Arch>::template gradient<Accumulate>(x + row * Columns, dy + row * Columns, mean[row],
                                                                       reciprocal[row], gamma, dx + row * Columns);
    }
  };
  auto const [first_item, last_item] = part.of(items::count);
  for (std::int64_t item = first_item; item < last_item; ++item) {
    std::memset(workspace, 0, sizeof(float) * layer_normalization_workspace<Columns, Arch>);
    std::int64_t const begin = item * items::item_rows, end = begin + items::rows_of(item, Rows);
    // Rows are taken by chunks, which are in the cache when they are read again.
    for (std::int64_t row = begin; row < end; row += items::chunk_rows) {
      std::int64_t const chunk_end = row + items::chunk_rows < end ? row + items::chunk_rows : end;
      if (dx != nullptr) inputs(row, chunk_end);
      if (partial != nullptr)
        detail::column_gradients<Columns, stride, Arch>::add(x + row * Columns, dy + row * Columns, chunk_end - row,
                                                             mean + row, reciprocal + row, workspace);
    }
    if (partial == nullptr) continue;
    float* const result = partial + 2 * item * partial_stride;
    std::memcpy(result, workspace, sizeof(float) * Columns);
    std::memcpy(result + partial_stride, workspace + stride, sizeof(float) * Columns);
  }
}

}  // namespace stagecraft::kernels
