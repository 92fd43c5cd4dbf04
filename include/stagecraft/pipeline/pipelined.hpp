// SPDX-License-Identifier: BSD-3-Clause
// A model with a stage assignment, checked by the compiler: Keras on IPU's get / set / reset_..._assignment.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/stand_in.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/pipeline/assignment.hpp>
#include <stagecraft/pipeline/nested_stages.hpp>
#include <stagecraft/pipeline/pipeline_stage.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <stagecraft/pipeline/validation.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace stagecraft::pipeline {

/// The type that `pipelined<...>` names. Inside another model it is called as the model itself is, and its calls keep
/// their stages. Errors there: E2011 in the scope of a stage, E2056 if it has a device mapping.
template <Model M, auto Assignment, auto Devices>
struct pipelined_model : callable_model<pipelined_model<M, Assignment, Devices>> {
  static constexpr model_kind kind = M::kind;
  using unstaged = M;
  template <fixed_text Name>
  using with_name = pipelined_model<named<Name, M>, Assignment, Devices>;
  static constexpr auto trace(model_builder& builder, tracing::array_view<symbolic_tensor const> bound);
};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// The graph of a staged model is that of the model itself.
template <class M, auto Assignment, auto Devices>
inline constexpr tracing::graph_view graph_of<pipeline::pipelined_model<M, Assignment, Devices>> = graph_of<M>;

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// It stands in place of an assignment where a model has none.
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
  static constexpr std::array<bool, 0> beside{};

  /// Stages from the scopes in the model's own code.
  static constexpr auto stages() {
    call_stages<graph_of<M>.calls.size()> result;
    for (std::size_t i = 0; i < result.of_call.size(); ++i) result.of_call[i] = graph_of<M>.calls[i].pipeline_stage;
    // Also where no call that the outputs need is in one of them: stages that are written are never passed over.
    result.pipelined = frozen_graph<M>.uses_stages;
    return result;
  }
};

template <class M>
constexpr auto current_assignment();

template <class M, auto Assignment, auto Devices>
struct staging<pipelined_model<M, Assignment, Devices>> {
  static constexpr auto devices = devices_of<decltype(Devices)>();
  static constexpr auto beside = stages_beside_of<decltype(Devices)>();
  using assignment_type = std::remove_cvref_t<decltype(Assignment)>;

  static constexpr auto stages() {
    call_stages<graph_of<M>.calls.size()> result;
    for (auto& stage : result.of_call) stage = unassigned;
    result.pipelined = !std::same_as<assignment_type, no_stages>;
    if constexpr (is_invalid<M>) {
      result.pipelined = false;
    } else if constexpr (requires { typename std::remove_cvref_t<decltype(Devices)>::no_number; }) {
      result.problem.report(2018, "the device mapping has an entry of type '",
                            type_name<typename std::remove_cvref_t<decltype(Devices)>::no_number>(),
                            "'; write sc::device_mapping<0, 1, 0>, with one whole number for each stage");
    } else if constexpr (!requires { std::remove_cvref_t<decltype(Devices)>::devices; }) {
      result.problem.report(2018, "the device of each stage is given as a value of type '",
                            type_name<std::remove_cvref_t<decltype(Devices)>>(),
                            "'; write sc::device_mapping<0, 1, 0>, with one number for each stage");
    } else if constexpr (std::same_as<assignment_type, no_stages>) {
    } else if constexpr (assigns_by_function<assignment_type, decltype(current_assignment<M>())>) {
      auto assignment = current_assignment<M>();
      Assignment(assignment);
      int index = 0;
      for (auto const& entry : assignment) {
        check_entry(entry, index++, result.problem);
        result.of_call[entry.call] = entry.pipeline_stage;
      }
    } else if constexpr (has_wrong_parameter<assignment_type, decltype(current_assignment<M>())>) {
      result.problem.report(2017,
                            "the function that assigns the stages does not take the assignment by reference, so that "
                            "it cannot change it; write [](auto& assignment) { ... }");
    } else if constexpr (is_stage_list<assignment_type>) {
      if constexpr (is_list_of_stages<assignment_type>) {
        auto const tokens = tokens_of(Assignment);
        stage_list_reader(graph_of<M>, tokens, result.of_call, result.problem).read();
      } else {
        result.problem.report(2019,
                              "the list of stages has an entry that is neither a number nor a list for a nested model; "
                              "write stages<0, 1> or stages<0, stages<0, 1>, 1>");
      }
    } else if constexpr (is_range_of_stages<assignment_type>) {
      read_range(result);
    } else if constexpr (requires {
                           Assignment.template assign_stages<M>(tracing::array_view<int>{}, result.problem);
                         }) {
      // A rule for any model, such as that of manual_pipeline.
      Assignment.template assign_stages<M>(tracing::array_view<int>(result.of_call), result.problem);
    } else {
      result.problem.report(
          2016, "the stages are given as a value of type '", type_name<assignment_type>(),
          "'; give stages<0, 0, 1>, a function [](auto& assignment) { ... }, an assignment got from a "
          "model, or an array of numbers");
    }
    return result;
  }

