// SPDX-License-Identifier: BSD-3-Clause
// A rectifier with a slope of its own for each element, or for elements that share one, and its gradients. Keras
// counterpart: tf.keras.layers.PReLU. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

#include <cstdint>

namespace stagecraft::kernels {

/// Which slope belongs to which element of a batch: axes, outermost first, along which the slope either changes or
/// stays. Neighbouring axes of one kind are one axis. The batch is the first axis, along which slopes stay.
struct slope_layout {
  static constexpr int most_axes = 8;

  int axes = 1;
  std::int64_t length[most_axes] = {1};
  bool is_shared[most_axes] = {true};

  /// For a batch of tensors with `rank` axes; the slopes' shape has 1 where they are shared.
  template <class Shape>
  static constexpr slope_layout of(int batch, int rank, Shape const& shape, Shape const& slopes) {
    slope_layout result;
    result.length[0] = batch;
    for (int axis = 0; axis < rank; ++axis) {
      if (shape[axis] == 1) continue;
      bool const shared = slopes[axis] == 1;
      if (shared != result.is_shared[result.axes - 1]) {
        result.length[result.axes] = 1;
        result.is_shared[result.axes++] = shared;
      }
      result.length[result.axes - 1] *= shape[axis];
    }
    return result;
  }

  /// Elements of the last axis: a row. Its slopes are neighbours, or there is one.
  [[nodiscard]] constexpr std::int64_t row_size() const { return length[axes - 1]; }
  [[nodiscard]] constexpr bool row_shares() const { return is_shared[axes - 1]; }
  [[nodiscard]] constexpr std::int64_t rows() const {
    std::int64_t product = 1;
    for (int axis = 0; axis + 1 < axes; ++axis) product *= length[axis];
    return product;
  }
  /// Rows that share their slopes, and rows that do not.
  [[nodiscard]] constexpr std::int64_t rows_of_kind(bool shared) const {
    std::int64_t product = 1;
    for (int axis = 0; axis + 1 < axes; ++axis)
      if (is_shared[axis] == shared) product *= length[axis];
    return product;
  }
  /// The row with number `shared` among those that share their slopes, and with number `own` otherwise.
  [[nodiscard]] constexpr std::int64_t row(std::int64_t shared, std::int64_t own) const {
    std::int64_t result = 0, stride = 1;
    for (int axis = axes - 2; axis >= 0; --axis) {
      auto& number = is_shared[axis] ? shared : own;
      result += number % length[axis] * stride;
      number /= length[axis];
      stride *= length[axis];
    }
    return result;
  }
  /// Where the slopes of a row begin.
  [[nodiscard]] constexpr std::int64_t slope_of_row(std::int64_t row) const {
    std::int64_t result = 0, stride = row_shares() ? 1 : row_size();
    for (int axis = axes - 2; axis >= 0; --axis) {
      if (!is_shared[axis]) {
        result += row % length[axis] * stride;
        stride *= length[axis];
      }
      row /= length[axis];
    }
    return result;
  }

  friend constexpr bool operator==(slope_layout const&, slope_layout const&) = default;
};

namespace detail {

/// Long rows are cut into pieces of this many elements.
inline constexpr std::int64_t prelu_piece = 4096;

/// Calls piece(begin, count, slopes) for each of this thread's pieces of rows.
template <slope_layout Layout, class Piece>
inline void for_prelu_pieces(float const* alpha, share part, Piece const& piece) {
  constexpr std::int64_t size = Layout.row_size();
  constexpr std::int64_t pieces = (size + prelu_piece - 1) / prelu_piece;
  auto const [first, last] = part.of(Layout.rows() * pieces);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const row = item / pieces, from = item % pieces * prelu_piece;
    std::int64_t const count = size - from < prelu_piece ? size - from : prelu_piece;
    piece(row * size + from, count, alpha + Layout.slope_of_row(row) + (Layout.row_shares() ? 0 : from));
  }
}

}  // namespace detail

