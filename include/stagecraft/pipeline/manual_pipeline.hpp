// SPDX-License-Identifier: BSD-3-Clause
// Stages by regular expressions on the names of layers: the `manual` converter of pipelines in Graphcore's SavedModel
// tool, with its `manual_pipeline_config` and `device_info`.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/models/name_pattern.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft::pipeline {

/// Several patterns of one stage: a layer belongs to it that any of them matches.
template <fixed_text... Pattern>
struct name_pattern_list {};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Several regular expressions of one stage: `name_patterns<"conv.*", "pool.*">`. A layer belongs to it that any of
/// them matches.
template <fixed_text... Pattern>
inline constexpr pipeline::name_pattern_list<Pattern...> name_patterns{};

}  // namespace stagecraft

namespace stagecraft::pipeline {

template <int Stage>
struct stage_of_unmatched {
  static constexpr int stage = Stage;
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// After the patterns of `manual_pipeline`: the stage of all layers that no pattern matches. Graphcore's tool puts them
/// on IPU 0, as `unmatched_in_stage<0>` does; without it they are an error (E2050), since a name may be misspelt.
template <int Stage>
inline constexpr detail::stage_of_unmatched<Stage> unmatched_in_stage{};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// An argument of manual_pipeline: a text, name_patterns, unmatched_in_stage, a device mapping; or something else,
/// which is an error.
template <class Value>
struct stage_argument {
  using type = Value;
  Value value;

  template <class Given>
  constexpr stage_argument(Given const& given) : value(given) {}
};
template <std::size_t Length>
stage_argument(char const (&)[Length]) -> stage_argument<fixed_text<Length - 1>>;
template <class Value>
stage_argument(Value const&) -> stage_argument<Value>;

template <class T>
inline constexpr bool is_device_list = false;
template <auto... Device>
inline constexpr bool is_device_list<device_list<Device...>> = true;

template <class T>
inline constexpr bool is_stage_of_unmatched = false;
template <int Stage>
inline constexpr bool is_stage_of_unmatched<stage_of_unmatched<Stage>> = true;

/// The argument after the patterns.
template <class T>
inline constexpr bool is_last_argument = is_device_list<T> || is_stage_of_unmatched<T>;

template <class T>
inline constexpr bool is_pattern_list = false;
template <fixed_text... Pattern>
inline constexpr bool is_pattern_list<name_pattern_list<Pattern...>> = true;
template <class T>
inline constexpr bool is_text = false;
template <std::size_t Length>
inline constexpr bool is_text<fixed_text<Length>> = true;

/// The patterns of an argument; none of anything else.
template <stage_argument Argument>
constexpr auto list_patterns() {
  using type = typename decltype(Argument)::type;
  if constexpr (is_text<type>)
    return name_pattern_list<Argument.value>{};
  else if constexpr (is_pattern_list<type>)
    return Argument.value;
  else
    return name_pattern_list<>{};
}

template <fixed_text Pattern>
inline constexpr name_pattern pattern_of{Pattern.view()};

// Compilers limit the steps of one constant: each is about `layers_at_once` layers.
inline constexpr std::size_t layers_at_once = 32;

template <class M, fixed_text Pattern, std::size_t First>
inline constexpr auto some_matched_layers = [] {
  std::array<bool, layers_at_once> result{};
  auto const& layers = graph_of<M>.layers;
  for (std::size_t i = 0; i < result.size() && First + i < layers.size(); ++i)
    result[i] = pattern_of<Pattern>.matches(layers[First + i].name);
  return result;
}();

template <class M, fixed_text Pattern, std::size_t... Part>
constexpr auto match_layers(std::index_sequence<Part...>) {
  std::array<bool, sizeof...(Part) * layers_at_once> result{};
  auto const put = [&](std::size_t part, auto const& matched) {
    for (std::size_t i = 0; i < layers_at_once; ++i) result[part * layers_at_once + i] = matched[i];
  };
  (put(Part, some_matched_layers<M, Pattern, Part * layers_at_once>), ...);
  return result;
}

/// For each layer of a model, whether a pattern matches it.
template <class M, fixed_text Pattern>
inline constexpr auto matched_layers = match_layers<M, Pattern>(
    std::make_index_sequence<(graph_of<M>.layers.size() + layers_at_once - 1) / layers_at_once>());

/// A pattern that stands for a stage.
struct stage_pattern {
  std::string_view text;
  int stage = 0;
  name_pattern const* pattern = nullptr;
  tracing::array_view<bool const> matched;  ///< for each layer, whether the pattern matches it

