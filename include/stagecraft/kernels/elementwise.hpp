// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic over whole arrays: fill, scale, copy of blocks, and the merge layers (add, multiply, maximum...) for any
// number of inputs, forward and backward.
// Keras counterpart: tf.keras.layers.Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate. Level 4 of the
// house.
#pragma once

#include <stagecraft/kernels/simd.hpp>

#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// y = value, n times.
template <class Arch = default_architecture>
inline void fill(float* y, float value, std::int64_t n) {
  transform<Arch>(n, [value]() { return batch<Arch>(value); }, y);
}

/// y = factor * x, or y += factor * x if Accumulate. y may be x. This is also the gradient of add (factor 1), of
/// subtract (1 and -1) and of average (1 / number of inputs) for each of their inputs.
template <bool Accumulate = false, class Arch = default_architecture>
inline void scaled_add(float factor, float const* x, float* y, std::int64_t n) {
  using value = batch<Arch>;
  value const f(factor);
  if constexpr (Accumulate)
    transform<Arch>(
        n, [f](value const& a, value const& sum) { return fused_multiply_add(f, a, sum); }, y, x,
        static_cast<float const*>(y));
  else
    transform<Arch>(n, [f](value const& a) { return f * a; }, y, x);
}

namespace detail {

/// y[i] = combine(...combine(x[0][i], x[1][i])..., x[count - 1][i]).
template <class Arch, class Combine>
inline void merge(float const* const* x, int count, float* y, std::int64_t n, Combine const& combine) {
  if (count == 2) return transform<Arch>(n, combine, y, x[0], x[1]);
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>) {
    batch<Arch> merged = batch<Arch>::load_unaligned(x[0] + i);
    for (int input = 1; input < count; ++input) merged = combine(merged, batch<Arch>::load_unaligned(x[input] + i));
    merged.store_unaligned(y + i);
  }
  if (int const rest = static_cast<int>(n - i); rest > 0) {
    batch<Arch> merged = load_first<Arch>(x[0] + i, rest);
    for (int input = 1; input < count; ++input) merged = combine(merged, load_first<Arch>(x[input] + i, rest));
    store_first(merged, y + i, rest);
  }
}

/// dx = slope, or dx += slope, where slope is function(dy, load) and load(input) reads that input's batch.
template <bool Accumulate, class Arch, class Slope>
inline void merge_backward(float const* const* x, float const* dy, float* dx, std::int64_t n, Slope const& slope) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>) {
    batch<Arch> value = slope(batch<Arch>::load_unaligned(dy + i),
                              [x, i](int input) { return batch<Arch>::load_unaligned(x[input] + i); });
    if constexpr (Accumulate) value = value + batch<Arch>::load_unaligned(dx + i);
    value.store_unaligned(dx + i);
  }
  if (int const rest = static_cast<int>(n - i); rest > 0) {
    batch<Arch> value =
        slope(load_first<Arch>(dy + i, rest), [x, i, rest](int input) { return load_first<Arch>(x[input] + i, rest); });
    if constexpr (Accumulate) value = value + load_first<Arch>(dx + i, rest);
    store_first(value, dx + i, rest);
  }
}

/// dx = dy where input number `which` is the first that wins the comparison with all others, else 0.
template <bool Accumulate, class Arch, class Wins>
inline void extremum_backward(float const* const* x, int count, int which, float const* dy, float* dx, std::int64_t n,
                              Wins const& wins) {
  using value = batch<Arch>;
  merge_backward<Accumulate, Arch>(x, dy, dx, n, [&](value const& g, auto const& load) {
    value const mine = load(which);
    value result = g;
    for (int input = 0; input < count; ++input)
      if (input != which) {
        value const other = load(input);
        result = input < which ? xsimd::select(wins(other, mine), value(0.0F), result)
                               : xsimd::select(wins(mine, other), result, value(0.0F));
      }
    return result;
  });
}

}  // namespace detail

/// y = x[0] + x[1] + ... for `count` >= 1 inputs of n values. y may be any input. Gradient: `scaled_add` with 1.
template <class Arch = default_architecture>
inline void add(float const* const* x, int count, float* y, std::int64_t n) {
  detail::merge<Arch>(x, count, y, n, [](batch<Arch> const& a, batch<Arch> const& b) { return a + b; });
}

