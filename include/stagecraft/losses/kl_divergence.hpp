// SPDX-License-Identifier: BSD-3-Clause
// How far a distribution is from another one.
// Keras counterpart: tf.keras.losses.KLDivergence.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// sum over the last axis of target log(target / prediction); both (rows, columns), limited to [1e-7, 1].
struct kl_divergence {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "kl_divergence";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    constexpr auto limited = [](auto p) { return maximum(minimum(p, 1.0F), detail::probability_epsilon); };
    auto const y = limited(target);
    return ops.sum(y * log(y / limited(output)), -1);
  }
};

using kld = kl_divergence;  ///< the same, as in Keras

}  // namespace stagecraft::losses