  [[nodiscard]] constexpr std::string_view shown() const { return text.substr(0, 80); }
};

template <class M, std::size_t Count>
struct stage_patterns {
  std::array<stage_pattern, Count> patterns{};
  std::size_t count = 0;

  template <fixed_text... Pattern>
  constexpr void add([[maybe_unused]] int stage, name_pattern_list<Pattern...>) {
    ((patterns[count++] = {Pattern.view(), stage, &pattern_of<Pattern>, matched_layers<M, Pattern>}), ...);
  }
};
template <fixed_text... Pattern>
constexpr std::size_t size_of_list(name_pattern_list<Pattern...>) {
  return sizeof...(Pattern);
}

/// E2052: a pattern cannot be read. E2051: one matches no layer. E2050: a layer is matched by none.
constexpr void assign_by_name(graph_view const& graph, tracing::array_view<stage_pattern const> patterns, int stages,
                              tracing::array_view<int> of_call, diagnostic& problem) {
  for (auto const& [text, stage, pattern, matched] : patterns)
    if (pattern->failed())
      problem.report(2052, "the pattern '", text.substr(0, 80), "' of pipeline stage ", stage,
                     " cannot be read as a regular expression: ", pattern->problem(), " (character ",
                     pattern->problem_at() + 1, ")");
  if (problem.failed()) return;
  for (auto const& pattern : patterns) {
    bool matches = false;
    for (int const call : graph.order) {
      if (!pattern.matched[graph.call(call).layer]) continue;
      of_call[call] = pattern.stage;  // the last one counts
      matches = true;
    }
    if (!matches)
      problem.report(2051, "the pattern '", pattern.shown(), "' of pipeline stage ", pattern.stage,
                     " matches no layer of model '", graph.name(),
                     "'; a pattern matches the beginning of a layer's name, and \".*\" may come before");
  }
  for (int const call : graph.order)
    if (of_call[call] == unassigned)
      problem.report(2050, "layer '", graph.layer_of(call).name,
                     "' is matched by no pattern of manual_pipeline; each layer needs a stage "
                     "(sc::unmatched_in_stage<0>, after the patterns, is that of all others)");
  for (int stage = 0; stage < stages; ++stage) {
    bool used = false;
    for (int const call : graph.order) used = used || of_call[call] == stage;
    for (std::size_t i = 0; i < patterns.size() && !used; ++i)
      for (int const call : graph.order)
        if (patterns[i].stage == stage && patterns[i].matched[graph.call(call).layer])
          problem.report(2005, "no layer is left in pipeline stage ", stage, ": what its pattern '",
                         patterns[i].shown(), "' matches, later patterns match, too, such as layer '",
                         graph.layer_of(call).name, "', which is in stage ", of_call[call],
                         "; the last pattern that matches counts");
  }
}

/// The assignment that manual_pipeline makes.
template <stage_argument... Argument>
struct stages_by_name {
  static constexpr int stages = [] {
    std::array<bool, sizeof...(Argument)> const is_last{is_last_argument<typename decltype(Argument)::type>...};
    std::size_t count = is_last.size();
    while (count > 0 && is_last[count - 1]) --count;
    return static_cast<int>(count);
  }();

