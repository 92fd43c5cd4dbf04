// SPDX-License-Identifier: BSD-3-Clause
// Stages from a solution file: the `load` converter of pipelines in Graphcore's SavedModel tool, for the compiler.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/solution_reader.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft::pipeline {

/// A number of a name, read from its end, which differs for nearly all pairs of names.
constexpr unsigned add_to_hash(unsigned hash, std::string_view text) {
  char const* const characters = text.data();
  for (std::size_t i = text.size(); i > 0; --i) hash = hash * 31 + static_cast<unsigned char>(characters[i - 1]);
  return hash;
}
/// That of a call's layer: "dense", in nested models "encoder/dense".
constexpr unsigned hash_of_path(graph_view const& graph, int call) {
  unsigned hash = add_to_hash(0, graph.layer_of(call).name);
  for (int model = graph.call(call).nested_model; model > 0; model = graph.nested_models[model].parent)
    hash = add_to_hash(add_to_hash(hash, "/"), graph.nested_models[model].name);
  return hash;
}
/// Whether a text is that name.
constexpr bool is_path_of(std::string_view text, graph_view const& graph, int call) {
  std::string_view name = graph.layer_of(call).name;
  for (int model = graph.call(call).nested_model;; model = graph.nested_models[model].parent) {
    if (!text.ends_with(name)) return false;
    text.remove_suffix(name.size());
    if (model <= 0) return text.empty();
    if (!text.ends_with('/')) return false;
    text.remove_suffix(1);
    name = graph.nested_models[model].name;
  }
}

/// The name of an entry, and the number of the call that it is about, "dense[1]"; -1 for all calls of a layer.
struct named_call {
  std::string_view name;
  int node_index = -1;

  constexpr explicit named_call(std::string_view text) : name(text) {
    auto const open = text.rfind('[');
    if (open == std::string_view::npos || open == 0 || !text.ends_with(']') || text.size() > open + 8) return;
    int index = 0;
    for (std::size_t i = open + 1; i + 1 < text.size(); ++i) {
      if (text[i] < '0' || text[i] > '9') return;
      index = index * 10 + (text[i] - '0');
    }
    if (text.size() == open + 2) return;
    name = text.substr(0, open);
    node_index = index;
  }
};

/// Sets the stages of a model's calls. `of_call` begins with `unassigned`. E3042 a name that is no layer's; E3043 a
/// layer without a stage; E3044 not as many devices as stages; E3045 a name that is there twice.
constexpr void assign_by_solution(graph_view const& graph, solution_reader const& solution,
                                  tracing::array_view<int> of_call, diagnostic& problem) {
  if (solution.problem.failed()) {
    problem = solution.problem;
    return;
  }
  int const calls = static_cast<int>(graph.order.size());
  growing_array<unsigned> hashes(graph.order.size());
  for (int i = 0; i < calls; ++i) hashes[i] = hash_of_path(graph, graph.order[i]);
  int next = 0, highest = -1;                      // a file is mostly in the model's order
  growing_array<char> entries(of_call.size(), 0);  // of each call: 1 one by its layer's name, 2 one by its number
  for (auto const& [text, stage] : solution.mapping) {
    named_call const named(text);
    bool is_known = false;
    int const begin = next;
    unsigned const hash = add_to_hash(0, named.name);
    unsigned const* const all = hashes.data();
    int const end = begin + calls;
    for (int i = begin; i < end; ++i) {
      int const position = i < calls ? i : i - calls;
      if (all[position] != hash) continue;
      int const call = graph.order[position];
      bool const is_meant = named.node_index < 0 || named.node_index == graph.call(call).node_index;
      if (!is_meant || !is_path_of(named.name, graph, call)) continue;
      if (!is_known) next = position + 1 < calls ? position + 1 : 0;
      is_known = true;
      char const kind = named.node_index >= 0 ? 2 : 1;
      if ((entries[call] & kind) != 0) problem.report(3045, "the solution file has '", text.substr(0, 80), "' twice");
      if (kind > entries[call]) of_call[call] = stage == -1 ? unassigned : stage;
      entries[call] = static_cast<char>(entries[call] | kind);
      if (named.node_index >= 0 || graph.layer_of(call).call_count < 2) break;
    }
    if (stage > highest) highest = stage;
    for (int i = 0; i < static_cast<int>(graph.calls.size()) && !is_known; ++i)
      is_known = graph.call(i).is_input && is_path_of(text, graph, i);
    if (!is_known)
      problem.report(3042, "the solution file has a stage for '", text.substr(0, 80), "', which is no layer of model '",
                     graph.name(), "'");
  }
  for (int const call : graph.order)
    if (of_call[call] == unassigned)
      problem.report(3043, "layer '", graph.layer_of(call).name, "' (node index ", graph.call(call).node_index,
                     ") of model '", graph.name(), "' has no stage in the solution file; each layer needs one");
  if (solution.has_devices && static_cast<int>(solution.devices.size()) != highest + 1)
    problem.report(3044, "the solution file has ", static_cast<int>(solution.devices.size()),
                   " entries in 'device_mapping', but ", highest + 1,
                   " stages in 'pipeline_mapping'; each stage has a device");
}

