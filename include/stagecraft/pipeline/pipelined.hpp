// SPDX-License-Identifier: BSD-3-Clause
// A model with a stage assignment, checked by the compiler; and what can be asked of it. Keras on IPU's
// get / set / reset_pipeline_stage_assignment. Level 3.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/pipeline/assignment.hpp>
#include <stagecraft/pipeline/pipeline_stage.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <stagecraft/pipeline/validation.hpp>

namespace stagecraft {

/// The type behind `pipelined<...>`.
template <Model M, auto Assignment, auto Devices>
struct pipelined_model : model_base {
  static constexpr model_kind kind = M::kind;
  using unstaged = M;
};

/// The graph of a staged model is that of the model itself.
template <class M, auto Assignment, auto Devices>
inline constexpr graph_view graph_of<pipelined_model<M, Assignment, Devices>> = graph_of<M>;

namespace detail {

/// In place of an assignment: none.
struct no_stages {};

/// The stages of a model's calls, indexed as the graph's calls, and what was wrong with how they were given.
template <std::size_t Calls>
struct call_stages {
  std::array<int, Calls> of_call{};
  diagnostic problem;
  bool pipelined = false;
};

template <class M>
struct staging {
  static constexpr std::array<int, 0> devices{};

  /// Stages from the scopes in the model's own code.
  static constexpr auto stages() {
    call_stages<graph_of<M>.calls.size()> result;
    for (std::size_t i = 0; i < result.of_call.size(); ++i) {
      result.of_call[i] = graph_of<M>.calls[i].pipeline_stage;
      result.pipelined = result.pipelined || result.of_call[i] != unassigned;
    }
    return result;
  }
};

template <class M>
constexpr auto current_assignment();

template <class M, auto Assignment, auto Devices>
struct staging<pipelined_model<M, Assignment, Devices>> {
  static constexpr auto devices = decltype(Devices)::devices;
  using assignment_type = std::remove_cvref_t<decltype(Assignment)>;

  static constexpr auto stages() {
    call_stages<graph_of<M>.calls.size()> result;
    for (auto& stage : result.of_call) stage = unassigned;
    result.pipelined = !std::same_as<assignment_type, no_stages>;
    if (graph_of<M>.order.empty()) {
      result.pipelined = false;  // the model stands in for one with an error of its own
    } else if constexpr (std::invocable<assignment_type, decltype(current_assignment<M>())&>) {
      auto assignment = current_assignment<M>();
      Assignment(assignment);
      for (auto const& entry : assignment) result.of_call[static_cast<std::size_t>(entry.call)] = entry.pipeline_stage;
    } else if constexpr (requires { tokens_of(Assignment); }) {
      auto const tokens = tokens_of(Assignment);
      stage_list_reader(graph_of<M>, tokens, result.of_call, result.problem).read();
    } else if constexpr (!std::same_as<assignment_type, no_stages>) {
      read_range(result);
    }
    return result;
  }

