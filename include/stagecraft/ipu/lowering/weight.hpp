// SPDX-License-Identifier: BSD-3-Clause
// A layer's weights in the type in which its step computes.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/tasks/map.hpp>

namespace stagecraft::tiles {

/// The number of a weight's tensor of Call::type: the stored weight itself, or a temporary copy, rounded to that type.
/// Ask once per step and weight.
template <class Call>
constexpr int append_weight(lowered_step& step, int index) {
  int const stored = Call::stored_weight(step, index);
  if (Call::variable_type == Call::type) return stored;
  int const copy = step.temporary(Call::parameter_info(index).size(), Call::type, Call::planned_weight(index));
  append_map(step, map_function::copy, copy, {{stored}});
  return copy;
}

}  // namespace stagecraft::tiles
