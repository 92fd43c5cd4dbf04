// SPDX-License-Identifier: BSD-3-Clause
// The rules of a stage assignment that need no schedule, each with its own code.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/graph.hpp>

namespace stagecraft::pipeline {

/// A model's graph with a stage per call (indexed as the graph's calls) and a device per stage (empty: stage i on
/// device i).
struct staged_graph {
  graph_view const& graph;
  tracing::array_view<int const> stages;
  tracing::array_view<int const> devices;
  tracing::array_view<bool const>
      beside;  ///< true if a stage works at the same time as the one before it; empty: none does

  [[nodiscard]] constexpr int stage(int call) const { return stages[call]; }
  [[nodiscard]] constexpr int highest_stage() const {
    int last = -1;
    for (int const call : graph.order)
      if (stage(call) > last) last = stage(call);
    return last;
  }
  [[nodiscard]] constexpr int stage_count() const { return highest_stage() + 1; }
  [[nodiscard]] constexpr int device(int of_stage) const { return devices.empty() ? of_stage : devices[of_stage]; }
  [[nodiscard]] constexpr bool is_beside(int stage) const {
    return stage < static_cast<int>(beside.size()) && beside[stage];
  }
  /// The first of the stages that work at the same time as one.
  [[nodiscard]] constexpr int first_beside(int stage) const {
    while (is_beside(stage)) --stage;
    return stage;
  }
};

/// E2003: all calls have a stage. E2012: none is negative.
constexpr void check_every_call_assigned(staged_graph const& model, diagnostic& problem) {
  for (int const call : model.graph.order) {
    auto const& layer = model.graph.layer_of(call);
    if (model.stage(call) == unassigned)
      problem.report(2003, "layer '", layer.name, "' (node index ", model.graph.call(call).node_index,
                     ") has no pipeline stage; all layers of a pipelined model need one");
    else if (model.stage(call) < 0)
      problem.report(2012, "layer '", layer.name, "' is assigned to pipeline stage ", model.stage(call),
                     "; stages are numbered from 0");
  }
}

/// E2006: a sequential model begins in stage 0. E2007: each layer is in the stage of the layer before, or in the next.
constexpr void check_sequential_order(staged_graph const& model, diagnostic& problem) {
  if (model.graph.kind() != model_kind::sequential || model.graph.nested_models.size() > 1) return;
  int before = -1;
  for (int const call : model.graph.order) {
    auto const& name = model.graph.layer_of(call).name;
    if (before < 0) {
      if (model.stage(call) != 0)
        problem.report(2006, "the first layer '", name, "' is assigned to pipeline stage ", model.stage(call),
                       "; a sequential model begins in stage 0");
    } else if (int const last = model.stage(before); model.stage(call) < last || model.stage(call) - last > 1) {
      problem.report(2007, "layer '", name, "' is assigned to pipeline stage ", model.stage(call), ", but layer '",
                     model.graph.layer_of(before).name, "' before it to stage ", last,
                     "; in a sequential model each layer is in the same stage or in the next");
    }
    before = call;
  }
}

/// E2004: a call uses only what its own stage or an earlier one computes.
constexpr void check_dependencies(staged_graph const& model, diagnostic& problem) {
  for (int const call : model.graph.order)
    for (int const input : model.graph.inputs_of(call))
      if (!model.graph.call(input).is_input && model.stage(input) > model.stage(call))
        problem.report(2004, "layer '", model.graph.layer_of(call).name, "' in pipeline stage ", model.stage(call),
                       " uses the output of layer '", model.graph.layer_of(input).name, "' in stage ",
                       model.stage(input), "; a layer can only use outputs of its own or previous stages");
}

/// Numbers in an error's text: "1, 2 and 4", or the first ones "and more".
struct list_of_numbers {
  static constexpr int shown = 8;
  int values[shown]{};
  int count = 0;

