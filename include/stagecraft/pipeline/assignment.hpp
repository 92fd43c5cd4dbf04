// SPDX-License-Identifier: BSD-3-Clause
// A stage assignment as ordinary values: taken from a model, edited by a function, set again; or written entry by
// entry. Keras counterparts: LayerPipelineStageAssignment and the constructors of its three kinds.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/type_tag.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft {

/// A layer of a model, to be asked for its name and class, and compared: with the layer of another entry, or with a
/// member of a model subclass, `call.layer() == sc::members_of<network>.dense_1`.
struct assigned_layer {
  tracing::graph_view const* graph = nullptr;
  int index = 0;

  [[nodiscard]] constexpr tracing::layer_info const& info() const { return graph->layer(index); }
  [[nodiscard]] constexpr std::string_view name() const { return info().name; }
  [[nodiscard]] constexpr std::string_view class_name() const { return info().class_name; }

  friend constexpr bool operator==(assigned_layer const&, assigned_layer const&) = default;
  /// True if it is this layer. A layer that the model's outputs do not need is equal to none.
  template <std::derived_from<tracing::layer_base> Layer>
  friend constexpr bool operator==(assigned_layer const& assigned, Layer const& member) {
    return assigned.info().traced_id == member.layer_id &&
           tracing::same_type(assigned.info().type, tracing::tag_of<Layer>);
  }
};

}  // namespace stagecraft

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
  int index = 0;  ///< the number of the call among those of its layer, from 0
  int pipeline_stage = unassigned;

  /// The stage of a layer of a sequential model, in which a layer has one call.
  constexpr explicit written_assignment(std::string_view layer, int stage = unassigned)
    requires(Kind == model_kind::sequential)
      : name(layer), pipeline_stage(stage) {}
  /// The stage of call number `node` (from 0) of a layer of another model.
  constexpr written_assignment(std::string_view layer, int node, int stage = unassigned)
    requires(Kind != model_kind::sequential)
      : name(layer), index(node), pipeline_stage(stage) {}

  [[nodiscard]] constexpr std::string_view layer_name() const { return name; }
  [[nodiscard]] constexpr int node_index() const { return index; }
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Graphcore's SequentialLayerPipelineStageAssignment: a layer of a sequential model, and its stage.
using sequential_layer_pipeline_stage_assignment = pipeline::written_assignment<tracing::model_kind::sequential>;
/// Graphcore's FunctionalLayerPipelineStageAssignment: a call of a functional model's layer, and its stage.
using functional_layer_pipeline_stage_assignment = pipeline::written_assignment<tracing::model_kind::functional>;
/// Graphcore's ModelLayerPipelineStageAssignment: a call of a subclassed model's layer, and its stage.
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
  /// The number of the call among those of its layer, from 0.
  [[nodiscard]] constexpr int node_index() const { return graph->call(call).node_index; }
  [[nodiscard]] constexpr shape const& output_shape() const { return graph->call(call).shape; }
  /// The name of the nested model that makes the call; empty if the model itself does.
  [[nodiscard]] constexpr std::string_view nested_model() const {
    auto const model = graph->call(call).nested_model;
    return model == 0 ? std::string_view{} : graph->nested_models[model].name.view();
  }
  [[nodiscard]] constexpr int inbound_layer_count() const { return graph->call(call).input_count; }
  /// The name of the layer that makes an input of this call.
  [[nodiscard]] constexpr std::string_view inbound_layer(int index) const {
    return graph->layer_of(graph->inputs_of(call)[index]).name;
  }
};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// Stands in for the assignment of a model that has had its compile error: each entry is the same one.
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

/// True if a function can change its argument through such a parameter.
template <class Function>
inline constexpr bool takes_reference = true;
template <class Result, class F, class Parameter>
inline constexpr bool takes_reference<Result (F::*)(Parameter) const> =
    std::is_lvalue_reference_v<Parameter> || std::is_rvalue_reference_v<Parameter>;
template <class Result, class Parameter>
inline constexpr bool takes_reference<Result (*)(Parameter)> = std::is_reference_v<Parameter>;

/// True if F gets a copy of its argument, so that its changes are lost.
template <class F, class Argument>
constexpr bool takes_copy() {
  if constexpr (requires { &F::operator(); })
    return !takes_reference<decltype(&F::operator())>;
  else if constexpr (requires { &F::template operator()<Argument>; })
    return !takes_reference<decltype(&F::template operator()<Argument>)>;
  else
    return !takes_reference<F>;
}

/// A function that edits an assignment.
template <class F, class Argument>
inline constexpr bool assigns_by_function = std::invocable<F, Argument&> && !takes_copy<F, Argument>();

/// A function, but one that cannot be given an assignment to change.
template <class F, class Argument>
inline constexpr bool has_wrong_parameter =
    !assigns_by_function<F, Argument> &&
    (std::invocable<F, Argument&> || std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); });

template <class T>
inline constexpr bool is_stage_list = false;
template <auto... Stage>
inline constexpr bool is_stage_list<stage_list<Stage...>> = true;

/// True if all entries of a list, and of the lists in it, are numbers.
template <class T>
inline constexpr bool is_list_of_stages = std::integral<T>;
template <auto... Stage>
inline constexpr bool is_list_of_stages<stage_list<Stage...>> = [] {
  bool result = true;
  for (bool const valid : {true, is_list_of_stages<std::remove_cvref_t<decltype(Stage)>>...}) result = result && valid;
  return result;
}();

template <class T>
concept StageOrEntry = std::integral<T> || requires(T const& entry) {
  entry.pipeline_stage;
  entry.layer_name();
};

template <class T>
inline constexpr bool is_range_of_stages = requires(T const& range) {
  range.size();
  requires StageOrEntry<std::remove_cvref_t<decltype(range[0])>>;
};

}  // namespace stagecraft::pipeline