/// y = a - b. Gradient: `scaled_add` with 1 and -1.
template <class Arch = default_architecture>
inline void subtract(float const* a, float const* b, float* y, std::int64_t n) {
  transform<Arch>(n, [](batch<Arch> const& u, batch<Arch> const& v) { return u - v; }, y, a, b);
}

/// y = x[0] * x[1] * ...
template <class Arch = default_architecture>
inline void multiply(float const* const* x, int count, float* y, std::int64_t n) {
  detail::merge<Arch>(x, count, y, n, [](batch<Arch> const& a, batch<Arch> const& b) { return a * b; });
}

/// The gradient of `multiply` for input number `which`: dy times the product of the other inputs.
template <bool Accumulate = false, class Arch = default_architecture>
inline void multiply_backward(float const* const* x, int count, int which, float const* dy, float* dx, std::int64_t n) {
  detail::merge_backward<Accumulate, Arch>(x, dy, dx, n, [=](batch<Arch> const& g, auto const& load) {
    batch<Arch> product = g;
    for (int input = 0; input < count; ++input)
      if (input != which) product = product * load(input);
    return product;
  });
}

/// y = (x[0] + x[1] + ...) / count. Gradient: `scaled_add` with 1 / count.
template <class Arch = default_architecture>
inline void average(float const* const* x, int count, float* y, std::int64_t n) {
  add<Arch>(x, count, y, n);
  scaled_add<false, Arch>(1.0F / static_cast<float>(count), y, y, n);
}

/// y = max(x[0], x[1], ...), NaN where any input is NaN.
template <class Arch = default_architecture>
inline void maximum(float const* const* x, int count, float* y, std::int64_t n) {
  using value = batch<Arch>;
  detail::merge<Arch>(x, count, y, n,
                      [](value const& a, value const& b) { return xsimd::select(xsimd::isnan(b), b, at_least(a, b)); });
}

/// The gradient of `maximum` for input number `which`: dy where it is the largest; of equal inputs the first gets all,
/// as in TensorFlow.
template <bool Accumulate = false, class Arch = default_architecture>
inline void maximum_backward(float const* const* x, int count, int which, float const* dy, float* dx, std::int64_t n) {
  detail::extremum_backward<Accumulate, Arch>(x, count, which, dy, dx, n,
                                              [](batch<Arch> const& a, batch<Arch> const& b) { return a >= b; });
}

/// y = min(x[0], x[1], ...), NaN where any input is NaN.
template <class Arch = default_architecture>
inline void minimum(float const* const* x, int count, float* y, std::int64_t n) {
  using value = batch<Arch>;
  detail::merge<Arch>(x, count, y, n,
                      [](value const& a, value const& b) { return xsimd::select(xsimd::isnan(b), b, at_most(a, b)); });
}

/// The gradient of `minimum` for input number `which`: dy where it is the smallest; of equal inputs the first gets all.
template <bool Accumulate = false, class Arch = default_architecture>
inline void minimum_backward(float const* const* x, int count, int which, float const* dy, float* dx, std::int64_t n) {
  detail::extremum_backward<Accumulate, Arch>(x, count, which, dy, dx, n,
                                              [](batch<Arch> const& a, batch<Arch> const& b) { return a <= b; });
}

/// For each of `outer` blocks: copies (or adds, if Accumulate) `inner` values from `from` to `to`, then steps on by the
/// strides. Concatenate along an axis writes each input so; its gradient reads so.
template <bool Accumulate = false, class Arch = default_architecture>
inline void copy_blocks(std::int64_t outer, std::int64_t inner, float const* from, std::int64_t from_stride, float* to,
                        std::int64_t to_stride) {
  for (std::int64_t block = 0; block < outer; ++block, from += from_stride, to += to_stride) {
    if constexpr (Accumulate)
      scaled_add<true, Arch>(1.0F, from, to, inner);
    else
      std::memcpy(to, from, static_cast<std::size_t>(inner) * sizeof(float));
  }
}

}  // namespace stagecraft::kernels