 private:
  /// E2057: an entry that was got from no model.
  static constexpr void check_entry(auto const& entry, int index, diagnostic& problem) {
    if constexpr (requires { entry.graph == nullptr; })
      if (entry.graph == nullptr)
        problem.report(
            2057, "entry ", index, " of the stage assignment of model '", graph_of<M>.name(),
            "' is empty; an assignment is got from a model, get_pipeline_stage_assignment<model>(), and only "
            "pipeline_stage is changed in it");
  }
  /// An assignment got from a model and edited, or written, or an array of stages.
  static constexpr void read_range(auto& result) {
    auto const& order = graph_of<M>.order;
    check_kind_of_entries<std::remove_cvref_t<decltype(Assignment[0])>>(graph_of<M>, result.problem);
    if (Assignment.size() != order.size()) {
      result.problem.report(2001, "the stage assignment of model '", graph_of<M>.name(), "' has ",
                            static_cast<int>(Assignment.size()), " entries, but ", static_cast<int>(order.size()),
                            " calls of layers need one (inputs are not counted)");
      return;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      if constexpr (std::integral<std::remove_cvref_t<decltype(Assignment[0])>>) {
        result.of_call[order[i]] = Assignment[i];
      } else {
        auto const& entry = Assignment[i];
        check_entry(entry, static_cast<int>(i), result.problem);
        if (result.problem.failed()) return;
        auto const& expected = graph_of<M>.layer_of(order[i]);
        if (entry.layer_name() != expected.name.view() || entry.node_index() != graph_of<M>.call(order[i]).node_index)
          result.problem.report(
              2002, "entry ", static_cast<int>(i), " of the stage assignment is for layer '", entry.layer_name(),
              "' (node index ", entry.node_index(), "), but in this model layer '", expected.name, "' (node index ",
              graph_of<M>.call(order[i]).node_index, ") stands there; an assignment has the model's post-order");
        result.of_call[order[i]] = entry.pipeline_stage;
      }
    }
  }
};

/// One output of several is in the stage of the call that makes it.
template <class M>
constexpr auto stages_of_all_calls() {
  auto result = staging<M>::stages();
  for (std::size_t i = 0; i < result.of_call.size(); ++i)
    result.of_call[i] = result.of_call[graph_of<M>.producer(static_cast<int>(i))];
  return result;
}
template <class M>
inline constexpr auto staged_calls = stages_of_all_calls<M>();

template <class M>
constexpr auto list_assignment() {
  std::array<layer_pipeline_stage_assignment, graph_of<M>.order.size()> result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    int const call = graph_of<M>.order[i];
    result[i] = {&graph_of<M>, call, staged_calls<M>.of_call[call]};
  }
  return result;
}

template <class M>
constexpr auto current_assignment() {
  if constexpr (is_invalid<M>)
    return any_assignment{{&graph_of<M>, 0, unassigned}};
  else
    return list_assignment<M>();
}

