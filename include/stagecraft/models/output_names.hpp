// SPDX-License-Identifier: BSD-3-Clause
// What the outputs of a model are called in logs: Keras's `model.output_names`.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <array>
#include <cstddef>

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
