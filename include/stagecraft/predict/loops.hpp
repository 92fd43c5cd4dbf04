// SPDX-License-Identifier: BSD-3-Clause
// Loops over arrays for processors without an operating system: plain C++ and the mathematical functions of C's
// library. They are compiled once, whatever the models are, and allocate nothing.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/operations/kinds/extents.hpp>
#include <stagecraft/operations/kinds/map.hpp>
#include <stagecraft/operations/kinds/operation.hpp>
#include <stagecraft/operations/kinds/windows.hpp>
#include <cstdint>

/// predict/: predictors without an operating system. Like other rooms it sees the names of those below.
namespace stagecraft::predictors {
using namespace engine;

/// The lengths of nested loops, and the floats from one place of an axis to the next in each of `Arrays` arrays.
template <int Arrays>
struct nested_loops {
  int lengths[operations::extents::max_rank]{};
  int strides[operations::extents::max_rank][Arrays]{};
  int rank = 0;

  /// Appends an axis inside the others. An axis that continues the one before it in all arrays becomes a part of it.
  constexpr void add(int length, int const (&stride)[Arrays]) {
    if (length == 1) return;
    bool continues = rank > 0;
    for (int i = 0; i < Arrays && continues; ++i) continues = strides[rank - 1][i] == stride[i] * length;
    if (continues) {
      lengths[rank - 1] *= length;
    } else {
      lengths[rank++] = length;
    }
    for (int i = 0; i < Arrays; ++i) strides[rank - 1][i] = stride[i];
  }

