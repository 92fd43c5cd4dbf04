// SPDX-License-Identifier: BSD-3-Clause
// A model's weights as users see them: copies in Keras's order, and views by name over the model's own memory.
#pragma once

#include <stagecraft/description/types_of_calls.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// Appends the weights of a model's layers, and of the models inside it, in the order of Keras's `model.weights`.
constexpr void append_weights(graph_view const& graph, int model, growing_array<int>& result) {
  auto const& kind = graph.nested_models[model].kind;
  auto const append_layer = [&](int call) {
    auto const& layer = graph.layer_of(call);
    for (int i = 0; i < layer.parameter_count; ++i) {
      int const weight = layer.first_parameter + i;
      bool known = graph.parameters[weight].between_batches;
      for (int const other : result) known = known || other == weight;
      if (!known) result.push_back(weight);
    }
  };
  if (kind == model_kind::functional) {
    for (int const node :
         post_order({graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs})
             .layers(model)) {
      if (node >= 0)
        append_layer(node);
      else
        append_weights(graph, -1 - node, result);
    }
    return;
  }
  // A sequential model's layers are in their order, a subclass's in the order of their first calls.
  for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i)
    for (int at = graph.call(i).nested_model; at >= 0; at = graph.nested_models[at].parent)
      if (at == model) append_layer(i);
}

/// The number of parameters that are weights to users, or states between batches.
template <class M>
constexpr std::size_t count_weights(bool between_batches) {
  std::size_t count = 0;
  for (auto const& each : graph_of<M>.parameters) count += each.between_batches == between_batches ? 1 : 0;
  return count;
}

template <class M>
constexpr auto order_weights() {
  growing_array<int> order;
  append_weights(graph_of<M>, 0, order);
  std::array<int, count_weights<M>(false)> result{};
  std::size_t count = 0;
  for (int const weight : order) result[count++] = weight;
  return result;
}

/// The weights in Keras's order, as indices of graph_of<M>.parameters.
template <class M>
inline constexpr auto weight_order = order_weights<M>();

[[nodiscard, gnu::cold, gnu::noinline]] inline std::string name_in_layer(std::string_view layer,
                                                                         std::string_view weight) {
  std::string name(layer);
  return name.append("/").append(weight).append(":0");
}

/// Keras's name of a weight, such as "dense/kernel:0".
template <class M>
[[gnu::cold]] std::string weight_name(int weight) {
  return name_in_layer(graph_of<M>.layer(graph_of<M>.layer_of_parameter(weight)).name,
                       graph_of<M>.parameters[weight].name);
}

/// visit<Weight>(session, index) for each weight of a list, such as weight_order<M>.
template <auto const& Weights, class Session, class Visit>
void for_each_weight(Session& session, Visit&& visit) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    [[maybe_unused]] int const done[] {
      0,
      (visit.template operator()<static_cast<std::size_t>(Weights[Index])>(session, Index), 0)...
    };
  }(std::make_index_sequence<Weights.size()>{});
}

/// Gives `to` a name, a shape and zeros.
[[gnu::cold, gnu::noinline]] inline void make_room(weight_array& to, std::string name, shape const& dimensions) {
  to.name = std::move(name);
  to.shape.assign(dimensions.begin(), dimensions.end());
  to.values.resize(static_cast<std::size_t>(dimensions.size()));
}

