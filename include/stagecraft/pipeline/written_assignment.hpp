// SPDX-License-Identifier: BSD-3-Clause
// Entries of a stage assignment that are written, not got from a model. Counterpart: the constructors of keras.ipu's
// SequentialLayerPipelineStageAssignment, FunctionalLayerPipelineStageAssignment and
// ModelLayerPipelineStageAssignment.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/graph.hpp>
#include <string_view>

namespace stagecraft::pipeline {

/// The stage of one call, of a layer that is known by its name, in a model of a kind. An array of these, in Keras's
/// order, is an assignment:
///
///     inline constexpr std::array assignment{sc::sequential_layer_pipeline_stage_assignment("dense", 0),
///                                            sc::sequential_layer_pipeline_stage_assignment("dense_1", 1)};
///     using staged = sc::pipelined<mlp, assignment>;
///
/// Errors, where it is given to `pipelined`: E2002 another layer or call stands there, E2016 the model is of another
/// kind.
template <model_kind Kind>
struct written_assignment {
  static constexpr model_kind kind = Kind;

  fixed_name name;
  int index = 0;  ///< which call of its layer, from 0
  int pipeline_stage = unassigned;

  /// Of a sequential model, in which a layer has one call.
  constexpr explicit written_assignment(std::string_view layer, int stage = unassigned)
    requires(Kind == model_kind::sequential)
      : name(layer), pipeline_stage(stage) {}
  /// Of another model; `node` says which call of the layer it is, from 0.
  constexpr written_assignment(std::string_view layer, int node, int stage = unassigned)
    requires(Kind != model_kind::sequential)
      : name(layer), index(node), pipeline_stage(stage) {}

  [[nodiscard]] constexpr std::string_view layer_name() const { return name; }
  [[nodiscard]] constexpr int node_index() const { return index; }
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

using sequential_layer_pipeline_stage_assignment = pipeline::written_assignment<tracing::model_kind::sequential>;
using functional_layer_pipeline_stage_assignment = pipeline::written_assignment<tracing::model_kind::functional>;
using model_layer_pipeline_stage_assignment = pipeline::written_assignment<tracing::model_kind::subclass>;

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// E2016: entries that are written for a model of another kind.
template <class Entry>
constexpr void check_kind_of_entries(graph_view const& graph, diagnostic& problem) {
  if constexpr (requires { Entry::kind; }) {
    auto const text = [](model_kind kind) {
      return kind == model_kind::sequential ? "sequential" : kind == model_kind::functional ? "functional" : "subclass";
    };
    if (Entry::kind != graph.kind())
      problem.report(2016, "the stage assignment has entries for a ", text(Entry::kind), " model, but model '",
                     graph.name(), "' is a ", text(graph.kind()), " model; the class of its entries is another one");
  }
}

}  // namespace stagecraft::pipeline