/// The first rule of stages that a model breaks (codes E2xxx).
template <class M>
inline constexpr diagnostic stage_problem = [] {
  auto const& calls_staged = staged_calls<M>;
  if (!calls_staged.pipelined || calls_staged.problem.failed()) return calls_staged.problem;
  return validate_stages({graph_of<M>, calls_staged.of_call, staging<M>::devices, staging<M>::beside});
}();

/// True if a model or its stages have had a compile error.
template <class M>
inline constexpr bool has_invalid_stages = is_invalid<M> || stage_problem<M>.failed();

template <class M>
inline constexpr std::array<int, graph_of<M>.calls.size()> all_in_stage_0{};

template <class M>
constexpr staged_graph staged_view() {
  static_assert(report<stage_problem<M>>());
  if constexpr (has_invalid_stages<M>)
    return {graph_of<M>, all_in_stage_0<M>, {}, {}};
  else
    return {graph_of<M>, staged_calls<M>.of_call, staging<M>::devices, staging<M>::beside};
}

/// A number asked of a model's stages; equal to everything where they have had a compile error.
template <class M>
using stage_answer = std::conditional_t<has_invalid_stages<M>, any_number, int>;

template <class M>
inline constexpr staged_graph checked_stages = staged_view<M>();

template <class M>
struct without_stages {
  using type = pipelined_model<M, no_stages{}, device_mapping<>>;
};
template <class M, auto Assignment, auto Devices>
struct without_stages<pipelined_model<M, Assignment, Devices>> : without_stages<M> {};

/// E2015: the first argument of `pipelined` is no model.
template <class T>
inline constexpr diagnostic no_model_problem = [] {
  diagnostic problem;
  problem.report(2015, "pipelined<...> is given the type '", type_name<T>(),
                 "', which is not a model; a model is "
                 "sequential<...>, a struct with base functional<...>, or build<...> of a model subclass");
  return problem;
}();

/// The first problem of a pipelined model: that of the model itself, or that of its stages.
template <class M, auto Assignment, auto Devices>
constexpr diagnostic const& pipeline_problem() {
  if constexpr (!Model<M>)
    return no_model_problem<M>;
  else if constexpr (is_invalid<M>)
    return frozen_graph<typename traced_model<M>::type>.problem;
  else
    return stage_problem<pipelined_model<M, Assignment, Devices>>;
}

template <class M>
using model_or_stand_in = std::conditional_t<Model<M>, M, not_a_model>;

template <Model M, auto Assignment, auto Devices>
constexpr auto pipelined_model<M, Assignment, Devices>::trace(model_builder& builder,
                                                              tracing::array_view<symbolic_tensor const> bound) {
  if constexpr (has_invalid_stages<pipelined_model>) {
    builder.problem.already_reported();
    return decltype(M::trace(builder, bound)){};
  } else {
    constexpr auto const& staged = staged_calls<pipelined_model>;
    return trace_with_stages<M>(builder, bound,
                                {.pipelined = staged.pipelined,
                                 .of_call = staged.of_call,
                                 .maps_devices = !staging<pipelined_model>::devices.empty()});
  }
}

/// The devices that an assignment brings along, as that of a solution file does.
template <class Assignment>
inline constexpr device_list<> devices_with{};

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Keras on IPU's `set_pipeline_stage_assignment`: a model with a stage for each of its layers' calls. `Assignment` is
/// - `stages<0, 0, 1>`: in Keras's order, see pipeline/stages.hpp;
/// - a function that edits the model's present assignment: `[](auto& assignment) { ... }`;
/// - an assignment got from a model, or an array of stages;
/// - `solution_file<text>`, see pipeline/solution_file.hpp.
/// `Devices` is the device of each stage: `device_mapping<0, 1, 0>`; `device_mapping<0, parallel<1, 2>, 3>` for stages
/// 1 and 2 at the same time.
///
/// Checked where it is named: E2001 length, E2002 order, E2003 every call assigned, E2004 uses a later stage, E2005 a
/// stage is left out, E2006 and E2007 order of a sequential model, E2008 at least two stages, E2009 and E2014 device
/// mapping, E2010 shared weights on one device, E2012 negative stage, E2066 to E2068 parallel stages; E2015 to E2019
/// arguments that are something else.
template <class M, auto Assignment, auto Devices = detail::devices_with<std::remove_cvref_t<decltype(Assignment)>>,
          class Verdict = typename detail::early_verdict<detail::pipeline_problem<M, Assignment, Devices>()>::checked>