  /// Calls `row(offsets)` with the begin of each row of the innermost axis in each array.
  template <class Row>
  void for_each_row(Row const& row) const {
    int offsets[Arrays]{};
    int places[operations::extents::max_rank]{};
    while (true) {
      row(offsets);
      int axis = rank - 2;
      for (; axis >= 0; --axis) {
        for (int i = 0; i < Arrays; ++i) offsets[i] += strides[axis][i];
        if (++places[axis] < lengths[axis]) break;
        for (int i = 0; i < Arrays; ++i) offsets[i] -= strides[axis][i] * lengths[axis];
        places[axis] = 0;
      }
      if (axis < 0) return;
    }
  }
  [[nodiscard]] int row_length() const { return rank > 0 ? lengths[rank - 1] : 1; }
  [[nodiscard]] int row_stride(int array) const { return rank > 0 ? strides[rank - 1][array] : 0; }
};

/// Floats from one place of an axis to the next.
constexpr int stride(operations::extents const& of, int axis) {
  int product = 1;
  for (int i = axis + 1; i < of.rank; ++i) product *= of[i];
  return product;
}
/// The stride along an axis of a wider result, in which the tensor is repeated along axes of length 1.
constexpr int repeating_stride(operations::extents const& of, int axis, int rank) {
  int const own = axis - (rank - of.rank);
  return own < 0 || of[own] == 1 ? 0 : stride(of, own);
}
/// The loops over a tensor, and every `step`-th place of an axis of a longer one. `reads_whole`: the longer one is the
/// source.
constexpr nested_loops<2> part_axes(operations::extents const& part, operations::extents const& whole, int along,
                                    int step, bool reads_whole) {
  nested_loops<2> loops;
  for (int axis = 0; axis < part.rank; ++axis) {
    int const own = stride(part, axis), other = stride(whole, axis) * (axis == along ? step : 1);
    loops.add(part[axis], {reads_whole ? own : other, reads_whole ? other : own});
  }
  return loops;
}

constexpr operations::extents with_one(operations::extents one, int axis) {
  one.insert(axis, 1);
  return one;
}
constexpr nested_loops<2> reduced_axes(operations::extents const& result, operations::extents const& from,
                                       operations::reduce const& by) {
  nested_loops<2> loops;
  for (int axis = 0; axis < from.rank; ++axis)
    loops.add(from[axis], {by.has(axis) ? 0 : stride(result, axis), stride(from, axis)});
  return loops;
}
/// The axes of a transposed tensor, or of one that is repeated.
template <bool IsTransposed>
constexpr nested_loops<2> moved_axes(operations::extents const& result, operations::extents const& from,
                                     operations::operation const& what) {
  nested_loops<2> loops;
  for (int axis = 0; axis < result.rank; ++axis) {
    int along = 0;
    if constexpr (IsTransposed)
      along = stride(from, what.as<operations::transpose>().order[axis]);
    else
      along = repeating_stride(from, axis, result.rank);
    loops.add(result[axis], {stride(result, axis), along});
  }
  return loops;
}

/// A function of one, two or three numbers. The maximum and the minimum are NaN if an argument is.
template <operations::function F>
[[nodiscard]] inline float apply(float a, [[maybe_unused]] float b, [[maybe_unused]] float c) {
  using enum operations::function;
  if constexpr (F == identity) return a;
  if constexpr (F == negative) return -a;
  if constexpr (F == absolute) return __builtin_fabsf(a);
  if constexpr (F == sign) return a > 0 ? 1.0F : a < 0 ? -1.0F : a;
  if constexpr (F == floor) return __builtin_floorf(a);
  if constexpr (F == round) return __builtin_rintf(a);
  if constexpr (F == exp) return __builtin_expf(a);
  if constexpr (F == log) return __builtin_logf(a);
  if constexpr (F == log1p) return __builtin_log1pf(a);
  if constexpr (F == softplus)
    return (a > 0 ? a : a != a ? a : 0.0F) + __builtin_log1pf(__builtin_expf(-__builtin_fabsf(a)));
  if constexpr (F == sqrt) return __builtin_sqrtf(a);
  if constexpr (F == rsqrt) return 1.0F / __builtin_sqrtf(a);
  if constexpr (F == sin) return __builtin_sinf(a);
  if constexpr (F == cos) return __builtin_cosf(a);
  if constexpr (F == atan) return __builtin_atanf(a);
  if constexpr (F == tanh) return __builtin_tanhf(a);
  if constexpr (F == sigmoid) return 1.0F / (1.0F + __builtin_expf(-a));
  if constexpr (F == erf) return __builtin_erff(a);
  if constexpr (F == add) return a + b;
  if constexpr (F == subtract) return a - b;
  if constexpr (F == multiply) return a * b;
  if constexpr (F == divide) return a / b;
  if constexpr (F == power) return __builtin_powf(a, b);
  if constexpr (F == remainder) return __builtin_fmodf(a, b);
  if constexpr (F == maximum) return a > b || a != a ? a : b;
  if constexpr (F == minimum) return a < b || a != a ? a : b;
  if constexpr (F == less) return a < b ? 1.0F : 0.0F;
  if constexpr (F == less_equal) return a <= b ? 1.0F : 0.0F;
  if constexpr (F == equal) return a == b ? 1.0F : 0.0F;
  if constexpr (F == select) return a != 0 ? b : c;
  if constexpr (F == multiply_add) return __builtin_fmaf(a, b, c);
  if constexpr (F == multiply_subtract) return __builtin_fmaf(a, b, -c);
  if constexpr (F == negative_multiply_add) return __builtin_fmaf(-a, b, c);
}

/// Applies a function at each place. The arrays of `loops` are the result and three operands.
template <operations::function F>
[[gnu::noinline]] inline void map_loop(nested_loops<4> const& loops, float* y, float const* a, float const* b,
                                       float const* c) {
  int const length = loops.row_length(), in_y = loops.row_stride(0), in_a = loops.row_stride(1),
            in_b = loops.row_stride(2), in_c = loops.row_stride(3);
  loops.for_each_row([&](int const* at) {
    for (int i = 0; i < length; ++i)
      y[at[0] + i * in_y] = apply<F>(a[at[1] + i * in_a], b[at[2] + i * in_b], c[at[3] + i * in_c]);
  });
}

/// Copies places. The arrays of `loops` are the result and the source.
[[gnu::noinline]] inline void copy_loop(nested_loops<2> const& loops, float* y, float const* x) {
  int const length = loops.row_length(), in_y = loops.row_stride(0), in_x = loops.row_stride(1);
  loops.for_each_row([&](int const* at) {
    for (int i = 0; i < length; ++i) y[at[0] + i * in_y] = x[at[1] + i * in_x];
  });
}
inline void fill(float* y, int count, float value) {
  for (int i = 0; i < count; ++i) y[i] = value;
}
inline void copy(float const* from, float* to, int count) {
  if (from != to)
    for (int i = 0; i < count; ++i) to[i] = from[i];
}

/// Sums, or finds the largest of, the places of `x` that belong to a place of `y`; the largest is NaN if one of them
/// is.
template <bool IsSum>
[[gnu::noinline]] inline void reduce_loop(nested_loops<2> const& loops, float* y, int results, float const* x) {
  fill(y, results, IsSum ? 0.0F : -__builtin_inff());
  int const length = loops.row_length(), in_y = loops.row_stride(0), in_x = loops.row_stride(1);
  loops.for_each_row([&](int const* at) {
    for (int i = 0; i < length; ++i) {
      float& to = y[at[0] + i * in_y];
      float const value = x[at[1] + i * in_x];
      to = IsSum ? to + value : value > to || value != value ? value : to;
    }
  });
}

/// The matrices of a product; strides are numbers from one row or column to the next.
struct product_loops {
  int rows, inner, columns;
  int a_row, a_inner;
  int b_inner, b_column;
};

/// The right factor of a product, or a filter: floats, or bytes of which column j is multiplied by scales[j].
struct float_numbers {
  float const* at;

