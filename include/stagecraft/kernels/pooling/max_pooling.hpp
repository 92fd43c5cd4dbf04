// SPDX-License-Identifier: BSD-3-Clause
// The largest value of each window, and its gradient, vectorised over channels; positions of winners are unsigned
// integers of 8, 16 or 32 bits. Keras counterpart: tf.keras.layers.MaxPooling2D and MaxPooling1D.
#pragma once

#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/pooling/pooling_shape.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/special_values.hpp>
#include <stagecraft/threads/share.hpp>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace stagecraft::kernels {

/// The integers at p as floats; `lanes` of them are read. They are below 2^24.
template <class Arch = default_architecture, class Integer>
[[nodiscard]] inline batch<Arch> load_integers(Integer const* p) {
  static_assert(std::is_unsigned_v<Integer> && sizeof(Integer) <= 4);
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch> && sizeof(Integer) == 1)
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))));
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch> && sizeof(Integer) == 1)
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(p))));
  else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    for (int lane = 0; lane < lanes<Arch>; ++lane) values[lane] = static_cast<float>(p[lane]);
    return batch<Arch>::load_aligned(values);
  }
}

/// Writes the first Count lanes, whole numbers that an Integer can hold, and nothing after them.
template <int Count, class Integer, class Arch>
inline void store_integers(xsimd::batch<float, Arch> const& x, Integer* p) {
  static_assert(Count > 0 && Count <= lanes<Arch> && std::is_unsigned_v<Integer> && sizeof(Integer) <= 4);
#if defined(__AVX2__)
  if constexpr ((has_avx512<Arch> || has_avx2<Arch>) && sizeof(Integer) == 1) {
    __m128i integers;
#if defined(__AVX512F__)
    if constexpr (has_avx512<Arch>) {
      integers = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x));
    } else
#endif
    {
      __m256i const wide = _mm256_cvtps_epi32(x);
      __m128i const words = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
      integers = _mm_packus_epi16(words, words);
    }
    if constexpr (Count == 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), integers);
    } else if constexpr (Count == 8) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), integers);
    } else {
      alignas(16) unsigned char buffer[16];
      _mm_store_si128(reinterpret_cast<__m128i*>(buffer), integers);
      std::memcpy(p, buffer, Count);
    }
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    for (int lane = 0; lane < Count; ++lane) p[lane] = static_cast<Integer>(static_cast<std::uint32_t>(values[lane]));
  }
}

