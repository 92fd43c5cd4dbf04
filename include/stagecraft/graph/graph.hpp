// SPDX-License-Identifier: BSD-3-Clause
// A traced model as one flat constexpr value, and the view of it that all rules read. Calls that the outputs do not
// need are dropped, the others are put in Keras's order.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/model_builder.hpp>
#include <stagecraft/graph/node.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::tracing {

/// The number of records of each kind in a graph.
struct graph_sizes {
  std::size_t layers = 0, parameters = 0, calls = 0, inputs = 0, nested_models = 0, nested_inputs = 0,
              model_outputs = 0, ends = 0, output_shapes = 0, masks = 0, traced_calls = 0;
};

template <graph_sizes Sizes>
struct graph;

/// A traced model while it is still made of vectors; `graph` is what is kept of it.
struct traced_graph {
  static constexpr graph_sizes usual_sizes{192, 352, 224, 256, 4, 4, 8, 8, 8, 4, 224};
  template <graph_sizes Sizes>
  using frozen = tracing::graph<Sizes>;

  diagnostic problem;
  bool uses_stages = false;
  growing_array<layer_info> layers;
  growing_array<parameter> parameters;
  growing_array<call_info> calls;
  growing_array<int> inputs;
  growing_array<nested_model_info> nested_models;
  growing_array<nested_input_info> nested_inputs;
  growing_array<int> model_outputs;
  growing_array<int> ends;
  growing_array<shape> output_shapes;      ///< the shapes of outputs of calls with several outputs
  growing_array<traced_mask> masks;        ///< the masks, by the numbers in calls, from 1 on
  growing_array<known_call> traced_calls;  ///< all calls, those that no output needs among them

  [[nodiscard]] constexpr graph_sizes sizes() const {
    return {layers.size(),        parameters.size(),    calls.size(),         inputs.size(),
            nested_models.size(), nested_inputs.size(), model_outputs.size(), ends.size(),
            output_shapes.size(), masks.size(),         traced_calls.size()};
  }
};

/// Marks the calls that a model's outputs need. A nested model counts as a whole, as in Keras: who needs one of its
/// outputs needs them all, and all that it is called with.
class needed_calls {
 public:
  constexpr explicit needed_calls(model_builder const& model)
      : model_(model), call_(model.calls.size(), 0), nested_(model.nested_models.size(), 0) {
    if (!nested_.empty()) mark_outputs(0);
    for (int const loss : model.own_losses) mark(loss);
    for (auto i = model.calls.size(); i-- > 0;) {
      auto const& call = model.calls[i];
      if (call.is_input) call_[i] = 1;  // an input stays an input, used or not
      if (call_[i] == 0) continue;
      for (int k = 0; k < call.input_count; ++k) mark(model.inputs[call.first_input + k]);
    }
    // As in Keras, penalties of layers that the model does not have do not count.
    for (int const penalty : model.penalties)
      if (call_[model.inputs[model.calls[penalty].first_input]] != 0) call_[penalty] = 1;
  }
  constexpr bool operator[](std::size_t call) const { return call_[call] != 0; }

 private:
  constexpr void mark(int call) {
    if (call_[call] != 0) return;
    call_[call] = 1;
    int parent = 0;
    for (int nested = model_.calls[call].nested_model; nested > 0; nested = parent) {
      auto const& info = model_.nested_models[nested];
      parent = info.parent;
      if (nested_[nested] != 0) continue;
      mark_outputs(nested);
      for (int i = 0; i < info.input_count; ++i) mark(model_.nested_inputs[info.first_input + i].call);
    }
  }
  constexpr void mark_outputs(int nested) {
    nested_[nested] = 1;
    auto const& info = model_.nested_models[nested];
    for (int i = 0; i < info.output_count; ++i) mark(model_.model_outputs[info.first_output + i]);
  }

  model_builder const& model_;
  growing_array<char> call_, nested_;
};

/// Takes the records as they are: layers stand in the order of their first calls.
constexpr void take_all(model_builder& model, traced_graph& graph) {
  graph.calls = std::move(model.calls);
  graph.layers = std::move(model.layers);
  graph.parameters = std::move(model.parameters);
  graph.inputs = std::move(model.inputs);
  int id = 0;
  for (layer_info& layer : graph.layers) layer.traced_id = id++;
}
/// Takes those that have a new number.
constexpr void take_needed(model_builder const& model, growing_array<int> const& new_call, traced_graph& graph) {
  growing_array<int> new_layer(model.layers.size(), -1);
  graph.calls.reserve(model.calls.size());
  graph.layers.reserve(model.layers.size());
  graph.parameters.reserve(model.parameters.size());
  graph.inputs.reserve(model.inputs.size());
  for (std::size_t i = 0; i < model.calls.size(); ++i) {
    if (new_call[i] < 0) continue;
    auto call = model.calls[i];
    auto const first_input = static_cast<int>(graph.inputs.size());
    for (int k = 0; k < call.input_count; ++k) graph.inputs.push_back(new_call[model.inputs[call.first_input + k]]);
    call.first_input = first_input;
    auto& layer = new_layer[call.layer];
    if (layer < 0) {
      layer = static_cast<int>(graph.layers.size());
      graph.layers.push_back(model.layers[call.layer]);
      auto& info = graph.layers.back();
      info.traced_id = call.layer;
      info.first_call = new_call[i];
      info.call_count = 0;
      info.first_parameter = static_cast<int>(graph.parameters.size());
      for (int k = 0; k < info.parameter_count; ++k)
        graph.parameters.push_back(model.parameters[model.layers[call.layer].first_parameter + k]);
    }
    call.layer = layer;
    ++graph.layers[layer].call_count;
    graph.calls.push_back(call);
  }
}

