// SPDX-License-Identifier: BSD-3-Clause
// Models made of others, for fine-tuning: frozen layers, and models that end at an earlier layer. Keras counterparts:
// `layer.trainable = False`, and `Model(base.input, base.get_layer(name).output)`. No other header includes it.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/models/model_base.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/models/name_pattern.hpp>
#include <array>
#include <cstddef>
#include <string_view>

namespace stagecraft::models {

/// The class of a subclass, which its description names.
template <class M>
struct class_of_model {};
template <class M>
  requires requires { typename M::model_type; }
struct class_of_model<M> {
  using model_type = typename M::model_type;
};

/// A model that is made from another one, has its name, and takes what it takes.
template <class Derived, class M>
struct changed_model : callable_model<Derived>, class_of_model<M> {
  static constexpr model_kind kind = M::kind;
  static constexpr std::string_view name = description_of_model<M>().name;

  template <std::size_t Inputs>
  static constexpr diagnostic check_definition() {
    return definition_problem<M, Inputs>;
  }
};

// Frozen layers -------------------------------------------------------------------------------------------------------

/// The layers of a model in the order in which its code makes them, and which of them a pattern names.
template <class M, fixed_text Pattern>
struct named_layers {
  growing_array<char> matches;
  int count = 0;

  constexpr named_layers() {
    name_pattern const pattern(Pattern.view());
    model_builder builder;
    builder.enter(description_of_model<M>(), -1, {});
    M m{};
    static_cast<void>(m.trace(builder, array_view<symbolic_tensor const>{}));
    for (auto const& layer : builder.layers) {
      if (same_type(layer.type, no_type)) continue;  // an input
      matches.push_back(pattern.matches(layer.name) ? 1 : 0);
      count += matches.back();
    }
  }
};
template <class M, fixed_text Pattern>
inline constexpr int layers_named = named_layers<M, Pattern>{}.count;
template <class M, fixed_text Pattern>
inline constexpr std::size_t layers_made = named_layers<M, Pattern>{}.matches.size();
template <class M, fixed_text Pattern>
inline constexpr auto is_layer_named = [] {
  named_layers<M, Pattern> const layers;
  std::array<bool, layers_made<M, Pattern> + 1> result{};
  for (std::size_t i = 0; i < layers.matches.size(); ++i) result[i] = layers.matches[i] != 0;
  return result;
}();

template <class M, fixed_text Pattern>
constexpr bool is_frozen_layer(int made) {
  if constexpr (Pattern.empty())
    return true;
  else
    return made < static_cast<int>(layers_made<M, Pattern>) && is_layer_named<M, Pattern>[made];
}

/// The type behind `frozen<...>`.
template <class M, fixed_text Pattern>
struct frozen_model : changed_model<frozen_model<M, Pattern>, M> {
  template <class Bound = array_view<symbolic_tensor const>>
  static constexpr auto trace(model_builder& builder, Bound const& bound) {
    freezing_rule rule{is_frozen_layer<M, Pattern>, builder.freezing};
    builder.freezing = &rule;
    M m{};
    auto const result = m.trace(builder, bound);
    builder.freezing = rule.outer;
    return result;
  }
};

/// E1198: a pattern that cannot be read, or that no layer's name matches. A model without an input of its own is not
/// asked.
template <class M, fixed_text Pattern>
inline constexpr diagnostic frozen_problem = [] {
  if constexpr (definition_problem<M, 0>.failed()) {
    return definition_problem<M, 0>;
  } else {
    diagnostic problem;
    if constexpr (!Pattern.empty()) {
      constexpr name_pattern pattern(Pattern.view());
      if (pattern.failed())
        problem.report(1198, "frozen<> is given the pattern '", Pattern, "', which cannot be read at character ",
                       pattern.problem_at(), ": ", pattern.problem());
      else if constexpr (frozen_graph<M>.problem.failed())
        return frozen_graph<M>.problem;
      else if (layers_named<M, Pattern> == 0)
        problem.report(1198, "frozen<> is given the pattern '", Pattern, "', but no layer of model '",
                       graph_of<M>.name(), "' has a name that begins so; its last layer is '",
                       graph_of<M>.layers[graph_of<M>.layers.size() - 1].name, "'");
    }
    return problem;
  }
}();

// Models that end earlier ---------------------------------------------------------------------------------------------

/// The number of times that a model's code has called layers before the call `of` of its graph; -1 for an input.
template <class M>
constexpr int calls_made_before(int of) {
  model_builder builder;
  builder.enter(description_of_model<M>(), -1, {});
  M m{};
  leave(builder, output_tensors(m.trace(builder, array_view<symbolic_tensor const>{})));
  int made = 0;
  for (auto& call : builder.calls)
    call.pipeline_stage = call.is_input ? -1 : made++;  // a mark that stays with the call
  return prune(builder).calls[of].pipeline_stage;
}

/// The output of a call: the call itself, or the first of its parts.
template <class M>
constexpr int first_output_of(int call) {
  auto const& graph = graph_of<M>;
  for (int i = call + 1; i < static_cast<int>(graph.calls.size()); ++i)
    if (graph.call(i).output_index == 0 && graph.producer(i) == call) return i;
  return call;
}

/// The end of a model: a call of its graph, and how many layers or models there are to choose from.
struct earlier_end {
  int call = -1;
  int count = 0;
};

/// The layer or nested model of this name; several may have it.
template <class M>
constexpr earlier_end end_named(std::string_view name) {
  auto const& graph = graph_of<M>;
  earlier_end end;
  for (auto const& layer : graph.layers)
    if (layer.name == name && graph.call(layer.first_call).output_index < 0 && !graph.call(layer.first_call).is_penalty)
      if (end.count++ == 0) end.call = first_output_of<M>(layer.first_call);
  growing_array<int> instances;
  for (std::size_t i = 1; i < graph.nested_models.size(); ++i) {
    auto const& model = graph.nested_models[i];
    bool known = model.name != name || model.output_count == 0;
    for (int const other : instances) known = known || other == model.instance;
    if (known) continue;
    instances.push_back(model.instance);
    if (end.count++ == 0) end.call = graph.model_outputs[model.first_output];
  }
  return end;
}

/// The layer or nested model before the last `removed` ones, in the order of Keras's `model.layers`.
template <class M>
constexpr earlier_end end_before(int removed) {
  auto const& graph = graph_of<M>;
  auto const& records = frozen_graph<M>;
  growing_array<int> order;
  if (graph.kind() == model_kind::functional) {
    order =
        post_order({records.calls, records.inputs, records.nested_models, records.nested_inputs, records.model_outputs})
            .layers(0);
  } else {
    for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i) {
      int at = graph.call(i).nested_model;
      if (at == 0) {
        bool const is_first = graph.layer_of(i).first_call == i;
        if (is_first && !graph.call(i).is_part() && !graph.call(i).is_penalty) order.push_back(i);
        continue;
      }
      while (graph.nested_models[at].parent > 0) at = graph.nested_models[at].parent;
      if (order.empty() || order.back() != -1 - at) order.push_back(-1 - at);
    }
  }
  earlier_end end;
  end.count = static_cast<int>(order.size());
  if (removed < 1 || removed >= end.count) return end;
  int const last = order[static_cast<std::size_t>(end.count - removed - 1)];
  if (last >= 0)
    end.call = graph.call(last).is_input ? -1 : first_output_of<M>(last);
  else
    end.call = graph.model_outputs[graph.nested_models[-1 - last].first_output];
  return end;
}

