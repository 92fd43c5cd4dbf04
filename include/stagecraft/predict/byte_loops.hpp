// SPDX-License-Identifier: BSD-3-Clause
// Products and convolutions of whole numbers, for processors without an operating system: the input is rounded to
// steps of its largest number / 127, and weights are bytes.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/predict/loops.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#elif defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#endif

namespace stagecraft::predictors {

/// A rounded number of the input, as the processor multiplies it: bytes where it has vectors of them (Helium), and 16
/// bits elsewhere, of which a Cortex-M4 multiplies two at a time. Runs of numbers are as long as whole words.
#if defined(__ARM_FEATURE_MVE)
using rounded_number = std::int8_t;
inline constexpr int numbers_of_word = 16;
#else
using rounded_number = std::int16_t;
inline constexpr int numbers_of_word = 4;
#endif

/// Numbers of a run that is filled up with zeros to whole words.
constexpr int filled_up(int run) { return (run + numbers_of_word - 1) / numbers_of_word * numbers_of_word; }

/// A product or a convolution of one sample as windows over an image of rounded numbers, which has the padding. The
/// terms of a window stand in runs of consecutive numbers. A product is a window for each row, of one run.
struct byte_loops {
  int in[3]{1, 1, 1};                   ///< places of the input along each axis
  int before[3]{};                      ///< zeros before them in the image
  int image[3]{1, 1, 1};                ///< places that windows reach
  int channels = 1;                     ///< numbers of a place of the input
  int pitch = 1;                        ///< numbers from a place of the image to the next
  int windows[3]{1, 1, 1}, step[3]{};   ///< windows along each axis, and numbers of the image from one to the next
  int taps[3]{1, 1, 1}, tap_step[3]{};  ///< runs along each axis, and numbers of the image from one to the next
  int run = 1;                          ///< numbers of a run
  int columns = 1;                      ///< numbers of a window's result

  [[nodiscard]] constexpr int runs() const { return taps[0] * taps[1] * taps[2]; }
  /// Numbers of the image. The last word may be read beyond the last run.
  [[nodiscard]] constexpr int numbers() const { return image[0] * image[1] * image[2] * pitch + numbers_of_word; }
  /// Bytes of the weights of a column.
  [[nodiscard]] constexpr int column() const { return runs() * filled_up(run); }
  /// True if sums cannot exceed 32 bits.
  [[nodiscard]] constexpr bool fits() const {
    return static_cast<long long>(runs()) * run * 127 * 127 < (1LL << 31U) - 1;
  }
};
constexpr byte_loops loops_of_product(int rows, int inner, int columns) {
  byte_loops result;
  result.in[2] = result.image[2] = result.windows[2] = rows;
  result.channels = result.run = inner;
  result.pitch = result.step[2] = filled_up(inner);
  result.columns = columns;
  return result;
}
constexpr byte_loops loops_of_convolution(window_loops const& of) {
  byte_loops result;
  for (int i = 0; i < 3; ++i) {
    auto const& along = of.along[i];
    result.in[i] = of.in[i];
    result.before[i] = along.before;
    result.windows[i] = of.out[i];
    result.taps[i] = along.size;
    result.image[i] = (of.out[i] - 1) * along.stride + (along.size - 1) * along.dilation + 1;
  }
  result.channels = result.pitch = result.run = of.channels;
  result.columns = of.filters;
  for (int i = 2, numbers = of.channels; i >= 0; numbers *= result.image[i], --i) {
    result.step[i] = of.along[i].stride * numbers;
    result.tap_step[i] = of.along[i].dilation * numbers;
  }
  if (of.along[2].dilation == 1) {
    result.run *= result.taps[2];
    result.taps[2] = 1;
  }
  return result;
}

/// Weights of some columns in the order in which `add_words` reads them: for each column its runs, filled up with
/// zeros. Two halves of a word of 16-bit numbers are unpacked from every other byte, so bytes 1 and 2 of a word change
/// places.
template <int Count>
struct packed_weights {
  std::int8_t at[Count]{};

