// SPDX-License-Identifier: BSD-3-Clause
// The graph of a model as a constant: traced, checked and ordered once per model type; and a model under another name.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/layers/core/input.hpp>
#include <stagecraft/models/model_base.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace stagecraft::models {

template <auto... Layers>
consteval bool begins_with_input() {
  bool result = false;
  [[maybe_unused]] bool first = true;
  [[maybe_unused]] auto const see = [&](auto const& layer) {
    if (first) result = std::same_as<std::remove_cvref_t<decltype(layer)>, layers::input>;
    first = false;
  };
  [[maybe_unused]] int const seen[]{0, (see(Layers), 0)...};
  return result;
}

/// Runs a model's own code against a builder. After a broken rule, a model of one input stands in, so that what
/// follows finds something harmless.
template <class M>
constexpr traced_graph trace_model(layer_collector* collector = nullptr,
                                   tracing::array_view<known_call const> known = {}) {
  model_builder builder(collector, known);
  builder.enter(description_of_model<M>(), -1, {});
  M m{};
  leave(builder, output_tensors(m.trace(builder, {})));
  return prune(builder);
}

constexpr traced_graph stand_in(diagnostic const& problem) {
  model_builder builder;
  builder.enter({model_kind::sequential, "Sequential", "invalid_model"}, -1, {});
  symbolic_tensor const outputs[]{builder.input(shape(1))};
  builder.leave(outputs);
  auto result = prune(builder);
  result.problem = problem;
  return result;
}

template <class M>
struct make_graph {
  constexpr auto operator()() const {
    if constexpr (definition_problem<M, 0>.failed()) {
      return stand_in(definition_problem<M, 0>);
    } else {
      auto traced = trace_model<M>();
      if (traced.problem.failed()) return stand_in(traced.problem);
      return traced;
    }
  }
};

#ifdef __clang__
/// Makes what stands in for a model whose trace is no constant. Clang says that once, of `draft_of`; then it would say
/// it again of each constant that is made from it.
template <class M>
struct make_unreadable {
  constexpr auto operator()() const {
    diagnostic problem;
    problem.already_reported();
    return stand_in(problem);
  }
};

/// The records of a model, or of what stands in for it, and its problem.
template <class M>
inline constexpr auto frozen_graph = [] {
  if constexpr (requires { typename std::bool_constant<fit_in(draft_of<make_graph<M>>.sizes, {})>; })
    return freeze<make_graph<M>, draft_of<make_graph<M>>.sizes>();
  else
    return freeze<make_unreadable<M>, draft_of<make_unreadable<M>>.sizes>();
}();
#else
/// The records of a model, or of what stands in for it, and its problem.
template <class M>
inline constexpr auto frozen_graph = freeze<make_graph<M>, draft_of<make_graph<M>>.sizes>();
#endif

/// The model that was traced: of a pipelined one, the model without its stages.
template <class M>
struct traced_model {
  using type = M;
};
template <class M>
  requires requires { typename M::unstaged; }
struct traced_model<M> : traced_model<typename M::unstaged> {};

/// True if a model has had its compile error. What is asked of it then has stand-ins for answers.
template <class M>
inline constexpr bool is_invalid = frozen_graph<typename traced_model<M>::type>.problem.failed();

/// Stands in for a type that is no model: a model that has had its compile error.
struct not_a_model : callable_model<not_a_model> {
  static constexpr model_kind kind = model_kind::functional;

  template <std::size_t>
  static constexpr diagnostic check_definition() {
    diagnostic problem;
    problem.already_reported();
    return problem;
  }
  static constexpr symbolic_tensor trace(model_builder&, tracing::array_view<symbolic_tensor const>) { return {}; }
};

template <class M>
constexpr auto order_calls() {
  auto const& g = frozen_graph<M>;
  auto const order = post_order({g.calls, g.inputs, g.nested_models, g.nested_inputs, g.model_outputs}).calls();
  std::array<int, count_ordered(frozen_graph<M>.calls)> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = order[i];
  return result;
}

template <class M>
inline constexpr auto call_order = order_calls<M>();

template <class M>
constexpr graph_view view_graph() {
  static_assert(report<frozen_graph<M>.problem>());
  auto const& records = frozen_graph<M>;
  return {records.layers,        records.parameters,    records.calls,         records.inputs,
          records.nested_models, records.nested_inputs, records.model_outputs, records.ends,
          records.output_shapes, records.masks,         call_order<M>};
}

}  // namespace stagecraft::models

namespace stagecraft {

/// The graph of a model: everything that is known of it. Traced at its first use; a rule that the model breaks becomes
/// one compile error there (codes E1xxx).
template <Model M>
inline constexpr tracing::graph_view graph_of = detail::view_graph<M>();

}  // namespace stagecraft

namespace stagecraft::models {

template <class M, bool Check>
constexpr diagnostic const& problem_to_report() {
  if constexpr (Check)
    return frozen_graph<M>.problem;
  else
    return definition_problem<M, 0>;
}

/// The model itself, whose layers and shapes are checked where it is named.
template <class M, bool Check = true, class Verdict = typename early_verdict<problem_to_report<M, Check>()>::checked>
using checked_model = typename Verdict::template model<M>;

/// The type that `named<...>` names.
template <fixed_text Name, Model M>
struct named_model : callable_model<named_model<Name, M>> {
  static constexpr model_kind kind = M::kind;
  static constexpr std::string_view name{Name.characters, Name.length};

  template <std::size_t Inputs>
  static constexpr diagnostic check_definition() {
    return definition_problem<M, Inputs>;
  }

  static constexpr auto trace(model_builder& builder, tracing::array_view<symbolic_tensor const> bound) {
    return M{}.trace(builder, bound);
  }
};

/// A model under a name. That of a model with stages is the name of the model itself.
template <fixed_text Name, class M>
struct with_name {
  using type = named_model<Name, M>;
};
template <fixed_text Name, class M>
  requires requires { typename M::template with_name<Name>; }
struct with_name<Name, M> {
  using type = typename M::template with_name<Name>;
};

}  // namespace stagecraft::models

namespace stagecraft {

/// A model with a name: `using mlp = sc::named<"mlp", sc::sequential<input{4}, dense{3}>>;`, Keras's
/// `Sequential([...], name="mlp")`. A functional model or a subclass can say it in a member `name`. A model that is
/// called inside another one is named there: `mlp{}.named("mlp")`.
template <fixed_text Name, Model M>
using named = typename detail::with_name<Name, M>::type;

}  // namespace stagecraft
