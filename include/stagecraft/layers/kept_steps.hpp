// SPDX-License-Identifier: BSD-3-Clause
// What stateful layers with a window along time keep from call to call: the last steps of their input. Keras has it for
// recurrent layers only.
#pragma once

#include <string_view>

namespace stagecraft::layers::detail {

inline constexpr std::string_view stateful_along_many_axes =
    "is stateful; only layers whose window moves along one axis, the steps of a sequence, keep steps";

/// The `kept` steps before x, (batch, ..., steps, channels), then x itself. The last steps of both are kept for the
/// next call; the first call finds zeros. (The host's compiled steps hold them in a ring: host/steps/inlined_list.hpp.)
constexpr auto with_kept_steps(auto& ops, auto x, int kept, std::string_view state_name = "states_0") {
  if (kept == 0) return x;
  int const axis = x.rank() - 2, steps = x.length(axis);
  auto before = x.shape();
  before[axis] = kept;
  auto const state = ops.state(state_name, before);
  auto const all = ops.concatenate({state, x}, axis);
  ops.update(state, ops.slice(all, axis, steps, kept));
  return all;
}

}  // namespace stagecraft::layers::detail
