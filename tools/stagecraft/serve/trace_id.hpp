// SPDX-License-Identifier: BSD-3-Clause
// The trace id of a request, which its answer has, too, so that proxies and clients find them together: `traceparent`
// of W3C's Trace Context, as OpenTelemetry sends it.
#pragma once

#include <cstddef>
#include <string_view>

namespace stagecraft::tool {

/// True for "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" and the like; all zeros are no id.
[[nodiscard]] constexpr bool is_trace_id(std::string_view value) noexcept {
  constexpr std::string_view form = "vv-tttttttttttttttttttttttttttttttt-pppppppppppppppp-ff";
  if (value.size() != form.size() || value.starts_with("ff")) return false;
  bool has_trace = false, has_parent = false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    bool const is_digit = (value[i] >= '0' && value[i] <= '9') || (value[i] >= 'a' && value[i] <= 'f');
    if (form[i] == '-' ? value[i] != '-' : !is_digit) return false;
    has_trace = has_trace || (form[i] == 't' && value[i] != '0');
    has_parent = has_parent || (form[i] == 'p' && value[i] != '0');
  }
  return has_trace && has_parent;
}
static_assert(is_trace_id("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
static_assert(!is_trace_id("00-00000000000000000000000000000000-00f067aa0ba902b7-01"));

}  // namespace stagecraft::tool