/// The text of a solution file; empty for what is none.
template <class Text>
constexpr std::string_view text_of_solution(Text const& text) {
  if constexpr (std::is_convertible_v<Text const&, std::string_view>)
    return std::string_view(text);
  else
    return {};
}

/// The devices of a solution file; none where it is wrong, which its stages say.
template <auto const& Text>
inline constexpr std::size_t solution_device_count = [] {
  solution_reader const solution(text_of_solution(Text));
  return solution.problem.failed() ? std::size_t{0} : solution.devices.size();
}();

template <auto const& Text>
struct solution_devices {
  static constexpr auto devices = [] {
    std::array<int, solution_device_count<Text>> result{};
    solution_reader const solution(text_of_solution(Text));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = solution.devices[i];
    return result;
  }();
};

/// The assignment of a solution file.
template <auto const& Text>
struct stages_of_solution {
  template <class M>
  static constexpr void assign_stages(tracing::array_view<int> of_call, diagnostic& problem) {
    using text_type = std::remove_cvref_t<decltype(Text)>;
    if constexpr (std::is_convertible_v<text_type const&, std::string_view>)
      assign_by_solution(graph_of<M>, solution_reader(text_of_solution(Text)), of_call, problem);
    else
      problem.report(3041, "solution_file is given a value of type '", type_name<text_type>(),
                     "'; give it the file's text, inline constexpr char solution[] = R\"({...})\";");
  }
};
template <auto const& Text>
inline constexpr solution_devices<Text> devices_with<stages_of_solution<Text>>{};

/// The stages of a solution file, whose text is a constant with a name:
///
///     inline constexpr char on_two[] =
///     #include "solution/greedy_search.pipeconfig.inc"
///         ;
///     using staged = sc::pipelined<resnet50, sc::pipeline::solution_file<on_two>>;
///
/// `stagecraft convert` and `stagecraft pipeline` write both the file and its `.inc`, which is the same as a raw string
/// literal. A name is a layer's, in nested models "encoder/dense"; "dense[1]" is the second call of a layer whose calls
/// are in several stages. The devices are the file's, unless `pipelined` is given others. For n
/// layers, reading takes as many steps as the file is long, and at most n^2 comparisons of two numbers.
///
/// Errors, where it is given to `pipelined`: E3040 the file is no JSON; E3041 it is something else than a solution;
/// E3042 a name that no layer has; E3043 a layer without a stage; E3044 not as many devices as stages; E3045 a name
/// that is there twice; and those of `pipelined`, such as E2004 stages that are out of order.
template <auto const& Text>
inline constexpr stages_of_solution<Text> solution_file{};

}  // namespace stagecraft::pipeline
