// SPDX-License-Identifier: BSD-3-Clause
// A traced model as one flat constexpr value, and a view of it that all rules are written against.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/graph/node.hpp>
#include <stagecraft/graph/traced_graph.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::tracing {

/// A graph of any size. Everything is an index into these spans; calls stand in the order in which they were made.
struct graph_view {
  tracing::array_view<layer_info const> layers;
  tracing::array_view<parameter const> parameters;
  tracing::array_view<call_info const> calls;
  tracing::array_view<int const> inputs;
  tracing::array_view<nested_model_info const> nested_models;
  tracing::array_view<nested_input_info const> nested_inputs;
  tracing::array_view<int const> model_outputs;
  tracing::array_view<int const> ends;  ///< what the losses read: the model's outputs, then the penalties on activities
  tracing::array_view<shape const> output_shapes;
  tracing::array_view<traced_mask const> masks;
  tracing::array_view<int const>
      order;  ///< the calls (without inputs and parts) in Keras's order, see graph/post_order.hpp

  [[nodiscard]] constexpr call_info const& call(int index) const { return calls[index]; }
  [[nodiscard]] constexpr layer_info const& layer(int index) const { return layers[index]; }
  [[nodiscard]] constexpr layer_info const& layer_of(int index) const { return layer(call(index).layer); }
  [[nodiscard]] constexpr std::string_view name() const { return nested_models[0].name; }
  [[nodiscard]] constexpr model_kind kind() const { return nested_models[0].kind; }
  /// The batch size that inputs fix; 0: none does.
  [[nodiscard]] constexpr int batch_size() const { return nested_models[0].batch_size; }

  /// The calls whose outputs a call takes.
  [[nodiscard]] constexpr tracing::array_view<int const> inputs_of(int index) const {
    auto const& node = call(index);
    return inputs.subspan(node.first_input, node.input_count);
  }
  /// The same without those that only tell which steps of a sequence count: what users see.
  [[nodiscard]] constexpr tracing::array_view<int const> own_inputs_of(int index) const {
    auto const all = inputs_of(index);
    return all.first(all.size() - call(index).mask_inputs);
  }
  /// The call of the layer that gives a tensor: `index` itself, but for one of several outputs.
  [[nodiscard]] constexpr int producer(int index) const {
    return call(index).is_part() ? inputs[call(index).first_input] : index;
  }
  /// The shapes of all outputs of a call, those that nothing uses among them.
  [[nodiscard]] constexpr tracing::array_view<shape const> shapes_of_outputs(int index) const {
    auto const& node = call(index);
    return node.output_count == 1 && node.loss_count == 0 ? tracing::array_view<shape const>(&node.shape, 1)
                                                          : output_shapes.subspan(node.first_output, node.output_count);
  }
  /// What a call of a nested model takes.
  [[nodiscard]] constexpr tracing::array_view<nested_input_info const> nested_inputs_of(int model) const {
    auto const& node = nested_models[model];
    return nested_inputs.subspan(node.first_input, node.input_count);
  }
  /// The calls whose outputs are those of a nested model; 0 is the model itself.
  [[nodiscard]] constexpr tracing::array_view<int const> outputs_of(int model) const {
    auto const& node = nested_models[model];
    return model_outputs.subspan(node.first_output, node.output_count);
  }
  /// Which steps of a call's output count; null: all.
  [[nodiscard]] constexpr traced_mask const* mask_of(int index) const {
    int const number = call(index).mask;
    return number == 0 ? nullptr : &masks[number - 1];
  }
  /// Whether a layer keeps something of each sample from batch to batch: Keras's `stateful`.
  [[nodiscard]] constexpr bool is_stateful() const {
    for (parameter const& each : parameters)
      if (each.between_batches && !each.trainable) return true;
    return false;
  }
  /// The number of the layer that has a weight: the last one if none before it has.
  [[nodiscard]] constexpr int layer_of_parameter(int parameter) const {
    int layer = 0;
    int const last = static_cast<int>(layers.size()) - 1;
    while (layer < last && !layers[layer].has_parameter(parameter)) ++layer;
    return layer;
  }
  /// The weights of a layer.
  [[nodiscard]] constexpr tracing::array_view<parameter const> parameters_of(int index) const {
    auto const& info = layer(index);
    return parameters.subspan(info.first_parameter, info.parameter_count);
  }
};

/// The records of one model.
template <graph_sizes Sizes>
struct graph {
  std::array<layer_info, Sizes.layers> layers;
  std::array<parameter, Sizes.parameters> parameters;
  std::array<call_info, Sizes.calls> calls;
  std::array<int, Sizes.inputs> inputs;
  std::array<nested_model_info, Sizes.nested_models> nested_models;
  std::array<nested_input_info, Sizes.nested_inputs> nested_inputs;
  std::array<int, Sizes.model_outputs> model_outputs;
  std::array<int, Sizes.ends> ends;
  std::array<shape, Sizes.output_shapes> output_shapes;
  std::array<traced_mask, Sizes.masks> masks;
  std::array<known_call, Sizes.traced_calls> traced_calls;  ///< for who traces the model again
  bool uses_stages;
  /// Why a model of one input stands in for the model, which breaks a rule.
  diagnostics::diagnostic problem;

  /// The graph is made of a traced_graph, or of a graph with other lengths.
  constexpr explicit graph(auto const& traced)
      : layers(array_of<Sizes.layers>(traced.layers)),
        parameters(array_of<Sizes.parameters>(traced.parameters)),
        calls(array_of<Sizes.calls>(traced.calls)),
        inputs(array_of<Sizes.inputs>(traced.inputs)),
        nested_models(array_of<Sizes.nested_models>(traced.nested_models)),
        nested_inputs(array_of<Sizes.nested_inputs>(traced.nested_inputs)),
        model_outputs(array_of<Sizes.model_outputs>(traced.model_outputs)),
        ends(array_of<Sizes.ends>(traced.ends)),
        output_shapes(array_of<Sizes.output_shapes>(traced.output_shapes)),
        masks(array_of<Sizes.masks>(traced.masks)),
        traced_calls(array_of<Sizes.traced_calls>(traced.traced_calls)),
        uses_stages(traced.uses_stages),
        problem(traced.problem) {}
};

constexpr std::size_t count_ordered(tracing::array_view<call_info const> calls) {
  std::size_t count = 0;
  for (auto const& call : calls) count += call.is_listed() ? 1 : 0;
  return count;
}

}  // namespace stagecraft::tracing