namespace detail {

/// Corrects the positions of windows with NaN, which is larger than any number: the first NaN is the winner. `cells`
/// are those of the first row in `rows` and `columns`, `count` channels of them.
template <pooling_shape Shape>
[[gnu::cold, gnu::noinline]] void find_nan_of_window(float const* x, std::int64_t begin, index_range rows,
                                                     index_range columns, int count,
                                                     pooling_position<Shape>* positions) {
  for (int channel = 0; channel < count; ++channel) {
    bool found = false;
    for (int row = rows.first; row < rows.last && !found; ++row)
      for (int column = columns.first; column < columns.last && !found; ++column) {
        float const cell = x[begin + (row * Shape.width + column) * Shape.channels + channel];
        found = cell != cell;
        if (found) positions[channel] = static_cast<pooling_position<Shape>>(row * Shape.pool_width + column);
      }
  }
}

/// The largest of the window's cells in `rows` and `columns`, or of all its cells if it is Inside the input, for Count
/// channels. `x` is the sample, `begin` the begin of the window in it, which may lie in the padding.
template <pooling_shape Shape, int Count, bool KeepsPositions, bool Inside, class Arch>
inline void max_of_window(float const* x, std::int64_t begin, index_range rows, index_range columns, float* y,
                          [[maybe_unused]] pooling_position<Shape>* positions) {
  using value = batch<Arch>;
  if constexpr (Inside) {
    rows = {0, Shape.pool_height};
    columns = {0, Shape.pool_width};
  }
  value largest = load_lanes<Count, Arch>(x + begin + (rows.first * Shape.width + columns.first) * Shape.channels);
  value winner = largest, before = largest;
  lanes_with_nan<Arch> nan;
  int number = 0;  // number of a cell; cells are taken two by two
  value position(static_cast<float>(rows.first * Shape.pool_width + columns.first));
#pragma GCC unroll 4
  for (int row = rows.first; row < rows.last; ++row) {
#pragma GCC unroll 4
    for (int column = columns.first; column < columns.last; ++column) {
      value const cell = load_lanes<Count, Arch>(x + begin + (row * Shape.width + column) * Shape.channels);
      if (number % 2 != 0) {
        // The larger of the two is NaN if the first is. It is compared in place of the first, which GCC would load
        // again.
        value const larger_one = at_least(before, cell);
        nan.add(cell, larger_one);
        largest = number == 1 ? larger_one : at_least(largest, larger_one);
      }
      before = cell;
      if (number++ == 0) continue;
      if constexpr (KeepsPositions) {
        auto const wins = winner < cell;
        winner = xsimd::select(wins, cell, winner);
        position = xsimd::select(wins, value(static_cast<float>(row * Shape.pool_width + column)), position);
      }
    }
  }
  if (number % 2 != 0) {
    nan.add(before, before);
    largest = at_least(largest, before);
  }
  store_lanes<Count>(nan.set_in(largest), y);
  if constexpr (KeepsPositions) {
    store_integers<Count>(position, positions);
    if (nan.any()) [[unlikely]]
      find_nan_of_window<Shape>(x, begin, rows, columns, Count, positions);
  }
}

/// One pixel of one sample's output: all channels.
template <pooling_shape Shape, bool KeepsPositions, bool Inside, class Arch>
inline void max_pooling_pixel(float const* x, std::int64_t begin, index_range const& rows, index_range const& columns,
                              float* y, [[maybe_unused]] pooling_position<Shape>* positions) {
  constexpr int whole = Shape.channels / lanes<Arch> * lanes<Arch>;
  constexpr int rest = Shape.channels - whole;
  for (int channel = 0; channel < whole; channel += lanes<Arch>)
    max_of_window<Shape, lanes<Arch>, KeepsPositions, Inside, Arch>(x, begin + channel, rows, columns, y + channel,
                                                                    positions + (KeepsPositions ? channel : 0));
  if constexpr (rest > 0)
    max_of_window<Shape, rest, KeepsPositions, Inside, Arch>(x, begin + whole, rows, columns, y + whole,
                                                             positions + (KeepsPositions ? whole : 0));
}

/// One row of one sample's output.
template <pooling_shape Shape, bool KeepsPositions, class Arch>
inline void max_pooling_row(float const* x, int output_row, float* y,
                            [[maybe_unused]] pooling_position<Shape>* positions) {
  int const top = output_row * Shape.stride_height - Shape.top;
  auto const rows = cells_of_window(top, Shape.pool_height, Shape.height);
  for (int output_column = 0; output_column < Shape.output_width(); ++output_column) {
    int const left = output_column * Shape.stride_width - Shape.left;
    auto const columns = cells_of_window(left, Shape.pool_width, Shape.width);
    std::int64_t const begin = (static_cast<std::int64_t>(top) * Shape.width + left) * Shape.channels;
    if (!Shape.has_padding() || (rows.size() == Shape.pool_height && columns.size() == Shape.pool_width))
      max_pooling_pixel<Shape, KeepsPositions, true, Arch>(x, begin, rows, columns, y, positions);
    else
      max_pooling_pixel<Shape, KeepsPositions, false, Arch>(x, begin, rows, columns, y, positions);
    y += Shape.channels;
    if constexpr (KeepsPositions) positions += Shape.channels;
  }
}

}  // namespace detail

/// y = the largest value of each window, channel by channel. If `positions` is not null, the number of the winning cell
/// in its window is written there, for `max_pooling_gradient`.
///
/// The result of a window with a NaN is NaN, and its first NaN gets the gradient, so that no NaN is lost; among equal
/// values the first gets it. Items of `part`: rows of the output, of all samples.
template <int Batch, pooling_shape Shape, class Arch = default_architecture>
inline void max_pooling(float const* x, float* y, pooling_position<Shape>* positions = nullptr, share part = {}) {
  constexpr int rows = Shape.output_height();
  constexpr int row_size = Shape.output_width() * Shape.channels;
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * rows);
  for (std::int64_t item = first; item < last; ++item) {
    float const* const sample = x + item / rows * Shape.input_size();
    int const row = static_cast<int>(item % rows);
    if (positions != nullptr)
      detail::max_pooling_row<Shape, true, Arch>(sample, row, y + item * row_size, positions + item * row_size);
    else
      detail::max_pooling_row<Shape, false, Arch>(sample, row, y + item * row_size, nullptr);
  }
}