/// The type behind `without_top` and `layer_output`: `Call` of M's graph is the output.
template <class M, int Call>
struct shortened_model : changed_model<shortened_model<M, Call>, M> {
  static constexpr model_kind kind =
      M::kind == model_kind::sequential ? model_kind::sequential : model_kind::functional;

  template <class Bound = array_view<symbolic_tensor const>>
  static constexpr symbolic_tensor trace(model_builder& builder, Bound const& bound) {
    constexpr int wanted = calls_made_before<M>(Call);
    auto const first = static_cast<int>(builder.calls.size());
    M m{};
    static_cast<void>(m.trace(builder, bound));
    int made = 0;
    for (int i = first; i < static_cast<int>(builder.calls.size()); ++i)
      if (!builder.calls[i].is_input && made++ == wanted) return {&builder, i};
    return {&builder, first};
  }
};

/// E1199: no layer has the name, or several have it.
template <class M, fixed_text Name>
inline constexpr diagnostic named_end_problem = [] {
  if constexpr (frozen_graph<M>.problem.failed()) {
    return frozen_graph<M>.problem;
  } else {
    diagnostic problem;
    constexpr auto end = end_named<M>(Name.view());
    if (end.count != 1)
      problem.report(1199, "layer_output<> is asked for '", Name, "', but model '", graph_of<M>.name(), "' has ",
                     end.count == 0 ? "no layer" : "several layers", " of this name; its last layer is '",
                     graph_of<M>.layers[graph_of<M>.layers.size() - 1].name, "'");
    else if (graph_of<M>.call(end.call).is_input)
      problem.report(1199, "layer_output<> is asked for '", Name, "', which is an input of model '", graph_of<M>.name(),
                     "'; name a layer");
    return problem;
  }
}();
/// E1199: too many layers, or none, are removed.
template <class M, int Removed>
inline constexpr diagnostic removed_problem = [] {
  if constexpr (frozen_graph<M>.problem.failed()) {
    return frozen_graph<M>.problem;
  } else {
    diagnostic problem;
    constexpr auto end = end_before<M>(Removed);
    if (end.call < 0)
      problem.report(1199, "without_top<> is to remove the last ", Removed, " layers of model '", graph_of<M>.name(),
                     "', which has ", end.count, ", inputs included; at least one is removed, and one layer stays");
    return problem;
  }
}();