  /// Number k of column j is source[k * inner + j].
  constexpr packed_weights(byte_loops const& of, std::int8_t const* source, int inner) {
    int const run = filled_up(of.run), runs = of.runs();
    int to = 0;
    for (int column = 0; to < Count; ++column)
      for (int i = 0; i < runs; ++i, to += run)
        for (int k = 0; k < of.run; ++k) at[to + place(k)] = source[(i * of.run + k) * inner + column];
  }
  static constexpr int place(int k) {
#if defined(__ARM_FEATURE_SIMD32) && !defined(__ARM_FEATURE_MVE)
    return k % 4 == 1 ? k + 1 : k % 4 == 2 ? k - 1 : k;
#else
    return k;
#endif
  }
};

/// Adds the products of a word of `Windows` runs, which are `apart` numbers from one another, with a word of `Columns`
/// columns, which are `column` bytes from one another.
template <int Windows, int Columns>
[[gnu::always_inline]] inline void add_words(std::int32_t (&sums)[Windows][Columns], rounded_number const* x, int apart,
                                             std::int8_t const* weights, int column) {
#if defined(__ARM_FEATURE_MVE)
  int8x16_t numbers[Windows];
  for (int i = 0; i < Windows; ++i) numbers[i] = vldrbq_s8(x + i * apart);
  for (int j = 0; j < Columns; ++j) {
    int8x16_t const factors = vldrbq_s8(weights + j * column);
    for (int i = 0; i < Windows; ++i) sums[i][j] = vmladavaq_s8(sums[i][j], numbers[i], factors);
  }
#elif defined(__ARM_FEATURE_SIMD32)
  std::int32_t low[Columns], high[Columns];
#pragma GCC unroll 4
  for (int j = 0; j < Columns; ++j) {
    std::int32_t word;
    std::memcpy(&word, weights + j * column, 4);
    asm("sxtb16 %0, %1" : "=r"(low[j]) : "r"(word));
    asm("sxtb16 %0, %1, ror #8" : "=r"(high[j]) : "r"(word));
  }
#pragma GCC unroll 4
  for (int i = 0; i < Windows; ++i) {
    std::int32_t first, second;
    std::memcpy(&first, x + i * apart, 4);
    std::memcpy(&second, x + i * apart + 2, 4);
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) {
      sums[i][j] = __smlad(first, low[j], sums[i][j]);
      sums[i][j] = __smlad(second, high[j], sums[i][j]);
    }
  }
#else
  for (int i = 0; i < Windows; ++i)
    for (int j = 0; j < Columns; ++j)
      for (int k = 0; k < numbers_of_word; ++k) sums[i][j] += x[i * apart + k] * weights[j * column + k];
#endif
}

/// Results of `Windows` windows beside one another and `Columns` columns.
template <auto const& Of, int Windows, int Columns>
[[gnu::always_inline]] inline void multiply_words(rounded_number const* x, std::int8_t const* weights,
                                                  float const* scales, float step, float* y) {
  std::int32_t sums[Windows][Columns]{};
  std::int8_t const* from = weights;
  for (int i = 0; i < Of.taps[0]; ++i)
    for (int j = 0; j < Of.taps[1]; ++j)
      for (int k = 0; k < Of.taps[2]; ++k) {
        rounded_number const* at = x + i * Of.tap_step[0] + j * Of.tap_step[1] + k * Of.tap_step[2];
        constexpr int run = filled_up(Of.run), words = run / numbers_of_word;
        if constexpr (words % 2 == 1) {
          add_words(sums, at, Of.step[2], from, Of.column());
          at += numbers_of_word;
          from += numbers_of_word;
        }
        for (int pair = 0; pair < words / 2; ++pair, at += 2 * numbers_of_word, from += 2 * numbers_of_word) {
          add_words(sums, at, Of.step[2], from, Of.column());
          add_words(sums, at + numbers_of_word, Of.step[2], from + numbers_of_word, Of.column());
        }
      }
#pragma GCC unroll 4
  for (int j = 0; j < Columns; ++j) {
    float const scale = step * scales[j];
#pragma GCC unroll 4
    for (int i = 0; i < Windows; ++i) y[i * Of.columns + j] = static_cast<float>(sums[i][j]) * scale;
  }
}

/// Results of a window, or of some beside one another, for some columns.
template <auto const& Of, int Windows>
[[gnu::always_inline]] inline void multiply_windows(rounded_number const* x, std::int8_t const* weights,
                                                    float const* scales, float step, int columns, float* y) {
  constexpr int at_once = Windows > 1 ? 2 : 4;
  int column = 0;
  for (; column + at_once <= columns; column += at_once)
    multiply_words<Of, Windows, at_once>(x, weights + column * Of.column(), scales + column, step, y + column);
  for (; column < columns; ++column)
    multiply_words<Of, Windows, 1>(x, weights + column * Of.column(), scales + column, step, y + column);
}

