// SPDX-License-Identifier: BSD-3-Clause
// What a layer says when it is made from other options than it has: one error, and a layer that stands in. Level 1.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>

namespace stagecraft::detail {

/// E1025. A layer's last constructor takes anything, `layer(...)`, and reports this; `L::usage` is how to write it.
template <class L>
inline constexpr diagnostic wrong_options_problem = [] {
  diagnostic problem;
  problem.report(1025, "layer ", L::class_name, " is made from options that it does not have; write ", L::usage);
  return problem;
}();

}  // namespace stagecraft::detail
