// SPDX-License-Identifier: BSD-3-Clause
// Formulas: as a function of batches, for loops of a kernel's own, and step by step over an array; with a square root
// by products, which avoids the unit for roots and divisions, the slowest one of a loop with both.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/kernels/elementwise/function.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/operations/formula.hpp>
#include <array>
#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// The two ways to compute a square root. They have the same bits.
enum class root_by { unit, products };

/// The square root of each lane, correctly rounded. By products it takes as long, but leaves the unit for roots to
/// others: a loop that takes every other root so is quicker than with either alone. AVX-512 only; other architectures,
/// and registers with a lane that is not within [2^-100, 2^128), take the unit.
///
/// By products it takes an estimate, one step of Newton's method for the root and half its reciprocal, and a last step
/// from the exact remainder x - root^2 (P. Markstein, 1990). It is correct for every mantissa if the estimate's
/// relative error is below 2^-14, as the instruction set promises.
template <root_by By, class Arch>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<float, Arch> square_root(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch> && By == root_by::products) {
    // One unsigned comparison of the bits finds numbers that are too small, too large, negative or NaN.
    __m512i const above = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32((127 - 100) << 23));
    if (_mm512_cmp_epu32_mask(above, _mm512_set1_epi32((100 + 128) << 23), _MM_CMPINT_NLT) == 0) [[likely]] {
      __m512 const one_half = _mm512_set1_ps(0.5F);
      __m512 const estimate = _mm512_maskz_rsqrt14_ps(0xFFFF, x);
      __m512 root = _mm512_mul_ps(x, estimate);
      __m512 half = _mm512_mul_ps(estimate, one_half);
      __m512 const rest = _mm512_fnmadd_ps(root, half, one_half);
      root = _mm512_fmadd_ps(root, rest, root);
      half = _mm512_fmadd_ps(half, rest, half);
      return _mm512_fmadd_ps(_mm512_fnmadd_ps(root, root, x), half, root);
    }
  }
