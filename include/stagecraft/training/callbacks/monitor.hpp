// SPDX-License-Identifier: BSD-3-Clause
// The value that a callback watches, and what is better. Keras counterpart: the `monitor` and `mode` arguments.
#pragma once

#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/callbacks/callback.hpp>

#include <string>
#include <string_view>

namespace stagecraft::callbacks {

/// Whether smaller or larger values are better.
enum class monitor_mode : unsigned char {
  automatic,  ///< from the name: larger for accuracies, smaller else
  min,
  max
};

namespace detail {

/// The monitored value, or null in an epoch without validation. Keras warns when the name is not known and goes on
/// without effect; here that is an error (data_error E4012), since the callback would never do anything.
[[nodiscard]] inline double const* find_monitored(char const* owner, std::string const& monitor, logs const& values,
                                                  callback_params const& params) {
  if (double const* const value = values.find(monitor)) return value;
  if (monitor.starts_with("val_") && params.validation && values.contains(std::string_view(monitor).substr(4)))
    return nullptr;
  stagecraft::detail::throw_data_error("E4012", "%s: monitors '%s', which is not available; there are: %s", owner,
                                       monitor.c_str(), values.names().c_str());
}

}  // namespace detail

}  // namespace stagecraft::callbacks