  [[nodiscard]] float operator[](int i) const { return at[i]; }
  [[nodiscard]] static float finished(float sum, int) { return sum; }
  [[nodiscard]] float_numbers from(int offset) const { return {at + offset}; }
};
struct byte_numbers {
  std::int8_t const* at;
  float const* scales;

  [[nodiscard]] float operator[](int i) const { return static_cast<float>(at[i]); }
  [[nodiscard]] float finished(float sum, int column) const { return sum * scales[column]; }
  [[nodiscard]] byte_numbers from(int offset) const { return {at + offset, scales}; }
};

/// Sums that are kept in registers at once.
inline constexpr int sums_at_once = 8;

/// y = a b. The terms of an element are added one after the other, as on the host.
template <bool IsPlain, class Numbers>
[[gnu::noinline]] inline void product_loop(product_loops const& of, float const* a, Numbers b, float* y) {
  int const step = IsPlain ? 1 : of.b_column;
  for (int row = 0; row < of.rows; ++row, a += of.a_row, y += of.columns) {
    int column = 0;
    for (; column + sums_at_once <= of.columns; column += sums_at_once) {
      float sums[sums_at_once]{};
      int at = column * step;
      for (int k = 0; k < of.inner; ++k, at += of.b_inner) {
        float const term = a[k * of.a_inner];
#pragma GCC unroll 8
        for (int i = 0; i < sums_at_once; ++i) sums[i] += term * b[at + i * step];
      }
#pragma GCC unroll 8
      for (int i = 0; i < sums_at_once; ++i) y[column + i] = b.finished(sums[i], column + i);
    }
    for (; column < of.columns; ++column) {
      float sum = 0;
      int at = column * step;
      for (int k = 0; k < of.inner; ++k, at += of.b_inner) sum += a[k * of.a_inner] * b[at];
      y[column] = b.finished(sum, column);
    }
  }
}

/// A convolution or pooling over three axes, of which the first ones may have length 1, of one sample.
struct window_loops {
  operations::window along[3]{};
  int in[3]{1, 1, 1}, out[3]{1, 1, 1};
  int channels = 1;  ///< channels of the input
  int filters = 1;   ///< channels of the output
  int groups = 1;

  constexpr window_loops(operations::windows const& windows, operations::extents const& input,
                         operations::extents const& output, int groups_ = 1)
      : channels(input[-1]), filters(output[-1]), groups(groups_) {
    for (int i = 0; i < windows.count; ++i) {
      int const to = i + 3 - windows.count;
      along[to] = windows[i];
      in[to] = input[i + 1];
      out[to] = output[i + 1];
    }
  }

