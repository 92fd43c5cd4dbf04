// SPDX-License-Identifier: BSD-3-Clause
// One operation of a lowered step: compute sets of vertices on tiles and the exchanges between them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstdint>
#include <string_view>

namespace stagecraft::operations {
struct formula_view;
struct plan_view;
}  // namespace stagecraft::operations

namespace stagecraft::tiles {

struct tile_program_view;

/// The families of operations, each described in ipu/operations/.
enum class operation_kind : unsigned char {
  map,          ///< elementwise on the tiles where the elements lie (popops)
  reduce,       ///< sums and maxima over an axis (popops)
  rows,         ///< functions of whole rows: softmax, losses (popnn)
  rearrange,    ///< copies between places: padding, slices, repetition
  pool,         ///< windows of a field (popnn)
  convolution,  ///< convolutions and matrix products (poplin)
  update,       ///< an optimizer's step
  custom,       ///< a layer of the user's own that has loops of its own, on one tile
  table,        ///< rows of a table by their numbers, and sums of such (popops)
  traced        ///< a layer that is written as a `call`: operations of all families
};
inline constexpr int operation_kinds = static_cast<int>(operation_kind::traced) + 1;

/// Of one family; what `function`, `sizes` and `scalars` mean is told by the family's header.
struct tile_operation {
  static constexpr int most_inputs = 13, most_outputs = 7, most_sizes = 24, most_scalars = 8;

  operation_kind kind = operation_kind::map;
  int function = 0;
  int input_count = 0;
  int output_count = 0;
  int inputs[most_inputs]{};    ///< tensors of the step, by their numbers
  int outputs[most_outputs]{};  ///< likewise; one may be an input, too, which is then worked on in place
  std::int64_t sizes[most_sizes]{};
  float scalars[most_scalars]{};
  int plan = -1;                                      ///< of a convolution: its plan in the step
  operations::formula_view const* formula = nullptr;  ///< of an optimizer's step, a loss or an own activation
  operations::plan_view const* row_plan = nullptr;    ///< of a loss of one's own: that of a row
  tile_program_view const* program = nullptr;         ///< of a traced layer: what it consists of
};

}  // namespace stagecraft::tiles
