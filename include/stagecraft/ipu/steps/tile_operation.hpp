// SPDX-License-Identifier: BSD-3-Clause
// One operation of a lowered step: compute sets of vertices on tiles and the exchanges between them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/tile_work.hpp>

namespace stagecraft::operations {
struct formula_view;
struct plan_view;
}  // namespace stagecraft::operations

namespace stagecraft::tiles {

struct tile_program_view;

/// What it does, and on which tensors. For each family, `cost_of` (ipu/operations/) says what that costs, and `run`
/// (ipu/tiles/codelets/) does it.
struct tile_operation {
  static constexpr int most_inputs = map_operation::most_inputs, most_outputs = 7;

  tile_work what;
  int input_count = 0;
  int output_count = 0;
  int inputs[most_inputs]{};    ///< tensors of the step, by their numbers
  int outputs[most_outputs]{};  ///< likewise; one may be an input, too, which is then worked on in place
  int plan = -1;                ///< of a planned_product: its plan in the step
  operations::formula_view const* formula = nullptr;  ///< of an optimizer's step, a loss or an own activation
  operations::plan_view const* row_plan = nullptr;    ///< of a loss of one's own: that of a row
  tile_program_view const* program = nullptr;         ///< of a traced_program: what it consists of
};

}  // namespace stagecraft::tiles
