// SPDX-License-Identifier: BSD-3-Clause
// Compile errors of trainers, predictors and their runs: the first rule that a model, its stages and its description
// break; models that cannot train on a single batch; options that `fit`, `evaluate` and `predict` do not have.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/job_on.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/description/training_checks.hpp>
#include <stagecraft/diagnostics/any_argument.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft::trainers {

/// Reports E4084 for options that do not exist.
template <class Options>
struct wrong_run_options {
  static constexpr diagnostic problem = [] {
    constexpr std::string_view function = std::is_same_v<Options, fit_options>        ? "fit"
                                          : std::is_same_v<Options, evaluate_options> ? "evaluate"
                                                                                      : "predict";
    diagnostic problem;
    problem.report(4084, function,
                   " is given an option that it does not have, or one of another type; its options, in ",
                   "this order: ", Options::order,
                   std::is_same_v<Options, predict_options> ? "; a dataset has no batch_size among them" : "");
    return problem;
  }();
};

/// Reports E4140 for `Function`, fit or evaluate. The options for datasets are in a header that this one does not
/// include.
template <fixed_name Function>
struct wrong_streamed_options {
  static constexpr diagnostic problem = [] {
    bool const fits = Function == "fit";
    diagnostic problem;
    problem.report(4140, Function.view(),
                   " is given a dataset with an option that it does not have there, or arrays without labels; its "
                   "options for a dataset, in this order: ",
                   fits ? "epochs, verbose, callbacks, validation_data, class_weight, initial_epoch, steps_per_epoch, "
                          "validation_steps, validation_freq, drop_remainder"
                        : "verbose, steps, callbacks",
                   "; the dataset's own batch(n) says the batch size");
    return problem;
  }();
};

/// Reports E4030 for a layer without a `call` that brings no loops to run it.
constexpr void check_loops(tracing::graph_view const& graph, diagnostic& problem) {
  for (auto const& layer : graph.layers)
    if (layer.loops == own_loops::missing)
      problem.report(4030, "layer '", layer.name,
                     "' has no `call`; without one, a layer that is run needs `void forward(auto const& call) const`, "
                     "see host/steps/layer_steps.hpp");
}
/// Reports E4031 for a layer without a `call` that brings no loop for its gradient, where one of its weights or of the
/// layers before it is trained.
constexpr void check_backward_loops(tracing::graph_view const& graph, diagnostic& problem) {
  tracing::growing_array<int> wants(graph.calls.size());
  for (std::size_t i = 0; i < graph.calls.size(); ++i) {
    auto const& layer = graph.layers[graph.calls[i].layer];
    for (auto const& weight : graph.parameters_of(graph.calls[i].layer)) wants[i] |= weight.trainable ? 1 : 0;
    for (int const from : graph.inputs_of(static_cast<int>(i))) wants[i] |= wants[static_cast<std::size_t>(from)];
    if (wants[i] != 0 && layer.loops == own_loops::forward)
      problem.report(4031, "layer '", layer.name,
                     "' has no `call`; without one, a layer that is trained needs `void backward(auto const& call) "
                     "const`, see host/steps/layer_steps.hpp");
  }
}

/// Why `fit` cannot train a model that can be evaluated: E2022, E2026, E4031.
template <class M, auto Training>
inline constexpr diagnostic trained_run_problem = [] {
  diagnostic problem = fit_problem<job<M, Training>>;
  check_backward_loops(graph_of<M>, problem);
  return problem;
}();

/// Reports E2060 for single batches on a cluster, each of whose ranks would be given others; E4031.
template <class M, auto Training, class Machine>
inline constexpr diagnostic single_batch_problem = [] {
  diagnostic problem;
  if constexpr (requires { policy_of<Machine>::ranks_of_cluster; })
    problem.report(2060,
                   "train_on_batch is called on a cluster; fit divides the same samples among its ranks, and so gives "
                   "each of them its own");
  check_backward_loops(graph_of<M>, problem);
  return problem;
}();

/// The model of a trainer's session. Models that differ in stages that they do not have share one: that of the model
/// itself, unless its own code gives it stages.
template <class M>
using model_of_session = std::conditional_t<is_pipelined<M> || is_pipelined<typename traced_model<M>::type>, M,
                                            typename traced_model<M>::type>;
template <class M, auto Description, class Machine>
using session_of_run = session_of<model_of_session<M>, Description, Machine>;

/// Reports E4094 for a description of the other kind.
template <auto Description, bool Trains>
inline constexpr diagnostic kind_of_description_problem = [] {
  diagnostic problem;
  constexpr bool infers = only_infers<Description>;
  if (Trains && infers)
    problem.report(4094,
                   "a trainer is given a description of an inference, which says nothing of a loss and an optimizer; "
                   "name a sc::training, or an sc::predictor of the model");
  if (!Trains && !infers)
    problem.report(4094,
                   "a predictor is given what is no description of an inference; name a sc::inference{.batch_size = "
                   "...}, or an sc::trainer of the model");
  return problem;
}();

/// Reports E4092 for a machine of which only the description is included, and E4030.
template <class M, class Machine>
inline constexpr diagnostic execution_problem = [] {
  diagnostic problem;
  if (!is_carried_out<Machine>)
    problem.report(4092,
                   "a model is trained on emulated IPUs, but how they carry out its steps is not included: "
                   "#include <stagecraft/ipu.hpp>");
  check_loops(graph_of<M>, problem);
  return problem;
}();

inline constexpr diagnostic already_reported_problem = [] {
  diagnostic problem;
  problem.already_reported();
  return problem;
}();

