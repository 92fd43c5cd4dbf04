// SPDX-License-Identifier: BSD-3-Clause
// The interface of a loss's kernel: one row at a time.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/losses/probabilistic.hpp>

#include <type_traits>

namespace stagecraft::kernels {

using losses::detail::probability_epsilon;

/// The kernel of a loss, to be specialised for each type of loss (a user's own, too):
///
///     static float evaluate(target const* t, float const* prediction, float scale, float* gradient);
///
/// returns the loss of one row of Columns predictions, without scale, and writes scale * d(loss)/d(prediction) to
/// `gradient` unless it is null. `gradient` may be `prediction`.
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

}  // namespace stagecraft::kernels
