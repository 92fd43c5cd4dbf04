// SPDX-License-Identifier: BSD-3-Clause
// Which results of a training step are not sent to the host: `outfeed_mask` of `pipelining_ops.pipeline`.
#pragma once

#include <concepts>

namespace stagecraft {

/// One entry per metric, in the order of the training description (`metrics`, then `weighted_metrics`, each as many as
/// are written there); true: left out. No entries: nothing is.
///
///     .pipeline = {.outfeed_mask = {false, true}}  // the second metric is not computed
struct outfeed_mask {
  static constexpr int capacity = 32;
  bool masked[capacity]{};
  int count = 0;  ///< those that are given, also where there is no room for them (E2035)

  constexpr outfeed_mask() = default;
  template <std::same_as<bool>... Masked>
    requires(sizeof...(Masked) >= 1)
  constexpr outfeed_mask(Masked... mask) {
    bool const given[]{mask...};
    for (bool const each : given) {
      if (count < capacity) masked[count] = each;
      ++count;
    }
  }

  [[nodiscard]] constexpr bool leaves_out(int metric) const {
    return metric < count && metric < capacity && masked[metric];
  }
};

}  // namespace stagecraft