/// The first rule that a model, its stages or its description breaks, alone or with the machine.
template <class M, auto Description, class Machine, bool Trains>
constexpr diagnostic const& run_problem() {
  if constexpr (requires { Description.is_refused; })
    return already_reported_problem;
  else if constexpr (kind_of_description_problem<Description, Trains>.failed())
    return kind_of_description_problem<Description, Trains>;
  else if constexpr (is_invalid<M>)
    return frozen_graph<typename traced_model<M>::type>.problem;
  else if constexpr (has_invalid_stages<M>)
    return stage_problem<M>;
  else if constexpr (own_activation_problem<typename traced_model<M>::type>.failed())
    return own_activation_problem<typename traced_model<M>::type>;
  else if constexpr (training_problem<typename job_on<M, Description, Machine>::described>.failed())
    return training_problem<typename job_on<M, Description, Machine>::described>;
  else if constexpr (machine_problem<job_on<M, Description, Machine>>.failed())
    return machine_problem<job_on<M, Description, Machine>>;
  else if constexpr (execution_problem<M, Machine>.failed())
    return execution_problem<M, Machine>;
  else
    return policy_of<Machine>::template memory_problem<job_on<model_of_session<M>, Description, Machine>>();
}

/// A call of a layer that declares no weights, with what a layer_call asks of a host_call. Nothing runs with it.
template <fixed_name Name, int Batch, bool Trains, shape Output, shape... Inputs>
struct weightless_call {
  struct plan {
    static constexpr bool trains = Trains;
  };
  struct call_plan {
    call_needs needs;
  };
  static constexpr fixed_name layer_name = Name;
  static constexpr call_plan planned{};
  static constexpr int batch = Batch, size = Output.size(), input_count = sizeof...(Inputs), parameter_count = 0;
  static constexpr bool has_saved = Trains;
  static constexpr shape shapes[]{Output, Inputs...};

  [[nodiscard]] static constexpr shape const& output_shape() { return shapes[0]; }
  [[nodiscard]] static constexpr shape const& input_shape(int index) { return shapes[index + 1]; }
  [[nodiscard]] static constexpr bool wants_input_gradient(int) { return true; }
  [[nodiscard]] static constexpr long long stored_floats(int) { return 0; }
  [[nodiscard]] float const* input(int) const { return nullptr; }
  [[nodiscard]] float* output() const { return nullptr; }
  [[nodiscard]] float* output_gradient() const { return nullptr; }
  [[nodiscard]] float* input_gradient(int) const { return nullptr; }
  [[nodiscard]] float const* weight(int) const { return nullptr; }
  [[nodiscard]] float* parameter_gradient(int) const { return nullptr; }
  [[nodiscard]] float* saved() const { return nullptr; }

  pass_memory const& memory;
};

/// Compiles the loops of a layer for a call without weights, which reports E4034. Nothing calls it.
template <own_loops Loops, class L, class Call>
void use_loops(L const& layer, cpu::layer_call<Call> const& call) {
  layer.forward(call);
  if constexpr (Call::plan::trains && Loops == own_loops::both) layer.backward(call);
}
template <own_loops Loops, class L, class Call>
struct loops_to_check {
  static constexpr bool are_used = &use_loops<Loops, L, Call> != nullptr;
};
/// The loops of a model's layers that declare no weights. The model is not among the arguments: it would be printed.
template <class... Loops>
struct all_loops_to_check {
  static constexpr bool are_used = (Loops::are_used && ...);
};

template <class M, int Call, int Batch, bool Trains, std::size_t... Input>
auto loops_of_call(std::index_sequence<Input...>)
    -> loops_to_check<graph_of<M>.layer_of(Call).loops, layer_t<M, Call>,
                      weightless_call<graph_of<M>.layer_of(Call).name, Batch, Trains, graph_of<M>.call(Call).shape,
                                      graph_of<M>.call(graph_of<M>.inputs_of(Call)[Input]).shape...>>;

/// The number of the calls whose layers bring loops of their own and declare no weights; `found`, if not null, gets
/// them.
constexpr std::size_t find_weightless_calls(tracing::graph_view const& graph, int* found = nullptr) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < graph.calls.size(); ++i) {
    auto const& layer = graph.layers[static_cast<std::size_t>(graph.calls[i].layer)];
    if (layer.loops == own_loops::unneeded || layer.parameter_count > 0) continue;
    if (found != nullptr) found[count] = static_cast<int>(i);
    ++count;
  }
  return count;
}
template <class M, std::size_t Count>
inline constexpr auto weightless_calls = [] {
  std::array<int, Count> found{};
  find_weightless_calls(graph_of<M>, found.data());
  return found;
}();

/// `are_used` of the result reports E4034, where a trainer or a predictor is named, so that no step that uses the loops
/// is printed with it.
template <class M, auto Description, class Machine, bool Trains>
constexpr auto find_loops_to_check() {
  if constexpr (run_problem<M, Description, Machine, Trains>().failed()) {
    return all_loops_to_check<>{};
  } else if constexpr (constexpr std::size_t count = find_weightless_calls(graph_of<M>); count == 0) {
    return all_loops_to_check<>{};
  } else {
    return []<std::size_t... Index>(std::index_sequence<Index...>) {
      return all_loops_to_check<
          decltype(loops_of_call<M, weightless_calls<M, count>[Index], Description.batch_size, Trains>(
              std::make_index_sequence<graph_of<M>.inputs_of(weightless_calls<M, count>[Index]).size()>{}))...>{};
    }(std::make_index_sequence<count>{});
  }
}

}  // namespace stagecraft::trainers