template <class M, fixed_text Name>
constexpr int call_of_named_end() {
  if constexpr (named_end_problem<M, Name>.failed())
    return 0;
  else
    return end_named<M>(Name.view()).call;
}
template <class M, int Removed>
constexpr int call_of_end_before() {
  if constexpr (removed_problem<M, Removed>.failed())
    return 0;
  else
    return end_before<M>(Removed).call;
}

}  // namespace stagecraft::models

namespace stagecraft {

/// A model whose layers are not trained: Keras's `layer.trainable = False`, for each layer, or for those whose names
/// the pattern matches at their beginning, as Python's `re.match` does (models/name_pattern.hpp):
///
///     using base = sc::frozen<sc::applications::resnet50<>, "conv[1-4]_.*">;
///
/// Weights, names and shapes are those of the model, so that its weights load by name. Frozen weights have no gradients
/// and no optimizer's state. Batch normalizations among frozen layers use their moving statistics, which do not change;
/// dropout still drops, as in Keras. Layers inside models that are called count by their own names. Models with
/// pipeline stages are given their stages afterwards: `pipelined<frozen<...>, ...>`. Errors: E1198 no layer has such a
/// name.
template <Model M, fixed_text Pattern = "",
          class Verdict = typename detail::early_verdict<detail::frozen_problem<M, Pattern>>::checked>
using frozen = typename Verdict::template model<models::frozen_model<M, Pattern>>;

/// A model without its last `Removed` layers, in the order of Keras's `model.layers`: it ends with the output of the
/// layer before them, and lacks whatever that does not need. Keras's `Model(base.input, base.layers[-2].output)` is
/// `without_top<base, 1>`. It keeps the model's name. Errors: E1199 the model has not so many.
template <Model M, int Removed = 1,
          class Verdict = typename detail::early_verdict<detail::removed_problem<M, Removed>>::checked>
using without_top =
    typename Verdict::template model<models::shortened_model<M, models::call_of_end_before<M, Removed>()>>;

/// A model that ends with the output of a layer, or of a model that it calls:
/// `Model(base.input, base.get_layer(name).output)` in Keras, of a layer's first call and its first output. It keeps
/// the model's name. Errors: E1199 no layer has the name, or several have it.
template <Model M, fixed_text Name,
          class Verdict = typename detail::early_verdict<detail::named_end_problem<M, Name>>::checked>
using layer_output = typename Verdict::template model<models::shortened_model<M, models::call_of_named_end<M, Name>()>>;

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