  [[nodiscard]] constexpr bool full() const { return count > shown; }
  constexpr void add(int value) {
    if (count < shown) values[count] = value;
    ++count;
  }
  constexpr void append_to(message& text) const {
    int const end = count < shown ? count : shown;
    for (int i = 0; i < end; ++i) {
      if (i > 0) text.append(i + 1 == count ? " and " : ", ");
      text.append(values[i]);
    }
    if (full()) text.append(" and more");
  }
};

/// E2005: stages leave none out. E2008: there are at least two.
constexpr void check_contiguous(staged_graph const& model, diagnostic& problem) {
  int const highest = model.highest_stage();
  // Stage 0 has the model's inputs; check_sequential_order asks for more where Keras on IPU does.
  list_of_numbers empty;
  for (int stage = 1; stage <= highest && !empty.full(); ++stage) {
    bool used = false;
    for (int const call : model.graph.order) used = used || model.stage(call) == stage;
    if (!used) empty.add(stage);
  }
  if (empty.count > 0)
    problem.report(2005, "no layer is assigned to pipeline ", empty.count == 1 ? "stage " : "stages ", empty,
                   ", but the highest stage is ", highest, "; stages leave none out");
  if (highest < 1) problem.report(2008, "all layers are in pipeline stage 0; a pipeline has at least two stages");
}

/// E2009: a device for each stage. E2014: devices are numbered from 0. E2010: calls that share weights are on one
/// device.
constexpr void check_devices(staged_graph const& model, diagnostic& problem) {
  int const count = model.stage_count();
  auto const mapped = static_cast<int>(model.devices.size());
  if (mapped > 0 && mapped != count) {
    problem.report(2009, "the device mapping has ", mapped, mapped == 1 ? " entry" : " entries", ", but the model has ",
                   count, " pipeline stages; each stage is mapped to a device");
    return;
  }
  for (int const device : model.devices)
    if (device < 0)
      problem.report(2014, "the device mapping contains device ", device, "; devices are numbered from 0");
  for (int const call : model.graph.order) {
    auto const& layer = model.graph.layer_of(call);
    if (layer.parameter_count == 0 || layer.call_count < 2) continue;
    int const first = model.stage(layer.first_call), own = model.stage(call);
    if (model.device(first) != model.device(own))
      problem.report(2010, "layer '", layer.name, "' is called in pipeline stages ", first, " and ", own,
                     ", which are on devices ", model.device(first), " and ", model.device(own),
                     "; calls that share weights need their stages on one device, see device_mapping");
  }
}

/// E2066: stages at the same time do not need each other. E2067: they are on different devices. E2068: the first and
/// the last stage, which have the model's inputs and its losses, have none beside them.
constexpr void check_parallel_stages(staged_graph const& model, diagnostic& problem) {
  if (model.beside.empty()) return;
  for (int const call : model.graph.order)
    for (int const input : model.graph.inputs_of(call)) {
      int const from = model.graph.call(input).is_input ? 0 : model.stage(input), to = model.stage(call);
      if (from != to && model.first_beside(from) == model.first_beside(to))
        problem.report(2066, "layer '", model.graph.layer_of(call).name, "' in pipeline stage ", to,
                       " uses the output of layer '", model.graph.layer_of(input).name, "' in stage ", from,
                       ", but the device mapping has both stages in parallel; they work at the same time");
    }
  int const last = model.stage_count() - 1;
  for (int stage = 1; stage <= last; ++stage) {
    if (!model.is_beside(stage)) continue;
    int const first = model.first_beside(stage);
    for (int before = first; before < stage; ++before)
      if (model.device(before) == model.device(stage))
        problem.report(2067, "pipeline stages ", before, " and ", stage, " are in parallel, but both on device ",
                       model.device(stage), "; each of them has a device of its own");
    if (first == 0 || stage == last)
      problem.report(2068, "pipeline stage ", stage, " is in parallel with stage ", first, ", the ",
                     first == 0 ? "first one, which has the model's inputs" : "last one but for it",
                     first == 0 ? "" : "; the last one computes the losses",
                     "; the first and the last stage are alone");
  }
}

/// The first rule that a staged model breaks.
constexpr diagnostic validate_stages(staged_graph const& model) {
  diagnostic problem;
  for (auto const check : {check_every_call_assigned, check_sequential_order, check_dependencies, check_contiguous,
                           check_devices, check_parallel_stages})
    if (!problem.failed()) check(model, problem);
  return problem;
}

}  // namespace stagecraft::pipeline
