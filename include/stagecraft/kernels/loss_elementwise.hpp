// SPDX-License-Identifier: BSD-3-Clause
// Losses that are the mean over a row of a function of each target and output: mean squared error and the like, and
// those of the user's own whose `call` has no `ops`. Keras counterpart: tf.keras.losses. Level 4.
#pragma once

#include <stagecraft/kernels/loss_row.hpp>
#include <stagecraft/kernels/operations/formula.hpp>
#include <stagecraft/losses/loss_formula.hpp>
#include <array>

namespace stagecraft::kernels {

template <auto Loss, int Columns, class Arch, class Type>
  requires stagecraft::detail::HasPlainLossCall<Type>
struct loss_row<Loss, Columns, Arch, Type> {
  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    return gradient == nullptr ? run<false>(target, prediction, scale, nullptr)
                               : run<true>(target, prediction, scale, gradient);
  }

 private:
  template <bool WithGradient>
  static float run(float const* target, float const* prediction, float scale, [[maybe_unused]] float* gradient) {
    using value = batch<Arch>;
    constexpr int width = lanes<Arch>, whole = Columns / width * width, rest = Columns - whole;
    formula_function<stagecraft::detail::formula_of_loss<Loss, Columns, WithGradient>, Arch> const function(
        std::array{static_cast<double>(scale / static_cast<float>(Columns))});
    value sum(0.0F), results[2];
    for (int i = 0; i < whole; i += width) {
      value const given[]{value::load_unaligned(target + i), value::load_unaligned(prediction + i)};
      function(given, results);
      sum = sum + results[0];
      if constexpr (WithGradient) results[1].store_unaligned(gradient + i);
    }
    if constexpr (rest > 0) {
      value const given[]{detail::load_repeating<Arch>(target + whole, rest),
                          detail::load_repeating<Arch>(prediction + whole, rest)};
      function(given, results);
      sum = sum + keep_first(results[0], rest);
      if constexpr (WithGradient) store_first(results[1], gradient + whole, rest);
    }
    return horizontal_sum(sum) / static_cast<float>(Columns);
  }
};

}  // namespace stagecraft::kernels
