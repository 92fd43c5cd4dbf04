// SPDX-License-Identifier: BSD-3-Clause
// The interface of a loss's kernel, one row at a time, and losses that are the mean over a row of a function of each
// target and output: mean squared error and the like, and losses of the user's own whose `call` has no `ops`. Keras
// counterpart: tf.keras.losses.
#pragma once

#include <stagecraft/kernels/elementwise/formula.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/losses/loss_formula.hpp>
#include <stagecraft/losses/probabilistic.hpp>
#include <cstdint>
#include <type_traits>

namespace stagecraft::kernels {

using losses::detail::probability_epsilon;

/// The kernel of a loss, to be specialised for each type of loss (a user's own, too):
///
///     static float evaluate(target const* t, float const* prediction, float scale, float* gradient);
///
/// returns the unscaled loss of one row of Columns predictions, and writes scale * d(loss)/d(prediction) to `gradient`
/// unless it is null. `gradient` may be `prediction`.
template <auto Loss, int Columns, class Arch, class Type = std::remove_cv_t<decltype(Loss)>>
struct loss_row {
  static_assert(Columns < 0, "this loss has no kernel: specialise stagecraft::kernels::loss_row for it");
};

/// x limited to [epsilon, 1 - epsilon]; NaN stays.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> clip_probability(xsimd::batch<float, Arch> const& x) {
  using value = xsimd::batch<float, Arch>;
  return at_least(at_most(x, value(1.0F - probability_epsilon)), value(probability_epsilon));
}

/// slope where clipping did not change x, 0 where it did: the derivative of a clipped value.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> clip_slope(xsimd::batch<float, Arch> const& x,
                                                          xsimd::batch<float, Arch> const& slope) {
  using value = xsimd::batch<float, Arch>;
  return xsimd::select((x < value(probability_epsilon)) | (x > value(1.0F - probability_epsilon)), value(0.0F), slope);
}

namespace detail {

/// Passes the losses of n places to f(i, count, losses), and writes their gradients, times their `scale`, to
/// `gradient`.
template <auto Loss, bool WithGradient, class Arch, class Scale, class Visit>
[[gnu::always_inline]] inline void elementwise_losses(float const* target, float const* prediction, Scale const& scale,
                                                      [[maybe_unused]] float* gradient, std::int64_t n,
                                                      Visit const& visit) {
  using value = batch<Arch>;
  constexpr int width = lanes<Arch>;
  formula_function<stagecraft::detail::formula_of_loss<Loss, WithGradient>, Arch> const function({});
  value results[2];
  std::int64_t i = 0;
  for (; i + width <= n; i += width) {
    value const given[]{value::load_unaligned(target + i), value::load_unaligned(prediction + i)};
    function(given, results);
    if constexpr (WithGradient) (results[1] * scale(i, width)).store_unaligned(gradient + i);
    visit(i, width, results[0]);
  }
  if (i == n) return;
  auto const count = static_cast<int>(n - i);
  value const given[]{load_repeating<Arch>(target + i, count), load_repeating<Arch>(prediction + i, count)};
  function(given, results);
  if constexpr (WithGradient) store_first(results[1] * scale(i, count), gradient + i, count);
  visit(i, count, results[0]);
}

}  // namespace detail

template <auto Loss, int Columns, class Arch, class Type>
  requires stagecraft::detail::HasPlainLossCall<Type>
struct loss_row<Loss, Columns, Arch, Type> {
  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    return gradient == nullptr ? run<false>(target, prediction, scale, nullptr)
                               : run<true>(target, prediction, scale, gradient);
  }

  /// Evaluates n rows of one column, some at a time, and calls each(loss) for all of them in turn.
  template <class Each>
    requires(Columns == 1)
  static void evaluate_rows(float const* target, float const* prediction, float const* scale, float* gradient,
                            std::int64_t n, Each const& each) {
    auto const scales = [&](std::int64_t i, int count) { return detail::load_repeating<Arch>(scale + i, count); };
    auto const visit = [&](auto, int count, batch<Arch> const& losses) {
      alignas(64) float values[lanes<Arch>];
      losses.store_aligned(values);
      for (int lane = 0; lane < count; ++lane) each(values[lane]);
    };
    if (gradient == nullptr)
      detail::elementwise_losses<Loss, false, Arch>(target, prediction, scales, gradient, n, visit);
    else
      detail::elementwise_losses<Loss, true, Arch>(target, prediction, scales, gradient, n, visit);
  }

 private:
  template <bool WithGradient>
  static float run(float const* target, float const* prediction, float scale, float* gradient) {
    batch<Arch> const factor(scale / static_cast<float>(Columns));
    batch<Arch> sum(0.0F);
    detail::elementwise_losses<Loss, WithGradient, Arch>(
        target, prediction, [&](auto...) { return factor; }, gradient, Columns,
        [&](auto, int count, batch<Arch> const& losses) {
          sum = sum + (count == lanes<Arch> ? losses : keep_first(losses, count));
        });
    return horizontal_sum(sum) / static_cast<float>(Columns);
  }
};

}  // namespace stagecraft::kernels
