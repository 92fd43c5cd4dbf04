// SPDX-License-Identifier: BSD-3-Clause
// kl_divergence under its short name.
// Keras counterpart: the string "kld" in compile(metrics=...).
#pragma once

#include <stagecraft/metrics/regression/kl_divergence.hpp>

namespace stagecraft::metrics {

/// As kl_divergence, but reported as "kld".
struct kld : own_metric<kld> {
  static constexpr std::string_view name = "kld";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return losses::kl_divergence{}.call(ops, target, output);
  }
};

}  // namespace stagecraft::metrics