using pipelined =
    typename Verdict::template model<pipeline::pipelined_model<detail::model_or_stand_in<M>, Assignment, Devices>>;

/// Keras on IPU's `reset_pipeline_stage_assignment`: the same model without stages.
template <Model M>
using unpipelined = typename detail::without_stages<M>::type;

/// Keras on IPU's `get_pipeline_stage_assignment`: a std::array of layer_pipeline_stage_assignment in Keras's order.
/// A copy: change it and give it to `pipelined` again. Without stages, each entry is unassigned.
template <Model M>
constexpr auto get_pipeline_stage_assignment() {
  return detail::current_assignment<M>();
}

/// True if a model has pipeline stages.
template <Model M>
inline constexpr bool is_pipelined = detail::staged_calls<M>.pipelined;

}  // namespace stagecraft

namespace stagecraft::pipeline {

template <class M, int Call>
constexpr int stage_of_call() {
  if constexpr (has_invalid_stages<M>)
    return checked_stages<M>.stage(0);
  else
    return checked_stages<M>.stage(existing_call<M, Call>());
}

/// E2023: a stage that the model does not have.
template <class M, int Stage>
inline constexpr diagnostic stage_number_problem = [] {
  diagnostic problem;
  if (!has_invalid_stages<M> && (Stage < 0 || Stage >= checked_stages<M>.stage_count()))
    problem.report(2023, "model '", graph_of<M>.name(), "' has no pipeline stage ", Stage, "; it has ",
                   checked_stages<M>.stage_count(), " stages, numbered from 0");
  return problem;
}();

template <class M, int Stage>
constexpr int device_of_stage() {
  static_assert(report<stage_number_problem<M, Stage>>());
  return has_invalid_stages<M> || stage_number_problem<M, Stage>.failed() ? 0 : checked_stages<M>.device(Stage);
}

template <class M, int Stage>
constexpr std::size_t count_calls_of_stage() {
  std::size_t count = 0;
  for (int const call : graph_of<M>.order) count += checked_stages<M>.stage(call) == Stage ? 1 : 0;
  return count;
}

template <class M, int Stage>
constexpr auto list_calls_of_stage() {
  if constexpr (has_invalid_stages<M>) {
    return any_calls{checked_stages<M>.stages.size()};
  } else {
    std::array<int, count_calls_of_stage<M, Stage>()> result{};
    std::size_t count = 0;
    for (int const call : graph_of<M>.order)
      if (checked_stages<M>.stage(call) == Stage) result[count++] = call;
    return result;
  }
}

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Number of pipeline stages, 0 for a model without.
template <Model M>
inline constexpr detail::stage_answer<M> pipeline_stages{detail::checked_stages<M>.stage_count()};

/// The stage of one call; `unassigned` for a model without stages and for inputs.
template <Model M, int Call>
inline constexpr detail::stage_answer<M> stage_of{detail::stage_of_call<M, Call>()};

/// The device of a stage.
template <Model M, int Stage, class = typename detail::verdict_on<detail::stage_number_problem<M, Stage>>::checked>
inline constexpr detail::stage_answer<M> device_of{detail::device_of_stage<M, Stage>()};

/// The calls of one stage in Keras's order, as a std::array<int, n>.
template <Model M, int Stage>
inline constexpr auto calls_of_stage = detail::list_calls_of_stage<M, Stage>();

}  // namespace stagecraft
