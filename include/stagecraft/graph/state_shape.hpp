// SPDX-License-Identifier: BSD-3-Clause
// The shape of what a stateful layer keeps, in a model of a fixed batch size.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/parameter.hpp>

namespace stagecraft::detail {

/// A weight as it is; of what is kept between batches, which the layer was asked for with a few samples, that of the
/// model's batch. Errors: E1087 if this is 0.
constexpr parameter with_batch_size(parameter const& weight, int batch_size, fixed_name const& layer,
                                    diagnostic& problem) {
  parameter result = weight;
  if (!weight.between_batches || problem.failed()) return result;
  if (batch_size < 1)
    problem.report(1087, "layer '", layer, "' keeps its state '", weight.name,
                   "' from batch to batch, but no input says how many samples a batch has; write "
                   "input{...}.of_batch_size(...)");
  else
    result.shape.dimensions[0] = batch_size;
  return result;
}

}  // namespace stagecraft::detail
