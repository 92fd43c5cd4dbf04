// SPDX-License-Identifier: BSD-3-Clause
// The margin of classes -1 and 1.
// Keras counterpart: tf.keras.metrics.Hinge.
#pragma once

#include <stagecraft/losses/hinge.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <string_view>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct hinge {
  static constexpr std::string_view name = "hinge";

  constexpr auto call(auto target, auto output) const { return losses::hinge{}.call(target, output); }
  constexpr operator metric() const noexcept { return stagecraft::detail::option_of_own<metric>(*this); }

  friend constexpr bool operator==(hinge const&, hinge const&) = default;
};

}  // namespace stagecraft::metrics