#endif
  return xsimd::sqrt(x);
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace stagecraft::kernels {

namespace detail {

[[nodiscard, gnu::always_inline]] inline double uniform_value(operations::formula_step const& step,
                                                              tracing::array_view<double const> given,
                                                              double const* values) {
  switch (step.from) {
    case operations::formula_source::constant: return static_cast<double>(step.value);
    case operations::formula_source::everywhere: return given[step.index];
    default:
      return function_value(step.apply, values[step.operands[0]], values[step.operands[1]], values[step.operands[2]]);
  }
}

}  // namespace detail

/// The numbers of a formula that are the same at all places, by their numbers among its steps. `given` are its
/// arguments. They are computed in double.
inline void formula_constants(operations::formula_view const& of, tracing::array_view<double const> given,
                              tracing::array_view<float> to) {
  std::array<double, operations::formula_view::most_steps> values{};
  for (std::size_t i = 0; i < of.steps.size(); ++i) {
    auto const& step = of.steps[i];
    if (!step.is_uniform) continue;
    values[i] = detail::uniform_value(step, given, values.data());
    to[i] = static_cast<float>(values[i]);
  }
}

/// A formula with its constants as a function of batches: f(given, results) at one place of each array.
template <auto const& Formula, class Arch>
class formula_function {
 public:
  using value = batch<Arch>;
  static constexpr std::size_t result_count = Formula.results.size();

  explicit formula_function(tracing::array_view<double const> given) {
    double numbers[steps]{};
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (set_constant<I>(given, numbers), ...);
    }(std::make_index_sequence<steps>{});
  }

  /// True if a loop over the formula is faster when it takes every other root by products: there are roots, and too few
  /// other products to take as long as the roots.
  static constexpr bool mixes_roots = has_avx512<Arch> && [] {
    using enum operations::function;
    int roots = 0, divisions = 0, products = 0;
    for (auto const& step : Formula.steps) {
      if (step.from != operations::formula_source::function || step.is_uniform) continue;
      roots += step.apply == sqrt;
      divisions += step.apply == divide;
      products += step.apply == multiply || step.apply == multiply_add || step.apply == multiply_subtract ||
                  step.apply == negative_multiply_add;
    }
    return roots > 0 && 2 * products <= 7 * (roots + divisions);
  }();

  /// `results` may be `given`.
  template <root_by Roots = root_by::unit>
  [[gnu::always_inline]] inline void operator()(value const* given, value* results) const {
    value values[steps];
    [&]<std::size_t... I>(std::index_sequence<I...>)
        __attribute__((always_inline)) { (compute<I, Roots>(given, values), ...); }(std::make_index_sequence<steps>{});
    for (std::size_t i = 0; i < result_count; ++i) results[i] = values[Formula.results[i]];
  }

 private:
  static constexpr std::size_t steps = Formula.steps.size();

  /// True for a literal, which is no NaN, so that a maximum need not check it.
  static constexpr bool is_literal(int number) {
    return Formula.steps[number].from == operations::formula_source::constant;
  }
  /// The number of constants before a step that are no literals.
  static constexpr std::size_t place_of(std::size_t end) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < end; ++i)
      count += Formula.steps[i].is_uniform && Formula.steps[i].from != operations::formula_source::constant;
    return count;
  }

  template <std::size_t I>
  void set_constant(tracing::array_view<double const> given, double* numbers) {
    constexpr auto const& step = Formula.steps[I];
    if constexpr (step.is_uniform) {
      numbers[I] = detail::uniform_value(step, given, numbers);
      if constexpr (step.from != operations::formula_source::constant)
        constants_[place_of(I)] = value(static_cast<float>(numbers[I]));
    }
  }
  template <std::size_t I, root_by Roots>
  [[gnu::always_inline]] inline void compute(value const* given, value* values) const {
    constexpr auto const& step = Formula.steps[I];
    if constexpr (step.from == operations::formula_source::constant)
      values[I] = value(step.value);
    else if constexpr (step.is_uniform)
      values[I] = constants_[place_of(I)];
    else if constexpr (step.from == operations::formula_source::place)
      values[I] = given[step.index];
    else if constexpr (step.apply == operations::function::maximum && is_literal(step.operands[1]))
      values[I] = at_least(values[step.operands[0]], values[step.operands[1]]);
    else if constexpr (step.apply == operations::function::minimum && is_literal(step.operands[1]))
      values[I] = at_most(values[step.operands[0]], values[step.operands[1]]);
    else if constexpr (step.apply == operations::function::select && is_comparison(step.operands[0]))
      values[I] = xsimd::select(compare<step.operands[0]>(values), values[step.operands[1]], values[step.operands[2]]);
    else if constexpr (step.apply == operations::function::sqrt)
      values[I] = square_root<Roots>(values[step.operands[0]]);
    else
      values[I] = function_value<step.apply, Arch>(values[step.operands[0]], values[step.operands[1]],
                                                   values[step.operands[2]]);
  }
  /// True for a comparison. If only selections use it, it needs no numbers.
  static constexpr bool is_comparison(int number) {
    auto const& step = Formula.steps[number];
    return step.from == operations::formula_source::function && !step.is_uniform &&
           (step.apply == operations::function::less || step.apply == operations::function::less_equal ||
            step.apply == operations::function::equal);
  }
  template <int Number>
  [[nodiscard, gnu::always_inline]] static inline auto compare(value const* values) {
    constexpr auto const& step = Formula.steps[Number];
    value const &a = values[step.operands[0]], &b = values[step.operands[1]];
    if constexpr (step.apply == operations::function::less)
      return a < b;
    else if constexpr (step.apply == operations::function::less_equal)
      return a <= b;
    else
      return a == b;
  }

  value constants_[place_of(steps) + 1]{};
};

/// Evaluates a formula that is known at run time only at n places, some at a time. `given[i]` and `results[i]` are
/// arrays of n numbers, and may be the same ones.
template <class Arch = default_architecture>
inline void formula_places(operations::formula_view const& of, tracing::array_view<float const> constants,
                           tracing::array_view<float const* const> given, tracing::array_view<float* const> results,
                           std::int64_t n) {
  constexpr int width = lanes<Arch>;
  std::array<batch<Arch>, operations::formula_view::most_steps> values;
  for (std::int64_t first = 0; first < n; first += width) {
    int const count = n - first < width ? static_cast<int>(n - first) : width;
    for (std::size_t i = 0; i < of.steps.size(); ++i) {
      auto const& step = of.steps[i];
      auto const operand = [&](int k) -> batch<Arch> const& { return values[step.operands[k]]; };
      if (step.is_uniform)
        values[i] = batch<Arch>(constants[i]);
      else if (step.from == operations::formula_source::place)
        values[i] = detail::load_repeating<Arch>(given[step.index] + first, count);
      else
        with_function(step.apply, [&]<operations::function F>(std::integral_constant<operations::function, F>) {
          values[i] = function_value<F, Arch>(operand(0), operand(1), operand(2));
        });
    }
    for (std::size_t i = 0; i < results.size(); ++i)
      store_first<Arch>(values[of.results[i]], results[i] + first, count);
  }
}

}  // namespace stagecraft::kernels