template <class M, auto const& Weights, class Session>
[[gnu::cold]] std::vector<weight_array> copy_weights(Session const& session) {
  std::vector<weight_array> result(Weights.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    make_room(result[i], weight_name<M>(Weights[i]), graph_of<M>.parameters[Weights[i]].shape);
  for_each_weight<Weights>(session, [&]<std::size_t Weight>(Session const& from, std::size_t index) {
    from.template read_weight<Weight>(result[index].values.data());
  });
  return result;
}

/// The text of dimensions: "(2, 3)".
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of_dimensions(
    tracing::array_view<int const> dimensions) {
  std::string list = "(";
  for (int const dimension : dimensions) {
    if (list.size() > 1) list.append(", ");
    list.append(fixed_text<20>().append(dimension).view());
  }
  return list.append(")");
}

[[gnu::cold]] inline void check_weight(weight_array const& found, std::string const& name, shape const& expected) {
  if (!found.name.empty() && found.name != name)
    throw_data_error("E4009", "set_weights: expected weight '%s', found '%s'", name.c_str(), found.name.c_str());
  tracing::array_view<int const> const dimensions(expected.begin(), expected.end());
  bool same = found.shape.size() == dimensions.size();
  for (std::size_t i = 0; same && i < dimensions.size(); ++i) same = found.shape[i] == dimensions[i];
  if (!same)
    throw_data_error("E4009", "set_weights: weight '%s' has shape %s, found %s", name.c_str(),
                     text_of_dimensions(dimensions).c_str(), text_of_dimensions(found.shape).c_str());
  if (found.values.size() != static_cast<std::size_t>(expected.size()))
    throw_data_error("E4009", "set_weights: weight '%s' has %d values, found %zu", name.c_str(), expected.size(),
                     found.values.size());
}

/// Throws E5206 for a finite value that would be infinite in the half-precision type in which its weight is kept.
[[gnu::cold, gnu::noinline]] inline void check_half_values(weight_array const& found, std::string const& name,
                                                           dtype type) {
  double const end = tracing::end_of_numbers(type);
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    auto const value = static_cast<double>(found.values[i]);
    if ((value < end && value > -end) || value - value != 0) continue;
    throw_data_error("E5206", "set_weights: value %zu of weight '%s' is %s, and beyond %s, in which it is kept", i,
                     name.c_str(), diagnostics::general_digits(value, 6).c_str(), stagecraft::name(type).data());
  }
}

