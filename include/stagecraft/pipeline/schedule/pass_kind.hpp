// SPDX-License-Identifier: BSD-3-Clause
// What a device of a pipeline does with one micro-batch, in the order in which it happens within one slot.
#pragma once

#include <string_view>

namespace stagecraft {

/// - `infeed`: the device of the first stage takes a micro-batch from the host;
/// - `backward`, `forward`: a stage's pass over a micro-batch;
/// - `recompute`: a stage's forward steps are carried out again, for the backward pass of the next slot; or right
/// before
///   that pass, see `timetable`;
/// - `send`: what the pass has computed is copied to the device of the next pass;
/// - `outfeed`: the device of the last stage gives results to the host;
/// - `weight_update`: once per device, after all micro-batches.
enum class pass_kind : unsigned char { infeed, backward, forward, recompute, send, outfeed, weight_update };

/// "forward", "weight update"...
constexpr std::string_view to_string(pass_kind kind) {
  switch (kind) {
    case pass_kind::infeed: return "infeed";
    case pass_kind::backward: return "backward";
    case pass_kind::forward: return "forward";
    case pass_kind::recompute: return "recompute";
    case pass_kind::send: return "send";
    case pass_kind::outfeed: return "outfeed";
    case pass_kind::weight_update: return "weight update";
  }
  return "";
}

}  // namespace stagecraft
