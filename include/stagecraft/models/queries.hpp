// SPDX-License-Identifier: BSD-3-Clause
// Queries of a model's graph at type level: the layer, shape and inputs of each call, the weights, the names of
// outputs. Users write their own concepts, overloads and static_asserts about models with them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/stand_in.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::models {

/// The type of an answer: T, or a stand-in for a model that has had its compile error.
template <class M, class T, class StandIn>
using answer = std::conditional_t<is_invalid<M>, StandIn, T>;

/// E1024: a call that the model does not have.
template <class M, int Call>
inline constexpr diagnostic call_problem = [] {
  diagnostic problem;
  int const count = static_cast<int>(graph_of<M>.calls.size());
  if (!is_invalid<M> && (Call < 0 || Call >= count))
    problem.report(1024, "model '", graph_of<M>.name(), "' has no call ", Call, "; its calls are numbered from 0 to ",
                   count - 1, ", inputs included",
                   Call == -1 ? "; find_call gives -1 for a name that no layer has" : "");
  return problem;
}();

/// The first problem of a question about a call: that of the model, or of the call's number.
template <class M, int Call>
constexpr diagnostic const& question_problem() {
  if constexpr (is_invalid<M>)
    return frozen_graph<typename traced_model<M>::type>.problem;
  else
    return call_problem<M, Call>;
}

/// A call that can be asked for: `Call` itself, unless the model does not have it.
template <class M, int Call>
constexpr int existing_call() {
  static_assert(report<call_problem<M, Call>>());
  return Call >= 0 && Call < static_cast<int>(graph_of<M>.calls.size()) ? Call : 0;
}

}  // namespace stagecraft::models

namespace stagecraft {

/// Number of calls of layers in a model, its inputs included.
template <Model M>
inline constexpr std::conditional_t<detail::is_invalid<M>, detail::any_number, int> call_count{
    static_cast<int>(graph_of<M>.calls.size())};

}  // namespace stagecraft

namespace stagecraft::models {

template <class L>
struct collector_of final : layer_collector {
  constexpr collector_of() { wanted = tag_of<L>; }
  collector_of(collector_of const&) = delete;
  collector_of& operator=(collector_of const&) = delete;
  constexpr ~collector_of() {
    for (layer_base const* each : copies_) delete static_cast<L const*>(each);
  }
  constexpr void take(layer_base const& layer) override {
    auto* const copy = new L(static_cast<L const&>(layer));
    if constexpr (requires { copy->freeze_wrapped(); })
      if (!copy->trainable) copy->freeze_wrapped();
    copies_.push_back(copy);
  }
  constexpr L const& operator[](std::size_t index) const { return static_cast<L const&>(*copies_[index]); }

 private:
  growing_array<layer_base const*> copies_;  // of one type, for all types of layers
};

template <class M, class L>
constexpr std::size_t count_layers() {
  std::size_t count = 0;
  for (auto const& layer : graph_of<M>.layers)
    if (same_type(layer.type, tag_of<L>) && static_cast<std::size_t>(layer.index_in_type) + 1 > count)
      count = static_cast<std::size_t>(layer.index_in_type) + 1;
  return count;
}

// One more trace per layer type, not per layer.
template <class M, class L, std::size_t... Index>
constexpr std::array<L, sizeof...(Index)> collect_layers(std::index_sequence<Index...>) {
  collector_of<L> collector;
  trace_model<M>(&collector, frozen_graph<M>.traced_calls);
  return {collector[Index]...};
}

/// All layers of one type in a model, with their options.
template <class M, class L>
inline constexpr auto layers_of_type = collect_layers<M, L>(std::make_index_sequence<count_layers<M, L>()>{});

/// The layer that makes a call: its type, and which one of that type. Of a model that has had its compile error too, as
/// far as its calls are known.
struct layer_place {
  type_tag const* type = no_type;
  int index_in_type = 0;
};

template <class M, int Call>
constexpr layer_place place_of_layer() {
  using traced = typename traced_model<M>::type;
  if constexpr (!is_invalid<M>) {
    auto const& layer = graph_of<M>.layer_of(existing_call<M, Call>());
    return {layer.type, layer.index_in_type};
  } else {
    if constexpr (!definition_problem<traced, 0>.failed() && graph_of<M>.calls.size() > 0) {
      auto const graph = trace_model<traced>();
      if (Call >= 0 && Call < static_cast<int>(graph.calls.size())) {
        auto const& layer = graph.layers[graph.calls[Call].layer];
        return {layer.type, layer.index_in_type};
      }
    }
    return {};
  }
}

// Named, so that the compiler keeps the name where Call is not known yet, and not the graph.
template <class M, int Call>
inline constexpr type_tag const* layer_tag = place_of_layer<M, Call>().type;

template <type_tag const* Tag>
struct layer_type {
  using type = type_of_tag<Tag>;
};
template <>
struct layer_type<no_type> {
  using type = layers::input;
};

template <class M, int Call, class L>
constexpr L layer_value() {
  constexpr auto place = place_of_layer<M, Call>();
  using traced = typename traced_model<M>::type;
  if constexpr (is_invalid<M> && !same_type(place.type, no_type)) {
    collector_of<L> collector;
    trace_model<traced>(&collector);
    return collector[static_cast<std::size_t>(place.index_in_type)];
  } else if constexpr (!same_type(place.type, no_type)) {
    return layers_of_type<traced, L>[place.index_in_type];
  } else {
    constexpr int call = is_invalid<M> ? 0 : existing_call<M, Call>();
    return L(graph_of<M>.call(call).shape, graph_of<M>.call(call).type, graph_of<M>.layer_of(call).name.view());
  }
}

template <class M, int Call>
constexpr auto const& shape_of_call() {
  if constexpr (is_invalid<M>) {
    static_assert(!graph_of<M>.calls.empty());  // looks at the graph, so that the error comes
    return anything<shape>;
  } else {
    return graph_of<M>.call(existing_call<M, Call>()).shape;
  }
}

}  // namespace stagecraft::models

