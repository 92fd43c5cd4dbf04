// SPDX-License-Identifier: BSD-3-Clause
// A model with stages that is called inside another one: its calls keep their stages, as those of a nested model with
// an assignment of its own do in Keras on IPU.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::pipeline {

/// The stages of a model as it is by itself.
struct own_stages {
  bool pipelined = false;
  tracing::array_view<int const> of_call;  ///< the stage of each call of its graph
  bool maps_devices = false;
};

/// The stages in the order in which the model's code makes the calls: without inputs, which a nested model gets from
/// outside, and with calls that no output needs.
template <class M>
constexpr growing_array<int> stages_as_made(own_stages const& stages) {
  model_builder builder;
  builder.enter(description_of_model<M>(), -1, {});
  builder.leave(output_tensors(M::trace(builder, {})));
  int made = 0;
  for (auto& call : builder.calls)
    if (!call.is_input) call.pipeline_stage = made++;  // a mark that stays with the call
  growing_array<int> result(made, unassigned);
  auto const graph = prune(builder);
  for (std::size_t i = 0; i < graph.calls.size(); ++i)
    if (!graph.calls[i].is_input) result[graph.calls[i].pipeline_stage] = stages.of_call[i];
  return result;
}

/// Traces M inside another model and assigns these stages to its calls, or the stage of the scope around the call.
/// Scopes in the model's own code say nothing then. E2011, E2056.
template <class M>
constexpr auto trace_with_stages(model_builder& builder, tracing::array_view<symbolic_tensor const> bound,
                                 own_stages const& stages) {
  fixed_name const name = builder.nested_models.back().name;
  if (stages.pipelined && builder.open_stage != unassigned)
    builder.problem.report(2011, "model '", name,
                           "' has pipeline stages of its own, but is called inside the scope of "
                           "pipeline stage ",
                           builder.open_stage, "; call it outside, or without its stages");
  if (stages.maps_devices)
    builder.problem.report(2056, "model '", name,
                           "' has a device mapping of its own, but is called inside another "
                           "model; give the devices of all stages with the outermost one: "
                           "pipelined<model, [](auto&) {}, device_mapping<0, 1>>");
  int const stage_outside = std::exchange(builder.open_stage, unassigned);
  bool const uses_stages = builder.uses_stages;
  auto const first = builder.calls.size();
  auto const result = M::trace(builder, bound);
  builder.open_stage = stage_outside;
  builder.uses_stages = uses_stages || stages.pipelined;
  growing_array<int> given;
  if (stages.pipelined) given = stages_as_made<M>(stages);
  for (std::size_t i = first; i < builder.calls.size(); ++i)
    builder.calls[i].pipeline_stage = i - first < given.size() ? given[i - first] : stage_outside;
  return result;
}

}  // namespace stagecraft::pipeline