/// Takes over a builder's records, without the calls that no output of the model needs, as Keras does. A call keeps its
/// node index, as in Keras, where a layer counts all its calls. An input of a nested model that nothing needs is -1.
constexpr traced_graph prune(model_builder& model) {
  traced_graph graph;
  graph.problem = model.problem;
  graph.uses_stages = model.uses_stages;
  graph.nested_models = model.nested_models;
  graph.nested_inputs = model.nested_inputs;
  graph.output_shapes = model.output_shapes;

  graph.traced_calls.reserve(model.calls.size());
  for (call_info const& call : model.calls) graph.traced_calls.push_back({call.shape, call.loss_count});

  needed_calls const needed(model);
  growing_array<int> new_call(model.calls.size(), -1);
  int count = 0;
  for (std::size_t i = 0; i < new_call.size(); ++i)
    if (needed[i]) new_call[i] = count++;

  if (count == static_cast<int>(model.calls.size()))
    take_all(model, graph);
  else
    take_needed(model, new_call, graph);
  for (auto& input : graph.nested_inputs) input.call = new_call[input.call];
  for (auto& nested : graph.nested_models) {
    auto const first = static_cast<int>(graph.model_outputs.size());
    for (int i = 0; i < nested.output_count; ++i) {
      auto const call = new_call[model.model_outputs[nested.first_output + i]];
      if (call >= 0) graph.model_outputs.push_back(call);
    }
    nested.output_count = static_cast<int>(graph.model_outputs.size()) - first;
    nested.first_output = first;
  }
  auto const outputs = static_cast<std::size_t>(graph.nested_models.empty() ? 0 : graph.nested_models[0].output_count);
  for (std::size_t i = 0; i < outputs; ++i) graph.ends.push_back(graph.model_outputs[i]);
  for (int const penalty : model.penalties)
    if (needed[penalty]) graph.ends.push_back(new_call[penalty]);
  for (int number = 1; number < model.masks.count(); ++number) {
    graph.masks.push_back(model.masks[number]);
    for (int i = 0; i < graph.masks.back().masks.count; ++i)
      graph.masks.back().sources[i] = new_call[graph.masks.back().sources[i]];
  }
  return graph;
}

/// A graph of any size. Everything is an index into these spans; calls stand in the order in which they were made.
struct graph_view {
  tracing::array_view<layer_info const> layers;
  tracing::array_view<parameter const> parameters;
  tracing::array_view<call_info const> calls;
  tracing::array_view<int const> inputs;
  tracing::array_view<nested_model_info const> nested_models;
  tracing::array_view<nested_input_info const> nested_inputs;
  tracing::array_view<int const> model_outputs;
  tracing::array_view<int const>
      ends;  ///< the calls that losses read: the model's outputs, then the penalties on activities
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
  /// The inputs of a call that users see: without those that only say which steps of a sequence count.
  [[nodiscard]] constexpr tracing::array_view<int const> own_inputs_of(int index) const {
    auto const all = inputs_of(index);
    return all.first(all.size() - call(index).mask_inputs);
  }
  /// The call that computes a tensor: `index` itself, unless it stands for one of several outputs.
  [[nodiscard]] constexpr int producer(int index) const {
    return call(index).is_part() ? inputs[call(index).first_input] : index;
  }
  /// The shapes of all outputs of a call, those that nothing uses among them.
  [[nodiscard]] constexpr tracing::array_view<shape const> shapes_of_outputs(int index) const {
    auto const& node = call(index);
    return node.output_count == 1 && node.loss_count == 0 ? tracing::array_view<shape const>(&node.shape, 1)
                                                          : output_shapes.subspan(node.first_output, node.output_count);
  }
  /// The inputs of a call of a nested model.
  [[nodiscard]] constexpr tracing::array_view<nested_input_info const> nested_inputs_of(int model) const {
    auto const& node = nested_models[model];
    return nested_inputs.subspan(node.first_input, node.input_count);
  }
  /// The calls whose outputs are those of a nested model; 0 is the model itself.
  [[nodiscard]] constexpr tracing::array_view<int const> outputs_of(int model) const {
    auto const& node = nested_models[model];
    return model_outputs.subspan(node.first_output, node.output_count);
  }
  /// The mask of a call's output, which says which steps count; null: all.
  [[nodiscard]] constexpr traced_mask const* mask_of(int index) const {
    int const number = call(index).mask;
    return number == 0 ? nullptr : &masks[number - 1];
  }
  /// True if a layer keeps a state of each sample from batch to batch: Keras's `stateful`.
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
  std::array<known_call, Sizes.traced_calls> traced_calls;  ///< shapes for tracing the model again
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
