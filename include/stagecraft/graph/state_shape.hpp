// SPDX-License-Identifier: BSD-3-Clause
// The shape of what a stateful layer keeps, in a model of a fixed batch size.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/node.hpp>
#include <stagecraft/graph/parameter.hpp>

namespace stagecraft::tracing {

/// A weight as it is; of what is kept between batches, which the layer was asked for with a few samples, that of the
/// model's batch. Errors: E1087 if the model has no batch size.
constexpr parameter whole_weight(parameter const& weight, nested_model_info const& model, fixed_name const& layer,
                                 diagnostic& problem) {
  parameter result = weight;
  result.choose_initializer();
  if (!weight.between_batches || problem.failed()) return result;
  if (model.batch_size < 1)
    problem.report(1087, "layer '", layer, "' keeps its state '", weight.name,
                   "' from batch to batch, but no input says how many samples a batch has; write "
                   "input{...}.of_batch_size(...)");
  else
    result.shape.dimensions[0] = model.batch_size;
  return result;
}

}  // namespace stagecraft::tracing