namespace detail {

/// Passes one window's gradient to its cells in `columns` of one row of the input, for Count channels: `first_position`
/// is the number of the window's first cell in that row. Writes to dx if no other window contributes there, else adds.
template <pooling_shape Shape, int Count, bool Adds, class Arch>
inline void max_pooling_gradient_of_window(pooling_position<Shape> const* positions, batch<Arch> const& gradient,
                                           int first_position, index_range columns, float* dx) {
  using value = batch<Arch>;
  value const winner = load_integers<Arch>(positions);
#pragma GCC unroll 4
  for (int column = columns.first; column < columns.last; ++column) {
    float* const cell = dx + column * Shape.channels;
    auto const wins = winner == value(static_cast<float>(first_position + column));
    if constexpr (Adds) {
      value const before = load_lanes<Count, Arch>(cell);
      store_lanes<Count>(xsimd::select(wins, before + gradient, before), cell);
    } else {
      store_lanes<Count>(xsimd::select(wins, gradient, value(0.0F)), cell);
    }
  }
}

/// Passes the gradients of the windows of one row of the output, which begins at `outputs`, to one row of the input.
template <pooling_shape Shape, bool Adds, class Arch, class Epilogue>
inline void max_pooling_gradient_row(pooling_position<Shape> const* positions, float const* dy, std::int64_t outputs,
                                     int first_position, float* dx, Epilogue const& epilogue) {
  constexpr int whole = Shape.channels / lanes<Arch> * lanes<Arch>;
  constexpr int rest = Shape.channels - whole;
  for (int window = 0; window < Shape.output_width(); ++window, outputs += Shape.channels) {
    int const left = window * Shape.stride_width - Shape.left;
    index_range const columns = Shape.left > 0 || Shape.right > 0 ? cells_of_window(left, Shape.pool_width, Shape.width)
                                                                  : index_range{0, Shape.pool_width};
    float* const cells = dx + left * Shape.channels;
    for (int channel = 0; channel < whole; channel += lanes<Arch>)
      max_pooling_gradient_of_window<Shape, lanes<Arch>, Adds, Arch>(
          positions + outputs + channel,
          epilogue(batch<Arch>::load_unaligned(dy + outputs + channel), channel, outputs + channel), first_position,
          columns, cells + channel);
    if constexpr (rest > 0)
      max_pooling_gradient_of_window<Shape, rest, Adds, Arch>(
          positions + outputs + whole, epilogue(load_lanes<rest, Arch>(dy + outputs + whole), whole, outputs + whole),
          first_position, columns, cells + whole);
  }
}

}  // namespace detail

/// dx (or dx +=, if Accumulate): each window's dy, through the epilogue, goes to the cell that won it, according to
/// `positions`, after which one register of them is readable. Since a winner's value is that of its window's output,
/// the gradient of an activation before the pooling can be applied here, to fewer numbers.
/// Items of `part`: rows of the input, of all samples.
template <int Batch, pooling_shape Shape, bool Accumulate = false, class Arch = default_architecture,
          class Epilogue = no_epilogue>
  requires(!std::same_as<Epilogue, share>)
inline void max_pooling_gradient(pooling_position<Shape> const* positions, float const* dy, float* dx,
                                 Epilogue const& epilogue = {}, share part = {}) {
  constexpr int row_size = Shape.width * Shape.channels;
  constexpr int output_row_size = Shape.output_width() * Shape.channels;
  // True if a row of windows reaches each cell of a row once: then old values need not be read.
  constexpr bool writes_once = !Accumulate && !Shape.overlaps() && Shape.covers_width();
  auto const [first, last] = part.of(static_cast<std::int64_t>(Batch) * Shape.height);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const sample = item / Shape.height * Shape.output_size();
    int const row = static_cast<int>(item % Shape.height);
    auto const windows =
        detail::windows_of_cell(row, Shape.top, Shape.pool_height, Shape.stride_height, Shape.output_height());
    float* const cells = dx + item * row_size;
    if (!Accumulate && !(writes_once && windows.size() > 0))
      std::memset(cells, 0, static_cast<std::size_t>(row_size) * sizeof(float));
    for (int window = windows.first; window < windows.last; ++window)
      detail::max_pooling_gradient_row<Shape, !writes_once, Arch>(
          positions, dy, sample + static_cast<std::int64_t>(window) * output_row_size,
          (row + Shape.top - window * Shape.stride_height) * Shape.pool_width, cells, epilogue);
  }
}

/// The gradient by the input; no epilogue is applied.
template <int Batch, pooling_shape Shape, bool Accumulate = false, class Arch = default_architecture>
inline void max_pooling_gradient(pooling_position<Shape> const* positions, float const* dy, float* dx, share part) {
  max_pooling_gradient<Batch, Shape, Accumulate, Arch>(positions, dy, dx, no_epilogue{}, part);
}

}  // namespace stagecraft::kernels