  template <class M>
  static constexpr void assign_stages(tracing::array_view<int> of_call, diagnostic& problem) {
    check_arguments(problem);
    if (problem.failed()) return;
    stage_patterns<M, (std::size_t{0} + ... + size_of_list(list_patterns<Argument>()))> all;
    int stage = 0;
    (all.add(stage++, list_patterns<Argument>()), ...);
    (start_with<Argument>(graph_of<M>, of_call), ...);
    assign_by_name(graph_of<M>, all.patterns, stages, of_call, problem);
  }

 private:
  /// The stage of unmatched layers is that of all, until a pattern says otherwise.
  template <stage_argument One>
  static constexpr void start_with(graph_view const& graph, tracing::array_view<int> of_call) {
    if constexpr (is_stage_of_unmatched<typename decltype(One)::type>)
      for (int const call : graph.order) of_call[call] = One.value.stage;
  }

  /// E2053: an argument that is no pattern.
  static constexpr void check_arguments(diagnostic& problem) {
    if (stages == 0)
      problem.report(2053,
                     "manual_pipeline is given no patterns; give it one for each stage, such as "
                     "manual_pipeline<model, \"^conv[1-3]_\", \"^conv4_\">");
    int index = 0;
    (check_argument<Argument>(index++, problem), ...);
  }
  template <stage_argument One>
  static constexpr void check_argument(int index, diagnostic& problem) {
    using type = typename decltype(One)::type;
    if (is_text<type> || (is_pattern_list<type> && size_of_list(list_patterns<One>()) > 0) || index >= stages) return;
    if (is_last_argument<type>)
      problem.report(2053, "the ", is_device_list<type> ? "device mapping" : "stage of unmatched layers",
                     " of manual_pipeline stands before the pattern of a stage; it comes last");
    else if (is_pattern_list<type>)
      problem.report(2053, "pipeline stage ", index, " of manual_pipeline has an empty list of patterns");
    else
      problem.report(2053, "pipeline stage ", index, " of manual_pipeline is given as a value of type '",
                     type_name<type>(),
                     "'; give a pattern, \"^conv4_\", or several, sc::name_patterns<\"^conv4_\", \"^conv5_\">");
  }
};

/// The device mapping among the arguments, or that stage i is on device i.
constexpr device_list<> mapping_among() { return {}; }
template <class First, class... Rest>
constexpr auto mapping_among(First const& first, Rest const&... rest) {
  if constexpr (is_device_list<typename First::type> && (is_last_argument<typename Rest::type> && ...))
    return first.value;
  else
    return mapping_among(rest...);
}

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// A model whose stages follow from the names of its layers: a pattern for each stage, in their order; after them, if
/// they are to be given, the stage of layers that no pattern matches, and the device of each stage.
///
///     using three_stages = sc::manual_pipeline<resnet50, "^(conv[1-3]|pool1)_", "^conv4_", ".*_block3_|predictions">;
///     using two_devices = sc::manual_pipeline<resnet50, ".*", sc::name_patterns<"^conv4_", "^conv5_">,
///                                             "^(avg_pool|predictions)$", sc::device_mapping<0, 1, 0>>;
///     using as_in_graphcores_tool =
///         sc::manual_pipeline<resnet50, "^conv[1-3]_", "^conv[45]_", sc::unmatched_in_stage<0>>;
///
/// A pattern is a regular expression that must match the beginning of a name, see name_pattern. Of several patterns
/// that match a layer, the last one counts, so that `".*"` as the first one takes what all others leave. All calls of a
/// layer are in its stage; layers of nested models have names of their own. The result is a pipelined model like any
/// other.
///
/// Errors: those of `pipelined`, and E2050 a layer that no pattern matches, E2051 a pattern that matches no layer,
/// E2052 a pattern that cannot be read, E2053 an argument that is none.
template <class M, detail::stage_argument... Argument>
using manual_pipeline = pipelined<M, detail::stages_by_name<Argument...>{}, detail::mapping_among(Argument...)>;

}  // namespace stagecraft
