// SPDX-License-Identifier: BSD-3-Clause
// What a call's forward step keeps for its backward step on the tiles of an IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/placement/tile_place.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// The tensors with the role `saved` of a call, one behind the other.
struct saved_on_tiles {
  static constexpr int most_tensors = lowered_step::most_saved;

  int count = 0;
  tile_tensor tensors[most_tensors]{};
  std::int64_t offset[most_tensors]{};  ///< bytes from the first one
  std::int64_t bytes = 0;               ///< of a tile
  std::int64_t data_bytes = 0;          ///< of all tiles together

  /// -1 if there is no such tensor.
  [[nodiscard]] constexpr std::int64_t offset_of(int tensor_index) const noexcept {
    for (int i = 0; i < count; ++i)
      if (tensors[i].index == tensor_index) return offset[i];
    return -1;
  }
};

constexpr void add_saved(saved_on_tiles& all, lowered_step const& step, ipu_target const& target) {
  for (int i = 0; i < step.tensor_count; ++i) {
    auto const& tensor = step.tensors[i];
    if (tensor.role != tensor_role::saved || all.offset_of(tensor.index) >= 0) continue;
    all.tensors[all.count] = tensor;
    all.offset[all.count++] = all.bytes;
    all.bytes += stagecraft::tiles::bytes_on_tile(tensor, target);
    all.data_bytes += tensor.elements * size_of(tensor.type);
  }
}

template <class Job, int Call>
constexpr saved_on_tiles find_saved() {
  saved_on_tiles result;
  constexpr auto const& call = model_plan_for<Job>.calls[Call];
  if constexpr (call.needs.saved > 0 && !call.needs.view && !Job::graph.calls[Call].is_input) {
    constexpr auto const& table = unchecked_timetable<typename Job::planned>;
    constexpr int stage = flow_of<Job>.stage[Call];
    add_saved(result, lowered_step_of<Job, table.forward_pass(stage), Call, false>, Job::machine::target);
    if constexpr (call.needs_gradient)
      add_saved(result, lowered_step_of<Job, table.backward_pass(stage), Call, true>, Job::machine::target);
  }
  return result;
}

template <class Job, int Call>
inline constexpr saved_on_tiles saved_on_tiles_of = detail::find_saved<Job, Call>();

}  // namespace stagecraft::tiles
