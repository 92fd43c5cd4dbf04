// SPDX-License-Identifier: BSD-3-Clause
// The boxes of a convolution's operands and results, element by element in the order in which vertices read and write
// them.
#pragma once

#include <stagecraft/ipu/convolution/convolution_division.hpp>

namespace stagecraft::tiles {

/// visit(group, batch, row, column, channel)
template <class Visit>
void visit_inputs(convolution_division const& division, convolution_part const& part, Visit const& visit) {
  if (part.weights() == 0) return;
  auto const box = division.inputs_of(part);
  for (auto g = part.conv_groups.first; g < part.conv_groups.last; ++g)
    for (auto b = part.batch.first; b < part.batch.last; ++b)
      for (auto y = box.rows.first; y < box.rows.last; ++y)
        for (auto x = box.columns.first; x < box.columns.last; ++x)
          for (auto c = part.in_chans.first; c < part.in_chans.last; ++c) visit(g, b, y, x, c);
}
/// visit(group, row, column, input channel, output channel)
template <class Visit>
void visit_weights(convolution_part const& part, Visit const& visit) {
  for (auto g = part.conv_groups.first; g < part.conv_groups.last; ++g)
    for (auto y = part.kernel_rows.first; y < part.kernel_rows.last; ++y)
      for (auto x = part.kernel_columns.first; x < part.kernel_columns.last; ++x)
        for (auto i = part.in_chans.first; i < part.in_chans.last; ++i)
          for (auto o = part.out_chans.first; o < part.out_chans.last; ++o) visit(g, y, x, i, o);
}
/// visit(group, batch, row, column, channel)
template <class Visit>
void visit_outputs(convolution_part const& part, Visit const& visit) {
  for (auto g = part.conv_groups.first; g < part.conv_groups.last; ++g)
    for (auto b = part.batch.first; b < part.batch.last; ++b)
      for (auto y = part.rows.first; y < part.rows.last; ++y)
        for (auto x = part.columns.first; x < part.columns.last; ++x)
          for (auto o = part.out_chans.first; o < part.out_chans.last; ++o) visit(g, b, y, x, o);
}

}  // namespace stagecraft::tiles