  /// Calls `place(number)` with the number of each window.
  template <class Place>
  void for_each_window(Place const& place) const {
    int const count = out[0] * out[1] * out[2];
    for (int i = 0; i < count; ++i) place(i);
  }
  /// Calls `tap(place in the window, place in the input)` for each place of a window that is not padding.
  template <class Tap>
  void for_each_tap(int window, Tap const& tap) const {
    int const at[3]{window / (out[1] * out[2]), window / out[2] % out[1], window % out[2]};
    int number = 0;
    for (int i = 0; i < along[0].size; ++i)
      for (int j = 0; j < along[1].size; ++j)
        for (int k = 0; k < along[2].size; ++k, ++number) {
          int const from[3]{place(0, at[0], i), place(1, at[1], j), place(2, at[2], k)};
          if (is_inside(0, from[0]) && is_inside(1, from[1]) && is_inside(2, from[2]))
            tap(number, (from[0] * in[1] + from[1]) * in[2] + from[2]);
        }
  }

 private:
  [[nodiscard]] int place(int axis, int window, int tap) const {
    return window * along[axis].stride + tap * along[axis].dilation - along[axis].before;
  }
  [[nodiscard]] bool is_inside(int axis, int at) const { return at >= 0 && at < in[axis]; }
};

template <class Numbers>
[[gnu::noinline]] inline void convolution_loop(window_loops const& of, float const* x, Numbers filter, float* y) {
  int const inner = of.channels / of.groups, outer = of.filters / of.groups;
  of.for_each_window([&](int window) {
    for (int group = 0; group < of.groups; ++group) {
      int const end = (group + 1) * outer;
      for (int first = group * outer; first < end; first += sums_at_once) {
        float sums[sums_at_once]{};
        int const some = end - first < sums_at_once ? end - first : sums_at_once;
        of.for_each_tap(window, [&](int tap, int place) {
          float const* const from = x + place * of.channels + group * inner;
          Numbers weights = filter.from(tap * inner * of.filters + first);
          for (int k = 0; k < inner; ++k, weights = weights.from(of.filters)) {
            if (some == sums_at_once) {
#pragma GCC unroll 8
              for (int i = 0; i < sums_at_once; ++i) sums[i] += from[k] * weights[i];
            } else {
              for (int i = 0; i < some; ++i) sums[i] += from[k] * weights[i];
            }
          }
        });
        for (int i = 0; i < some; ++i) y[window * of.filters + first + i] = filter.finished(sums[i], first + i);
      }
    }
  });
}

/// The transposed convolution: adds to y, the input of `of`, what its outputs x come from.
[[gnu::noinline]] inline void transposed_convolution_loop(window_loops const& of, float const* x, float const* filter,
                                                          float* y) {
  int const inner = of.channels / of.groups, outer = of.filters / of.groups;
  fill(y, of.in[0] * of.in[1] * of.in[2] * of.channels, 0.0F);
  of.for_each_window([&](int window) {
    of.for_each_tap(window, [&](int tap, int place) {
      for (int channel = 0; channel < of.channels; ++channel) {
        int const first = channel / inner * outer;
        float const* const weights = filter + (tap * inner + channel % inner) * of.filters;
        float& to = y[place * of.channels + channel];
        for (int i = first; i < first + outer; ++i) to += x[window * of.filters + i] * weights[i];
      }
    });
  });
}

/// Padding does not count.
template <bool IsMax>
[[gnu::noinline]] inline void pooling_loop(window_loops const& of, float const* x, float* y) {
  of.for_each_window([&](int window) {
    for (int channel = 0; channel < of.channels; ++channel) {
      float result = IsMax ? -__builtin_inff() : 0.0F;
      int count = 0;
      of.for_each_tap(window, [&](int, int place) {
        float const value = x[place * of.channels + channel];
        ++count;
        if constexpr (IsMax)
          result = value > result || value != value ? value : result;
        else
          result += value;
      });
      y[window * of.channels + channel] = IsMax ? result : result / static_cast<float>(count);
    }
  });
}

/// Copies rows of a table to which `indices` point; zeros for an index outside of it.
[[gnu::noinline]] inline void gather_loop(float const* table, int rows, int width, float const* indices, int count,
                                          float* y) {
  for (int i = 0; i < count; ++i, y += width) {
    float const index = indices[i];
    if (index >= 0.0F && index < static_cast<float>(rows))
      copy(table + static_cast<int>(index) * width, y, width);
    else
      fill(y, width, 0.0F);
  }
}

}  // namespace stagecraft::predictors
