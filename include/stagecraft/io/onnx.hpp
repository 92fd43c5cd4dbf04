// SPDX-License-Identifier: BSD-3-Clause
// Models as ONNX files: `sc::save_onnx(model, "m.onnx")`. Include it anywhere in the program; not part of
// <stagecraft/stagecraft.hpp>.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/detail/match_weights.hpp>
#include <stagecraft/io/detail/onnx_operations.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// Options of `save_onnx`.
struct onnx_options {
  /// The number of samples of the file's inputs and outputs, which is fixed.
  int batch_size = 1;
};

}  // namespace stagecraft

namespace stagecraft::io {

/// Writes the calls of a model as nodes, one call after the other.
template <class M>
class onnx_model {
 public:
  onnx_model(std::vector<weight_array> const& weights, int batch) : batch_(batch) {
    std::size_t next = 0;
    for (int const weight : stagecraft::detail::weight_order<M>) weights_[weight] = &weights.at(next++);
  }

  /// The bytes of the file.
  std::string write() {
    detail::for_each_index<graph.calls.size()>([&]<int Call>() { add_call<Call>(); });
    std::set<std::string> taken;
    for (int const call : graph.outputs_of(0)) {
      std::string name = std::string(graph.layer_of(graph.producer(call)).name.view()) + "_output";
      if (!taken.insert(name).second) taken.insert(name += "_" + std::to_string(taken.size()));
      end(name, value_of(call), lengths_of(graph.call(call).shape));
    }
    for (auto const& [name, value, shape] : states_) end(name, value, shape);
    return to_.finish(graph.name());
  }

 private:
  using lengths = onnx_graph::lengths;
  static constexpr auto const& graph = graph_of<M>;

  struct state {
    std::string name, value;
    lengths shape;
  };

  [[nodiscard]] lengths lengths_of(shape const& sample) const {
    lengths result{batch_};
    for (int const length : sample) result.push_back(length);
    return result;
  }
  [[nodiscard]] std::string const& value_of(int call) const {
    auto const index = graph.call(call).is_part() ? graph.call(call).output_index : 0;
    return values_.at(graph.producer(call)).at(static_cast<std::size_t>(index));
  }
  void end(std::string const& name, std::string const& value, lengths const& shape) {
    to_.node_named(name, "Identity", {value});
    to_.output(name, shape);
  }

  template <int Call>
  void add_call() {
    auto const& call = graph.call(Call);
    if (call.is_part()) return;
    std::string const path = path_of_layer(graph, call.layer);
    if (call.is_input) {
      values_[Call] = {path};
      to_.input(path, lengths_of(call.shape));
      return;
    }
    if constexpr (!graph_of<M>.call(Call).is_input && !graph_of<M>.call(Call).is_part()) {
      using layer = layer_t<M, Call>;
      std::vector<shape> shapes;
      std::vector<std::string> inputs;
      for (int const input : graph.inputs_of(Call)) {
        shapes.push_back(graph.call(input).shape);
        inputs.push_back(value_of(input));
      }
      std::string const name = call.node_index == 0 ? path : path + "_" + std::to_string(call.node_index);
      if constexpr (stagecraft::detail::HasCall<layer> || requires { layer_of<M, Call>.masks; }) {
        auto const traced = stagecraft::detail::trace_layer(layer_of<M, Call>, shapes, batch_, false, false);
        auto written = onnx_operations(to_, traced, name, inputs, weights_of(call.layer, traced)).write();
        for (auto& [weight, value] : written.states) {
          auto const& kept = traced.weights[static_cast<std::size_t>(weight)];
          states_.push_back({path + "/" + std::string(kept.name.view()) + "_next",
                             std::move(value),
                             {kept.shape.begin(), kept.shape.end()}});
        }
        values_[Call] = std::move(written.outputs);
      } else {
        throw file_error("E5260", "layer '" + name +
                                      "' cannot be written as ONNX: it has loops of its own in place of "
                                      "a call in the words of ops");
      }
    }
  }
  /// The names of a layer's weights in the file, where its first call puts them.
  std::vector<std::string> weights_of(int layer, operations::trace const& traced) {
    std::vector<std::string> names;
    int parameter = graph.layer(layer).first_parameter;
    for (auto const& weight : traced.weights) {
      names.push_back(path_of_layer(graph, layer) + "/" + std::string(weight.name.view()));
      bool const is_first = known_.insert(names.back()).second;
      lengths const shape(weight.shape.begin(), weight.shape.end());
      if (is_first && weight.between_batches) to_.input(names.back(), shape);
      if (is_first && !weight.between_batches) to_.floats(names.back(), shape, weights_.at(parameter)->values);
      ++parameter;
    }
    return names;
  }

  int batch_;
  onnx_graph to_;
  std::map<int, weight_array const*> weights_;      ///< by their numbers in the graph
  std::map<int, std::vector<std::string>> values_;  ///< names of the outputs of each call
  std::set<std::string> known_;                     ///< weights that are in the file
  std::vector<state> states_;
};

}  // namespace stagecraft::io

namespace stagecraft {

/// Writes a trainer's or predictor's model and its weights as an ONNX file, opset 27: the operations that the calls of
/// its layers are traced to in a prediction, those of your own layers among them. onnxruntime 1.32 runs it.
///
/// The inputs are named after their layers and have this library's shapes, (batch, ...), pictures with channels last;
/// the outputs are named "<layer>_output". All are float32, class numbers and indices, too. States that stateful layers
/// keep between batches are inputs, "<layer>/<state>", and outputs, "<layer>/<state>_next". Loops are unrolled, and a
/// dtype_policy does not change the file.
///
/// Throws file_error: E5041 the file cannot be written; E5260 a layer draws random numbers in predictions, or computes
/// gradients of convolutions and poolings, or has loops of its own; E5261 unrolled loops of more than 200,000 nodes;
/// E5262 a batch size below 1. data_error E4042 while steps run.
template <class Model>
void save_onnx(Model const& model, std::string const& path, onnx_options const& options = {}) {
  if (options.batch_size < 1)
    throw file_error("E5262", path + ": a batch of " + std::to_string(options.batch_size) + " samples; at least 1");
  auto const weights = model.get_weights();
  using traced = typename stagecraft::detail::traced_model<typename Model::session_type::model>::type;
  auto const bytes = io::onnx_model<traced>(weights, options.batch_size).write();
  io::replace_file(path, [&](io::file_writer& to) { to.write(bytes); });
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
