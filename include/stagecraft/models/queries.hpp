// SPDX-License-Identifier: BSD-3-Clause
// What a model's graph knows, at type level: the layer, shape and inputs of each call, the weights. With these, users
// write their own concepts, overloads and static_asserts about models. Level 3.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <stagecraft/graph/layer.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {

/// Number of calls of layers in a model, its inputs included.
template <Model M>
inline constexpr int call_count = static_cast<int>(graph_of<M>.calls.size());

namespace detail {

template <class L>
struct collector_of final : layer_collector {
  constexpr collector_of() { wanted = tag_of<L>; }
  constexpr void take(layer_base const& layer) override { values.push_back(static_cast<L const&>(layer)); }
  std::vector<L> values;
};

template <class M, class L>
constexpr std::size_t count_layers() {
  std::size_t count = 0;
  for (auto const& layer : graph_of<M>.layers)
    if (layer.type == tag_of<L> && static_cast<std::size_t>(layer.index_in_type) + 1 > count)
      count = static_cast<std::size_t>(layer.index_in_type) + 1;
  return count;
}

// One more trace per layer type, not per layer.
template <class M, class L, std::size_t... Index>
constexpr std::array<L, sizeof...(Index)> collect_layers(std::index_sequence<Index...>) {
  collector_of<L> collector;
  trace_model<M>(&collector);
  return {collector.values[Index]...};
}

/// All layers of one type in a model, with their options.
template <class M, class L>
inline constexpr auto layers_of_type = collect_layers<M, L>(std::make_index_sequence<count_layers<M, L>()>{});

/// The model that was traced: of a pipelined one, the model without its stages.
template <class M>
struct traced_model {
  using type = M;
};
template <class M>
  requires requires { typename M::unstaged; }
struct traced_model<M> : traced_model<typename M::unstaged> {};

template <type_tag const* Tag>
struct layer_type {
  using type = type_of_tag<Tag>;
};
template <>
struct layer_type<nullptr> {
  using type = layers::input;
};

template <class M, int Call, class L>
constexpr L layer_value() {
  constexpr auto const& info = graph_of<M>.layer_of(Call);
  if constexpr (info.type == nullptr)
    return L(graph_of<M>.call(Call).shape, graph_of<M>.call(Call).type, info.name.view());
  else
    return layers_of_type<typename traced_model<M>::type, L>[static_cast<std::size_t>(info.index_in_type)];
}

}  // namespace detail

/// The type of the layer of one call: `static_assert(std::same_as<sc::layer_t<mlp, 2>, sc::layers::dense>)`. Calls are
/// numbered from 0 in the order in which they were made; inputs count.
template <Model M, int Call>
using layer_t = typename detail::layer_type<graph_of<M>.layer_of(Call).type>::type;

/// The layer of one call, with its options.
template <Model M, int Call>
inline constexpr layer_t<M, Call> layer_of = detail::layer_value<M, Call, layer_t<M, Call>>();

/// The shape of one call's output, without the batch.
template <Model M, int Call>
inline constexpr shape const& output_shape_of = graph_of<M>.call(Call).shape;

namespace detail {

template <std::size_t Count>
constexpr std::array<int, Count> to_array(std::span<int const> values) {
  std::array<int, Count> result{};
  for (std::size_t i = 0; i < Count; ++i) result[i] = values[i];
  return result;
}

}  // namespace detail

/// The calls whose outputs one call takes, as a std::array<int, n>.
template <Model M, int Call>
inline constexpr auto inputs_of = detail::to_array<graph_of<M>.inputs_of(Call).size()>(graph_of<M>.inputs_of(Call));

/// The calls whose outputs are the model's, as a std::array<int, n>.
template <Model M>
inline constexpr auto outputs_of = detail::to_array<graph_of<M>.outputs_of(0).size()>(graph_of<M>.outputs_of(0));

/// The call of the layer with this name and node index, or -1.
template <Model M>
constexpr int find_call(std::string_view layer_name, int node_index = 0) {
  for (int i = 0; i < call_count<M>; ++i)
    if (graph_of<M>.layer_of(i).name == layer_name && graph_of<M>.call(i).node_index == node_index) return i;
  return -1;
}

/// Number of weights (floats) of a model: Keras's `count_params`.
template <Model M>
constexpr long long count_parameters() {
  long long count = 0;
  for (auto const& weight : graph_of<M>.parameters) count += weight.size();
  return count;
}

}  // namespace stagecraft
