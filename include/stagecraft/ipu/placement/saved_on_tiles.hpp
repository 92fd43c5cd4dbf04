// SPDX-License-Identifier: BSD-3-Clause
// What a call's forward step keeps for its backward step on the tiles of an IPU.
#pragma once

#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/placement/tile_place.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft {

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

namespace detail {

constexpr void add_saved(saved_on_tiles& all, lowered_step const& step, ipu_target const& target) {
  for (int i = 0; i < step.tensor_count; ++i) {
    auto const& tensor = step.tensors[i];
    if (tensor.role != tensor_role::saved || all.offset_of(tensor.index) >= 0) continue;
    all.tensors[all.count] = tensor;
    all.offset[all.count++] = all.bytes;
    all.bytes += stagecraft::bytes_on_tile(tensor, target);
    all.data_bytes += tensor.elements * size_of(tensor.type);
  }
}

template <class M, auto Training, execution_mode Mode, class Machine, int Call>
constexpr saved_on_tiles find_saved() {
  saved_on_tiles result;
  constexpr auto const& call = program_for<M, Training, Mode>.calls[Call];
  if constexpr (call.needs.saved > 0 && !call.needs.view && !graph_of<M>.calls[Call].is_input) {
    constexpr auto const& table = unchecked_timetable<M, Training, Mode>;
    constexpr int stage = flow_of<M, Training>.stage[Call];
    add_saved(result, lowered_step_of<M, Training, Mode, Machine, table.forward_pass(stage), Call, false>,
              Machine::target);
    if constexpr (call.needs_gradient)
      add_saved(result, lowered_step_of<M, Training, Mode, Machine, table.backward_pass(stage), Call, true>,
                Machine::target);
  }
  return result;
}

}  // namespace detail

template <class M, auto Training, execution_mode Mode, class Machine, int Call>
inline constexpr saved_on_tiles saved_on_tiles_of = detail::find_saved<M, Training, Mode, Machine, Call>();

}  // namespace stagecraft