 private:
  /// An assignment got from a model and edited, or an array of stages.
  static constexpr void read_range(auto& result) {
    auto const& order = graph_of<M>.order;
    if (Assignment.size() != order.size()) {
      result.problem.report(2001, "the stage assignment of model '", graph_of<M>.name(), "' has ",
                            static_cast<int>(Assignment.size()), " entries, but ", static_cast<int>(order.size()),
                            " calls of layers need one (inputs are not counted)");
      return;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      if constexpr (std::integral<std::remove_cvref_t<decltype(Assignment[0])>>) {
        result.of_call[static_cast<std::size_t>(order[i])] = Assignment[i];
      } else {
        auto const& entry = Assignment[i];
        auto const& expected = graph_of<M>.layer_of(order[i]);
        if (entry.layer_name() != expected.name.view() || entry.node_index() != graph_of<M>.call(order[i]).node_index)
          result.problem.report(2002, "entry ", static_cast<int>(i), " of the stage assignment is for layer '",
                                entry.layer_name(), "' (node index ", entry.node_index(), "), but in this model layer '",
                                expected.name, "' (node index ", graph_of<M>.call(order[i]).node_index,
                                ") stands there; an assignment has the model's post-order");
        result.of_call[static_cast<std::size_t>(order[i])] = entry.pipeline_stage;
      }
    }
  }
};

template <class M>
inline constexpr auto staged_calls = staging<M>::stages();

template <class M>
constexpr auto current_assignment() {
  std::array<layer_pipeline_stage_assignment, graph_of<M>.order.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    int const call = graph_of<M>.order[i];
    result[i] = {&graph_of<M>, call, staged_calls<M>.of_call[static_cast<std::size_t>(call)]};
  }
  return result;
}

/// The first rule of stages that a model breaks (codes E2xxx).
template <class M>
inline constexpr diagnostic stage_problem = [] {
  auto const& staged = staged_calls<M>;
  if (!staged.pipelined || staged.problem.failed()) return staged.problem;
  return validate_stages({graph_of<M>, staged.of_call, staging<M>::devices});
}();

template <class M>
constexpr staged_graph staged_view() {
  static_assert(report<stage_problem<M>>());
  return {graph_of<M>, staged_calls<M>.of_call, staging<M>::devices};
}

template <class M>
inline constexpr staged_graph checked_stages = staged_view<M>();

template <class M>
struct without_stages {
  using type = pipelined_model<M, no_stages{}, device_mapping<>>;
};
template <class M, auto Assignment, auto Devices>
struct without_stages<pipelined_model<M, Assignment, Devices>> : without_stages<M> {};

}  // namespace detail

/// Keras on IPU's `set_pipeline_stage_assignment`: a model with a stage for each of its layers' calls. `Assignment` is
/// - `stages<0, 0, 1>`: in Keras's order, see pipeline/stages.hpp;
/// - a function that edits the model's present assignment: `[](auto& assignment) { for (auto& call : assignment) ... }`;
/// - an assignment got from a model, or an array of stages.
/// `Devices` is the device of each stage: `device_mapping<0, 1, 0>`.
///
/// Checked where it is named: E2001 length, E2002 order, E2003 every call assigned, E2004 uses a later stage, E2005 a
/// stage is left out, E2006 and E2007 order of a sequential model, E2008 at least two stages, E2009 and E2014 device
/// mapping, E2010 shared weights on one device, E2012 negative stage.
template <Model M, auto Assignment, auto Devices = device_mapping<>>
using pipelined = typename detail::verdict_on<detail::stage_problem<
    pipelined_model<M, Assignment, Devices>>>::template model<pipelined_model<M, Assignment, Devices>>;

/// Keras on IPU's `reset_pipeline_stage_assignment`: the same model without stages.
template <Model M>
using unpipelined = typename detail::without_stages<M>::type;

/// Keras on IPU's `get_pipeline_stage_assignment`: a std::array of layer_pipeline_stage_assignment in Keras's order.
/// A copy: change it and give it to `pipelined` again. Without stages, each entry is unassigned.
template <Model M>
constexpr auto get_pipeline_stage_assignment() {
  return detail::current_assignment<M>();
}

/// Whether a model has pipeline stages.
template <Model M>
inline constexpr bool is_pipelined = detail::staged_calls<M>.pipelined;

/// Number of pipeline stages, 0 for a model without.
template <Model M>
inline constexpr int pipeline_stages = detail::checked_stages<M>.stage_count();

/// The stage of one call; `unassigned` for a model without stages and for inputs.
template <Model M, int Call>
inline constexpr int stage_of = detail::checked_stages<M>.stage(Call);

/// The device of a stage.
template <Model M, int Stage>
inline constexpr int device_of = detail::checked_stages<M>.device(Stage);

namespace detail {

template <class M, int Stage>
constexpr std::size_t count_calls_of_stage() {
  std::size_t count = 0;
  for (int const call : graph_of<M>.order) count += checked_stages<M>.stage(call) == Stage ? 1 : 0;
  return count;
}

}  // namespace detail

/// The calls of one stage in Keras's order, as a std::array<int, n>.
template <Model M, int Stage>
inline constexpr auto calls_of_stage = [] {
  std::array<int, detail::count_calls_of_stage<M, Stage>()> result{};
  std::size_t count = 0;
  for (int const call : graph_of<M>.order)
    if (detail::checked_stages<M>.stage(call) == Stage) result[count++] = call;
  return result;
}();

}  // namespace stagecraft
