// SPDX-License-Identifier: BSD-3-Clause
// Rows of elementwise results whose operands may be single numbers, and their gradients: what merging layers and
// operators do where shapes differ. Keras counterpart: broadcasting in tf.keras.layers.Add and its like. Level 4.
#pragma once

#include <stagecraft/kernels/simd.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// What a row reads of an operand: elements beside each other, or one for all.
struct row_operand {
  float const* values = nullptr;
  bool single = false;
};

namespace detail {

/// The first `count` floats at p; the other lanes repeat the first, so that no operation on them raises a
/// floating-point exception of its own, such as that of 0 / 0.
template <class Arch>
[[nodiscard]] inline batch<Arch> load_repeating(float const* p, int count) {
  batch<Arch> const first(*p);
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_mask_loadu_ps(first, static_cast<__mmask16>((1U << count) - 1U), p);
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    auto const mask = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(first_lanes + 16 - count));
    return _mm256_blendv_ps(first, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    first.store_aligned(values);
    std::memcpy(values, p, static_cast<std::size_t>(count) * sizeof(float));
    return batch<Arch>::load_aligned(values);
  }
}

/// each(i, count, load) for all batches of a row, where load(operand) reads the operand's batch from i on.
template <class Arch, class Each>
inline void for_each_batch(row_operand const* operands, std::int64_t n, Each const& each) {
  for (std::int64_t i = 0; i < n; i += lanes<Arch>) {
    int const count = n - i < lanes<Arch> ? static_cast<int>(n - i) : lanes<Arch>;
    each(i, count, [=](int operand) {
      auto const& from = operands[operand];
      if (from.single) return batch<Arch>(*from.values);
      return count == lanes<Arch> ? batch<Arch>::load_unaligned(from.values + i)
                                  : load_repeating<Arch>(from.values + i, count);
    });
  }
}

}  // namespace detail

/// y = Rule of the operands.
template <class Rule, class Arch>
inline void broadcast_row(row_operand const* operands, int count, float* y, std::int64_t n) {
  detail::for_each_batch<Arch>(operands, n, [&](std::int64_t i, int valid, auto const& load) {
    store_first<Arch>(Rule::template value<batch<Arch>>(count, load), y + i, valid);
  });
}

/// The gradient of operand number `which`, element by element: dx = or dx += it.
template <class Rule, class Arch>
inline void broadcast_gradient_row(row_operand const* operands, int count, int which, float const* dy, float* dx,
                                   bool adds, std::int64_t n) {
  detail::for_each_batch<Arch>(operands, n, [&](std::int64_t i, int valid, auto const& load) {
    auto slope = Rule::template gradient<batch<Arch>>(count, which, detail::load_repeating<Arch>(dy + i, valid), load);
    if (adds) slope = slope + load_first<Arch>(dx + i, valid);
    store_first<Arch>(slope, dx + i, valid);
  });
}

/// The sum of these gradients over a row, for an operand that is one for all.
template <class Rule, class Arch>
[[nodiscard]] inline float broadcast_gradient_sum(row_operand const* operands, int count, int which, float const* dy,
                                                  std::int64_t n) {
  batch<Arch> sum(0.0F);
  detail::for_each_batch<Arch>(operands, n, [&](std::int64_t i, int valid, auto const& load) {
    auto const given = detail::load_repeating<Arch>(dy + i, valid);
    auto const slope = Rule::template gradient<batch<Arch>>(count, which, given, load);
    // What fills the last batch is no part of the sum.
    alignas(64) float parts[lanes<Arch>];
    store_first<Arch>(slope, parts, valid);
    sum = sum + load_first<Arch>(parts, valid);
  });
  return horizontal_sum<Arch>(sum);
}

/// How results and gradients follow from the operands, for `broadcast_row` and its like; V is a batch of numbers.
struct broadcast_add {
  template <class V>
  static V value(int count, auto const& load) {
    V sum = load(0);
    for (int i = 1; i < count; ++i) sum = sum + load(i);
    return sum;
  }
  template <class V>
  static V gradient(int, int, V const& dy, auto const&) {
    return dy;
  }
};

struct broadcast_subtract {
  template <class V>
  static V value(int, auto const& load) {
    return load(0) - load(1);
  }
  template <class V>
  static V gradient(int, int which, V const& dy, auto const&) {
    return which == 0 ? dy : -dy;
  }
};

struct broadcast_average {
  template <class V>
  static V value(int count, auto const& load) {
    return broadcast_add::value<V>(count, load) * V(1.0F / static_cast<float>(count));
  }
  template <class V>
  static V gradient(int count, int, V const& dy, auto const&) {
    return dy * V(1.0F / static_cast<float>(count));
  }
};

struct broadcast_multiply {
  template <class V>
  static V value(int count, auto const& load) {
    V product = load(0);
    for (int i = 1; i < count; ++i) product = product * load(i);
    return product;
  }
  template <class V>
  static V gradient(int count, int which, V const& dy, auto const& load) {
    V product = dy;
    for (int i = 0; i < count; ++i)
      if (i != which) product = product * load(i);
    return product;
  }
};

struct broadcast_divide {
  template <class V>
  static V value(int, auto const& load) {
    return load(0) / load(1);
  }
  /// TensorFlow's: dy / b, and dy * (-a / b / b).
  template <class V>
  static V gradient(int, int which, V const& dy, auto const& load) {
    if (which == 0) return dy / load(1);
    return dy * (-load(0) / load(1) / load(1));
  }
};

/// The largest, not a number if one is not; of equal ones, the first gets the gradient.
struct broadcast_maximum {
  template <class V>
  static V value(int count, auto const& load) {
    V largest = load(0);
    for (int i = 1; i < count; ++i) {
      V const next = load(i);
      largest = xsimd::select(xsimd::isnan(next), next, at_least(largest, next));
    }
    return largest;
  }
  template <class V>
  static V gradient(int count, int which, V const& dy, auto const& load) {
    V const own = load(which);
    V result = dy;
    for (int i = 0; i < count; ++i) {
      if (i == which) continue;
      V const other = load(i);
      result = i < which ? xsimd::select(other >= own, V(0.0F), result) : xsimd::select(own >= other, result, V(0.0F));
    }
    return result;
  }
};

}  // namespace stagecraft::kernels