/// y = x where x > 0, alpha * x elsewhere. Items of `part`: pieces of rows.
template <slope_layout Layout, class Arch = default_architecture>
inline void prelu(float const* x, float const* alpha, float* y, share part = {}) {
  using value = batch<Arch>;
  auto const rectify = [](value const& v, value const& slope) { return xsimd::select(v > value(0.0F), v, slope * v); };
  detail::for_prelu_pieces<Layout>(alpha, part, [&](std::int64_t begin, std::int64_t count, float const* slopes) {
    if constexpr (Layout.row_shares())
      transform<Arch>(count, [&](value const& v) { return rectify(v, value(*slopes)); }, y + begin, x + begin);
    else
      transform<Arch>(count, rectify, y + begin, x + begin, slopes);
  });
}

/// dx (or dx +=, if Accumulate) the gradient of `prelu` for its input; 0 where x is 0, as in TensorFlow.
/// Items of `part`: pieces of rows.
template <slope_layout Layout, bool Accumulate = false, class Arch = default_architecture>
inline void prelu_input_gradient(float const* x, float const* alpha, float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  auto const gradient = [](value const& v, value const& g, value const& slope, value const& old) {
    value const zero(0.0F);
    return xsimd::select(v > zero, old + g, xsimd::select(v < zero, fused_multiply_add(slope, g, old), old));
  };
  detail::for_prelu_pieces<Layout>(alpha, part, [&](std::int64_t begin, std::int64_t count, float const* slopes) {
    auto const run = [&](auto const& function, auto... more) {
      if constexpr (Accumulate)
        transform<Arch>(count, function, dx + begin, x + begin, dy + begin, more...,
                        static_cast<float const*>(dx + begin));
      else
        transform<Arch>(
            count, [&](auto const&... values) { return function(values..., value(0.0F)); }, dx + begin, x + begin,
            dy + begin, more...);
    };
    if constexpr (Layout.row_shares())
      run([&](value const& v, value const& g, value const& old) { return gradient(v, g, value(*slopes), old); });
    else
      run(gradient, slopes);
  });
}

/// dalpha (or dalpha +=, if Accumulate) the gradient of `prelu` for its slopes: the sum of x * dy where x < 0.
/// Items of `part`: registers of slopes, or single ones.
template <slope_layout Layout, bool Accumulate = false, class Arch = default_architecture>
inline void prelu_slope_gradient(float const* x, float const* dy, float* dalpha, share part = {}) {
  using value = batch<Arch>;
  constexpr std::int64_t size = Layout.row_size();
  constexpr std::int64_t shared_rows = Layout.rows_of_kind(true);
  constexpr std::int64_t own_rows = Layout.rows_of_kind(false);
  auto const add = [](value const& v, value const& g, value const& sum) {
    return xsimd::select(v < value(0.0F), fused_multiply_add(v, g, sum), sum);
  };
  if constexpr (Layout.row_shares()) {
    auto const [first, last] = part.of(own_rows);
    for (std::int64_t own = first; own < last; ++own) {
      value sum(0.0F);
      for (std::int64_t shared = 0; shared < shared_rows; ++shared) {
        std::int64_t const begin = Layout.row(shared, own) * size;
        std::int64_t i = 0;
        for (; i + lanes<Arch> <= size; i += lanes<Arch>)
          sum = add(value::load_unaligned(x + begin + i), value::load_unaligned(dy + begin + i), sum);
        if (int const rest = static_cast<int>(size - i); rest > 0)
          sum = add(load_first<Arch>(x + begin + i, rest), load_first<Arch>(dy + begin + i, rest), sum);
      }
      dalpha[own] = (Accumulate ? dalpha[own] : 0.0F) + horizontal_sum(sum);
    }
  } else {
    constexpr std::int64_t registers = (size + lanes<Arch> - 1) / lanes<Arch>;
    auto const [first, last] = part.of(own_rows * registers);
    for (std::int64_t item = first; item < last; ++item) {
      std::int64_t const own = item / registers, from = item % registers * lanes<Arch>;
      int const count = size - from < lanes<Arch> ? static_cast<int>(size - from) : lanes<Arch>;
      value sum = Accumulate ? load_first<Arch>(dalpha + own * size + from, count) : value(0.0F);
      for (std::int64_t shared = 0; shared < shared_rows; ++shared) {
        std::int64_t const begin = Layout.row(shared, own) * size + from;
        sum = add(load_first<Arch>(x + begin, count), load_first<Arch>(dy + begin, count), sum);
      }
      store_first<Arch>(sum, dalpha + own * size + from, count);
    }
  }
}

}  // namespace stagecraft::kernels