namespace stagecraft {

/// The type of the layer of one call: `static_assert(std::same_as<sc::layer_t<mlp, 2>, sc::layers::dense>)`. Calls are
/// numbered from 0 in the order in which they were made; inputs count.
template <Model M, int Call, class = typename detail::verdict_on<detail::question_problem<M, Call>()>::checked>
using layer_t = typename detail::layer_type<detail::layer_tag<M, Call>>::type;

/// The layer of one call, with its options.
template <Model M, int Call, class = typename detail::verdict_on<detail::question_problem<M, Call>()>::checked>
inline constexpr layer_t<M, Call> layer_of = detail::layer_value<M, Call, layer_t<M, Call>>();

/// The shape of one call's output, without the batch.
template <Model M, int Call, class = typename detail::verdict_on<detail::question_problem<M, Call>()>::checked>
inline constexpr auto const& output_shape_of = detail::shape_of_call<M, Call>();

}  // namespace stagecraft

namespace stagecraft::models {

template <std::size_t Count>
constexpr std::array<int, Count> to_array(tracing::array_view<int const> values) {
  std::array<int, Count> result{};
  for (std::size_t i = 0; i < Count; ++i) result[i] = values[i];
  return result;
}

template <class M, int Call>
constexpr auto inputs_of_call() {
  if constexpr (is_invalid<M>)
    return any_calls{graph_of<M>.calls.size()};
  else
    return to_array<graph_of<M>.inputs_of(existing_call<M, Call>()).size()>(
        graph_of<M>.inputs_of(existing_call<M, Call>()));
}

template <class M>
constexpr auto outputs_of_model() {
  if constexpr (is_invalid<M>)
    return any_calls{graph_of<M>.calls.size()};
  else
    return to_array<graph_of<M>.outputs_of(0).size()>(graph_of<M>.outputs_of(0));
}

}  // namespace stagecraft::models

namespace stagecraft {

/// The calls whose outputs one call takes, as a std::array<int, n>.
template <Model M, int Call>
inline constexpr auto inputs_of = detail::inputs_of_call<M, Call>();

/// The calls whose outputs are the model's, as a std::array<int, n>.
template <Model M>
inline constexpr auto outputs_of = detail::outputs_of_model<M>();

/// The call of the layer with this name and node index, or -1.
template <Model M>
constexpr detail::answer<M, int, detail::any_number> find_call(std::string_view layer_name, int node_index = 0) {
  for (int i = 0; i < static_cast<int>(graph_of<M>.calls.size()); ++i)
    if (graph_of<M>.layer_of(i).name == layer_name && graph_of<M>.call(i).node_index == node_index) return {i};
  return {detail::is_invalid<M> ? 0 : -1};
}

/// True if a model keeps states from batch to batch: Keras's `model.stateful`.
template <Model M>
inline constexpr bool is_stateful = graph_of<M>.is_stateful();

/// Number of weights (floats) of a model: Keras's `count_params`.
template <Model M>
constexpr detail::answer<M, long long, detail::any_number> count_parameters() {
  detail::answer<M, long long, detail::any_number> count{0};
  if constexpr (!detail::is_invalid<M>)
    for (auto const& weight : graph_of<M>.parameters) count += weight.counted_size();
  else
    static_assert(!graph_of<M>.calls.empty());  // looks at the graph, so that the error comes
  return count;
}

}  // namespace stagecraft

namespace stagecraft::models {

/// An output of a functional or sequential model is called after the layer that it comes from, where a nested model
/// counts as a layer; a name that an output before has gets a number. Keras does not know the layers of a subclass.
template <class M>
constexpr auto name_outputs() {
  constexpr auto const& graph = graph_of<M>;
  std::array<fixed_name, graph.outputs_of(0).size()> names{}, layers{};
  graph_records const records{graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (graph.kind() == model_kind::subclass) {
      names[i] = fixed_name("output_").append(static_cast<int>(i) + 1);
      continue;
    }
    int const call = graph.outputs_of(0)[i];
    int const child = post_order::child_holding(records, call, 0);
    layers[i] = child > 0 ? graph.nested_models[child].name : graph.layer_of(call).name;
    names[i] = layers[i];
    int number = 1;
    for (std::size_t k = 0; k < i; ++k)
      if (layers[k] == layers[i] && !(names[k] == layers[i])) ++number;
    for (std::size_t k = 0; k < i; ++k)
      if (names[k] == names[i]) {
        names[i] = fixed_name(layers[i]).append('_').append(number++);
        k = static_cast<std::size_t>(-1);  // from the first one again
      }
  }
  return names;
}

/// The names of a model's outputs, as a std::array<fixed_name, n>.
template <Model M>
inline constexpr auto output_names = name_outputs<M>();

}  // namespace stagecraft::models
