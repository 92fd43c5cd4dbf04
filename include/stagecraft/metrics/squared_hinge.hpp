// SPDX-License-Identifier: BSD-3-Clause
// The margin of classes -1 and 1, squared.
// Keras counterpart: tf.keras.metrics.SquaredHinge.
#pragma once

#include <stagecraft/losses/squared_hinge.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <string_view>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct squared_hinge {
  static constexpr std::string_view name = "squared_hinge";

  constexpr auto call(auto target, auto output) const { return losses::squared_hinge{}.call(target, output); }
  constexpr operator metric() const noexcept { return stagecraft::detail::option_of_own<metric>(*this); }

  friend constexpr bool operator==(squared_hinge const&, squared_hinge const&) = default;
};

}  // namespace stagecraft::metrics