/// `check_names`: true if names of weights, where given, must be the model's.
template <class M, auto const& Weights, class Session>
[[gnu::cold]] void assign_weights(Session& session, std::vector<weight_array> const& weights, bool check_names = true) {
  if (weights.size() != Weights.size())
    throw_data_error("E4009", "set_weights: the model has %zu weights, found %zu", Weights.size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    check_weight(weights[i], check_names ? weight_name<M>(Weights[i]) : weights[i].name,
                 graph_of<M>.parameters[Weights[i]].shape);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (auto const type = variable_types_of<typename Session::described>[Weights[i]]; is_half(type))
      check_half_values(weights[i], weight_name<M>(Weights[i]), type);
  for_each_weight<Weights>(session, [&]<std::size_t Weight>(Session& to, std::size_t index) {
    to.template write_weight<Weight>(weights[index].values.data());
  });
}

/// The weights of a layer or nested model, found by its name.
template <class M>
constexpr growing_array<int> find_part(std::string_view name, int& count) {
  auto const& graph = graph_of<M>;
  growing_array<int> result, instances;
  for (int i = 1; i < static_cast<int>(graph.nested_models.size()); ++i) {
    auto const& model = graph.nested_models[i];
    bool known = model.name != name;
    for (int const other : instances) known = known || other == model.instance;
    if (known) continue;
    instances.push_back(model.instance);
    if (count++ == 0) append_weights(graph, i, result);
  }
  for (auto const& layer : graph.layers)
    if (layer.name == name && count++ == 0)
      for (int i = 0; i < layer.parameter_count; ++i)
        if (!graph.parameters[layer.first_parameter + i].between_batches) result.push_back(layer.first_parameter + i);
  return result;
}

struct found_part {
  int count = 0;
  std::size_t weights = 0;
};
template <class M, fixed_name Name>
inline constexpr found_part part_found = [] {
  found_part found;
  found.weights = find_part<M>(Name, found.count).size();
  return found;
}();

/// Reports E1067 for a name that no layer or nested model has, or several have.
template <class M, fixed_name Name>
inline constexpr diagnostic part_name_problem = [] {
  diagnostic problem;
  if (constexpr int count = part_found<M, Name>.count; count != 1)
    problem.report(1067, "model '", graph_of<M>.name(), "' has ", count == 0 ? "no layer" : "several layers",
                   " or nested ", count == 0 ? "model" : "models", " called '", Name,
                   "'; give the one that is meant a name of its own with .named(...)");
  return problem;
}();

template <class M, fixed_name Name>
inline constexpr auto weights_of_part = [] {
  static_assert(report<part_name_problem<M, Name>>());
  int count = 0;
  auto const found = find_part<M>(Name, count);
  std::array<int, part_found<M, Name>.weights> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = found[i];
  return result;
}();

/// True if a weight has this name: "layer/weight" or, in a nested model, "model/layer/weight" with as many of the names
/// of the enclosing models as are written.
template <class M>
constexpr bool is_name_of_weight(std::string_view name, int weight) {
  auto const& graph = graph_of<M>;
  auto const strip = [&](std::string_view last) {
    if (!name.ends_with(last)) return false;
    name.remove_suffix(last.size());
    if (name.empty()) return true;
    if (!name.ends_with('/')) return false;
    name.remove_suffix(1);
    return !name.empty();
  };
  auto const& layer = graph.layer(graph_of<M>.layer_of_parameter(weight));
  if (!strip(graph.parameters[weight].name) || name.empty()) return false;
  if (!strip(layer.name)) return false;
  for (int at = graph.call(layer.first_call).nested_model; at > 0 && !name.empty();) {
    auto const& model = graph.nested_models[at];
    if (!strip(model.name)) return false;
    at = model.parent;
  }
  return name.empty();
}

struct found_weight {
  int index = -1;  ///< the first weight with the name
  int count = 0;
};

/// The weight with a name, which may end with ":0".
template <class M>
constexpr found_weight find_weight(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  found_weight found;
  for (int i = 0; i < static_cast<int>(graph_of<M>.parameters.size()); ++i)
    if (!graph_of<M>.parameters[i].between_batches && is_name_of_weight<M>(name, i) && found.count++ == 0)
      found.index = i;
  return found;
}

/// Reports E4032 for a name that no weight has, or several have.
template <class M, fixed_name Name>
inline constexpr diagnostic weight_name_problem = [] {
  diagnostic problem;
  constexpr auto found = find_weight<M>(Name);
  if (found.count == 1) return problem;
  if (found.count > 1) {
    problem.report(4032, "model '", graph_of<M>.name(), "' has ", found.count, " weights '", Name,
                   "', in different nested models; write the nested model's name before it: 'model/layer/weight'");
    return problem;
  }
  message names;
  for (int const weight : weight_order<M>) {
    names.append(names.empty() ? "" : ", ")
        .append(graph_of<M>.layer(graph_of<M>.layer_of_parameter(weight)).name.view());
    names.append('/').append(graph_of<M>.parameters[weight].name.view());
    if (names.length > 200) {
      names.append(", ...");
      break;
    }
  }
  problem.report(4032, "model '", graph_of<M>.name(), "' has no weight '", Name, "'; it has ", names);
  return problem;
}();

template <int Rank>
std::array<std::size_t, std::size_t{Rank}> extents_of(shape const& dimensions) {
  std::array<std::size_t, std::size_t{Rank}> extents{};
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    extents[axis] = static_cast<std::size_t>(dimensions[static_cast<int>(axis)]);
  return extents;
}

template <class M, fixed_name Name, class Session>
auto view_weight(Session& session) {
  constexpr int index = find_weight<M>(Name).index;
  static_assert(report<weight_name_problem<M, Name>>());
  constexpr auto weight = static_cast<std::size_t>(index < 0 ? 0 : index);
  constexpr auto const& dimensions = graph_of<M>.parameters[weight].shape;
  if constexpr (Session::template is_packed<weight>) {
    // The layout in memory is (group, panel, row, lane); users see the rows first, then the columns, without those that
    // only fill a panel.
    using packed = typename Session::template packed<weight>;
    using matrix = typename packed::matrix;
    constexpr std::size_t groups{packed::groups}, panels{matrix::panels}, rows{packed::rows},
        lanes{matrix::panel_columns};
    std::array<std::size_t, 4> const extents{groups, panels, rows, lanes};
    std::array<std::ptrdiff_t, 4> const strides{groups == 1 ? 0 : matrix::size, panels == 1 ? 0 : matrix::panel_stride,
                                                rows == 1 ? 0 : matrix::panel_columns, 1};
    auto stored =
        xt::adapt(session.weight(weight), groups * panels * rows * lanes, xt::no_ownership(), extents, strides);
    auto padded = xt::reshape_view(xt::transpose(std::move(stored), std::array<std::size_t, 4>{2, 0, 1, 3}),
                                   std::array<std::size_t, 3>{rows, groups, panels * lanes});
    return xt::reshape_view(xt::view(std::move(padded), xt::all(), xt::all(), xt::range(0, matrix::columns)),
                            extents_of<dimensions.rank()>(dimensions));
  } else {
    return xt::adapt(session.weight(weight), static_cast<std::size_t>(dimensions.size()), xt::no_ownership(),
                     extents_of<dimensions.rank()>(dimensions));
  }
}

}  // namespace stagecraft::trainers