/// Results of all windows for some columns. `step`: what 1 of the image is.
template <auto const& Of>
[[gnu::noinline]] inline void byte_product(rounded_number const* image, std::int8_t const* weights, float const* scales,
                                           float step, int columns, float* y) {
  constexpr int beside = Of.windows[2] > 1 ? 2 : 1;
  for (int i = 0; i < Of.windows[0]; ++i)
    for (int j = 0; j < Of.windows[1]; ++j) {
      rounded_number const* x = image + i * Of.step[0] + j * Of.step[1];
      int k = 0;
      for (; k + beside <= Of.windows[2]; k += beside, x += beside * Of.step[2], y += beside * Of.columns)
        multiply_windows<Of, beside>(x, weights, scales, step, columns, y);
      for (; k < Of.windows[2]; ++k, x += Of.step[2], y += Of.columns)
        multiply_windows<Of, 1>(x, weights, scales, step, columns, y);
    }
}

/// The largest absolute value; NaN if a number is.
[[gnu::noinline]] inline float largest_number(float const* x, int count) {
  std::int32_t largest = 0;  // among numbers without a sign, bits are ordered as the numbers are
  for (int i = 0; i < count; ++i) {
    std::int32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  float result;
  std::memcpy(&result, &largest, sizeof result);
  return result;
}
/// x * factor, rounded to the nearest whole number, the even one of two.
inline void round_numbers(float const* x, int count, float factor, rounded_number* to) {
  for (int i = 0; i < count; ++i) {
    float const shifted = x[i] * factor + 12582912.0F;  // 1.5 * 2^23: the last bits are the whole number
    std::int32_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    to[i] = static_cast<rounded_number>(bits);
  }
}
/// Fills the image with rounded numbers, and returns what 1 of them is: 0 if all numbers are (nearly) zeros, NaN if one
/// is infinite or NaN, so that all results are NaN.
template <auto const& Of>
[[gnu::noinline]] inline float make_image(float const* x, rounded_number* image) {
  float const largest = largest_number(x, Of.in[0] * Of.in[1] * Of.in[2] * Of.channels);
  float const factor = largest > 1e-30F && largest < __builtin_inff() ? 127.0F / largest : 0.0F;
  constexpr bool is_copy = Of.pitch == Of.channels && Of.before[1] == 0 && Of.before[2] == 0 && Of.before[0] == 0 &&
                           Of.image[2] == Of.in[2] && Of.image[1] == Of.in[1] && Of.image[0] == Of.in[0];
  if constexpr (is_copy) {
    round_numbers(x, Of.in[0] * Of.in[1] * Of.in[2] * Of.channels, factor, image);
  } else {
    for (int i = 0; i < Of.numbers(); ++i) image[i] = 0;
    // Places of the input that no window reaches are left out.
    auto const inside = [](int axis) {
      int const most = Of.image[axis] - Of.before[axis];
      return Of.in[axis] < most ? Of.in[axis] : most;
    };
    constexpr int between = Of.pitch - Of.channels;
    for (int i = 0; i < inside(0); ++i)
      for (int j = 0; j < inside(1); ++j) {
        float const* from = x + (i * Of.in[1] + j) * Of.in[2] * Of.channels;
        rounded_number* to =
            image + (((i + Of.before[0]) * Of.image[1] + j + Of.before[1]) * Of.image[2] + Of.before[2]) * Of.pitch;
        if constexpr (between == 0)
          round_numbers(from, inside(2) * Of.channels, factor, to);
        else
          for (int k = 0; k < inside(2); ++k, from += Of.channels, to += Of.pitch)
            round_numbers(from, Of.channels, factor, to);
      }
  }
  // Not finite: infinity - infinity is NaN, and NaN stays.
  return largest < __builtin_inff() ? (factor > 0 ? largest / 127.0F : 0.0F) : largest - largest;
}

/// The result of a product or convolution with a weight of bytes. Number k of column j is `Weights::of(Weight)`'s byte
/// Begin + k * Inner + j. Blocks of columns are packed one by one, since compilers limit a constant evaluation.
template <auto const& Of, class Weights, int Weight, int Begin, int Inner, int Column, int First = 0>
inline void multiply_bytes(rounded_number const* image, float step, float* y) {
  constexpr int some = 16384 / Of.column() / 4 * 4, most = some > 4 ? some : 4;
  constexpr int left = Of.columns - First, columns = left < most ? left : most;
  static constexpr packed_weights<columns * Of.column()> packed(Of, Weights::of(Weight).bytes + Begin + First, Inner);
  constexpr float const* scales = Weights::of(Weight).scales + Column + First;
  byte_product<Of>(image, packed.at, scales, step, columns, y + First);
  if constexpr (left > columns)
    multiply_bytes<Of, Weights, Weight, Begin, Inner, Column, First + columns>(image, step, y);
}

}  // namespace stagecraft::predictors
