// SPDX-License-Identifier: BSD-3-Clause
// A stage assignment as ordinary values: got from a model, edited by a function, set again.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/pipeline/assigned_layer.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <stagecraft/pipeline/written_assignment.hpp>
#include <array>
#include <cstddef>
#include <string_view>

namespace stagecraft {

/// The stage of one call of a layer: keras.ipu's LayerPipelineStageAssignment. Only `pipeline_stage` can be changed.
struct layer_pipeline_stage_assignment {
  tracing::graph_view const* graph = nullptr;
  int call = 0;
  int pipeline_stage = tracing::unassigned;

  /// The layer itself, whose calls have an entry each.
  [[nodiscard]] constexpr assigned_layer layer() const { return {graph, graph->call(call).layer}; }
  [[nodiscard]] constexpr std::string_view layer_name() const { return graph->layer_of(call).name; }
  [[nodiscard]] constexpr std::string_view class_name() const { return graph->layer_of(call).class_name; }
  /// Which call of its layer, from 0.
  [[nodiscard]] constexpr int node_index() const { return graph->call(call).node_index; }
  [[nodiscard]] constexpr shape const& output_shape() const { return graph->call(call).shape; }
  /// The name of the nested model that makes the call; empty if the model itself does.
  [[nodiscard]] constexpr std::string_view nested_model() const {
    auto const model = graph->call(call).nested_model;
    return model == 0 ? std::string_view{} : graph->nested_models[model].name.view();
  }
  [[nodiscard]] constexpr int inbound_layer_count() const { return graph->call(call).input_count; }
  /// The name of the layer behind an input of this call.
  [[nodiscard]] constexpr std::string_view inbound_layer(int index) const {
    return graph->layer_of(graph->inputs_of(call)[index]).name;
  }
};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// In place of the assignment of a model that has had its compile error: each entry is the same one.
struct any_assignment {
  layer_pipeline_stage_assignment entry;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return 0; }
  [[nodiscard]] constexpr auto& operator[](std::size_t) noexcept { return entry; }
  [[nodiscard]] constexpr auto const& operator[](std::size_t) const noexcept { return entry; }
  [[nodiscard]] constexpr auto* begin() noexcept { return &entry; }
  [[nodiscard]] constexpr auto* end() noexcept { return &entry; }
  [[nodiscard]] constexpr auto const* begin() const noexcept { return &entry; }
  [[nodiscard]] constexpr auto const* end() const noexcept { return &entry; }
  [[nodiscard]] constexpr auto& front() noexcept { return entry; }
  [[nodiscard]] constexpr auto& back() noexcept { return entry; }
};

/// Reads a stage list against a model's calls, level by level.
class stage_list_reader {
 public:
  constexpr stage_list_reader(graph_view const& graph, tracing::array_view<stage_token const> tokens,
                              tracing::array_view<int> stages, diagnostic& problem)
      : graph_(graph), tokens_(tokens), stages_(stages), problem_(problem) {}

  constexpr void read() { read_level(0, 0, static_cast<int>(graph_.order.size())); }

 private:
  /// The end of the run of ordered calls, from `first` on, that belongs to one entry of a model's list.
  [[nodiscard]] constexpr int entry_end(int first, int last, int model) const {
    int const child = child_of(first, model);
    int end = first + 1;
    while (child != model && end < last && child_of(end, model) == child) ++end;
    return end;
  }
  [[nodiscard]] constexpr int child_of(int position, int model) const {
    int at = graph_.call(graph_.order[position]).nested_model;
    while (at != model && graph_.nested_models[at].parent != model) at = graph_.nested_models[at].parent;
    return at;
  }

  constexpr void read_level(int model, int first, int last) {
    int entries = 0, depth = 0;
    bool nested_lists = false;
    ++position_;  // begin
    for (std::size_t i = position_; tokens_[i].value != stage_token::end || depth > 0; ++i) {
      if (tokens_[i].value == stage_token::begin) nested_lists = true;
      entries += depth == 0 ? 1 : 0;
      depth += tokens_[i].value == stage_token::begin ? 1 : tokens_[i].value == stage_token::end ? -1 : 0;
    }
    int expected = 0;
    for (int i = first; i < last; i = entry_end(i, last, model)) ++expected;
    bool const flat = !nested_lists && entries == last - first;
    if (!flat && entries != expected) {
      problem_.report(2001, "the stage assignment of model '", graph_.nested_models[model].name, "' has ", entries,
                      entries == 1 ? " entry" : " entries", ", but ", expected, model_kind_counts(),
                      " need one (inputs are not counted)");
      return;
    }
    for (int i = first; i < last && !problem_.failed();) {
      int const end = flat ? i + 1 : entry_end(i, last, model);
      if (tokens_[position_].value == stage_token::begin) {
        int const child = child_of(i, model);
        if (child == model) {
          problem_.report(2001, "the stage assignment has a list for layer '", graph_.layer_of(graph_.order[i]).name,
                          "', which is not a nested model and takes one stage");
          return;
        }
        read_level(child, i, end);
      } else {
        for (int k = i; k < end; ++k) stages_[graph_.order[k]] = tokens_[position_].value;
        ++position_;
      }
      i = end;
    }
    ++position_;  // end
  }

  [[nodiscard]] constexpr std::string_view model_kind_counts() const {
    return graph_.kind() == model_kind::sequential ? " layers" : " calls of layers";
  }

  graph_view const& graph_;
  tracing::array_view<stage_token const> tokens_;
  tracing::array_view<int> stages_;
  diagnostic& problem_;
  std::size_t position_ = 0;
};

}  // namespace stagecraft::pipeline
