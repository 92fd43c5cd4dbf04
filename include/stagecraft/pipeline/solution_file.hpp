// SPDX-License-Identifier: BSD-3-Clause
// Stages from a solution file, read by the compiler or at run time: the `load` converter of pipelines in Graphcore's
// SavedModel tool.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft::pipeline {

/// An entry of a solution file: a layer's name, or that of one of its calls, and its stage.
struct solution_entry {
  std::string_view name;
  int stage = 0;
};

/// The contents of a solution file, the JSON with which Graphcore's ipu_saved_model_cli describes a pipeline:
///
///     {"device_mapping": [0, 1], "pipeline_mapping": {"dense": 0, "dense_1": 1}}
///
/// The device mapping may be missing: then stage i is on device i. `device_maping`, as the guide has it once, is the
/// same. Names are shown as they stand in the text, which outlives this. Comments may stand where spaces may.
///
/// `problem`: E3040 it is no JSON; E3041 it is something else than such an object.
class solution_reader {
 public:
  constexpr explicit solution_reader(std::string_view text) : text_(text) {
    read_object();
    if (!problem.failed() && !has_mapping)
      problem.report(3041, "the solution file has no object 'pipeline_mapping', with the stage of each layer");
  }

  growing_array<solution_entry> mapping;  ///< the entries, in the file's order
  growing_array<int> devices;
  bool has_mapping = false, has_devices = false;
  /// The problem of the file.
  diagnostic problem;

 private:
  /// E3040, with the place.
  constexpr void expect(char const* what) {
    int line = 1, column = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') ++line, column = 1;
    }
    problem.report(3040, "the solution file is no JSON: ", what, " is expected in line ", line, ", character ", column);
  }

  constexpr void skip_spaces() {
    for (; at_ < text_.size(); ++at_) {
      char const c = text_[at_];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
      if (c != '/') return;
      auto const rest = text_.substr(at_);
      bool const is_line = rest.starts_with("//");
      if (!is_line && !rest.starts_with("/*")) return;
      auto const end = is_line ? rest.find('\n') : rest.find("*/", 2);
      if (end == std::string_view::npos && !is_line) return;  // an open comment: what is expected does not stand here
      at_ += end == std::string_view::npos ? rest.size() - 1 : end + (is_line ? 0 : 1);
    }
  }
  /// Takes the next character if it is this one.
  constexpr bool takes(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c && (++at_, true);
  }

  /// The text between quotes.
  constexpr std::string_view read_text() {
    if (!takes('"')) return expect("a name in quotes"), std::string_view();
    std::size_t const begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && text_[at_] != '\n') ++at_;
    if (at_ >= text_.size() || text_[at_] != '"')
      return expect("the '\"' of a name without escapes"), std::string_view();
    return text_.substr(begin, at_++ - begin);
  }
  /// A whole number. E3041 it is something else, or far too large.
  constexpr int read_number(char const* of, std::string_view name) {
    skip_spaces();
    std::size_t const begin = at_;
    bool const is_negative = at_ < text_.size() && text_[at_] == '-';
    if (is_negative) ++at_;
    std::size_t const first = at_;
    int number = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (number < 100'000'000) number = number * 10 + (text_[at_] - '0');
    bool const ends = at_ >= text_.size() || std::string_view(" \n\t\r,]}/").find(text_[at_]) != std::string_view::npos;
    if (at_ == first || !ends || number > 1'000'000) {
      while (at_ < text_.size() && at_ < begin + 20 &&
             std::string_view("\n,]}").find(text_[at_]) == std::string_view::npos)
        ++at_;
      problem.report(3041, "the solution file has '", text_.substr(begin, at_ - begin), "' as ", of, name.substr(0, 80),
                     name.empty() ? "" : "'", "; it is a whole number");
    }
    return is_negative ? -number : number;
  }

  constexpr void read_object() {
    if (!takes('{')) return expect("'{'");
    if (!takes('}')) {
      do {
        read_member();
        if (problem.failed()) return;
      } while (takes(','));
      if (!takes('}')) return expect("',' or '}'");
    }
    skip_spaces();
    if (at_ < text_.size()) expect("its end");
  }

  constexpr void read_member() {
    auto const key = read_text();
    if (problem.failed()) return;
    if (!takes(':')) return expect("':'");
    bool const is_mapping = key == "pipeline_mapping", is_devices = key == "device_mapping" || key == "device_maping";
    if (!is_mapping && !is_devices)
      return problem.report(3041, "the solution file has a key '", key.substr(0, 80),
                            "'; there are 'pipeline_mapping' and 'device_mapping'");
    if (is_mapping ? has_mapping : has_devices)
      return problem.report(3041, "the solution file has the key '", key, "' twice");
    if (is_mapping) {
      has_mapping = true;
      read_mapping();
    } else {
      has_devices = true;
      read_devices();
    }
  }

  constexpr void read_mapping() {
    if (!takes('{')) return expect("'{', the stages of layers by their names,");
    if (takes('}')) return;
    do {
      auto const name = read_text();
      if (problem.failed()) return;
      if (!takes(':')) return expect("':'");
      mapping.push_back({name, read_number("the stage of layer '", name)});
      if (problem.failed()) return;
    } while (takes(','));
    if (!takes('}')) expect("',' or '}'");
  }

  constexpr void read_devices() {
    if (!takes('[')) return expect("'[', the device of each stage,");
    if (takes(']')) return;
    do {
      devices.push_back(read_number("a device", {}));
      if (problem.failed()) return;
    } while (takes(','));
    if (!takes(']')) expect("',' or ']'");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

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
/// True if a text is that name.
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
