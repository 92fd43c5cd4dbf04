// SPDX-License-Identifier: BSD-3-Clause
#include "onnx_export.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <algorithm>

namespace stagecraft::tool {

namespace {

std::vector<int> lengths_of(shape const& from) { return {from.begin(), from.end()}; }

class model_exporter {
 public:
  explicit model_exporter(std::string const& path) : path_(path) {}

  std::string run(source_model const& model) {
    std::vector<onnx_builder::end> inputs, outputs;
    std::vector<onnx_output> given;
    for (int const input : model.inputs) {
      auto const& call = model.calls[static_cast<std::size_t>(input)];
      auto const& name = model.layer_of(call).name;
      inputs.push_back({name, lengths_of(call.outputs[0].value())});
      given.push_back({name, inputs.back().lengths});
    }
    auto const results = add(model, "", given);
    if (!problems_.empty()) {
      std::string text = path_ + ": what this model has and ONNX files have not:";
      for (auto const& each : problems_) text += "\n  " + each;
      throw file_error("E5069", text);
    }
    std::map<std::string, int> taken;
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto const& layer = model.layer_of(model.calls[static_cast<std::size_t>(model.outputs[i].call)]);
      auto const last = to_.channels_last(results[i]);
      to_.begin("outputs");
      std::string name = layer.name + (taken[layer.name]++ > 0 ? "_" + std::to_string(i) : "") + "_output";
      outputs.push_back({to_.named("Identity", last.name, name), last.lengths});
    }
    return to_.finish(model.name, inputs, outputs);
  }

 private:
  std::vector<onnx_output> add(source_model const& model, std::string const& prefix,
                               std::vector<onnx_output> const& given) {
    std::vector<std::vector<onnx_output>> values(model.calls.size());
    for (std::size_t i = 0; i < model.inputs.size(); ++i)
      values[static_cast<std::size_t>(model.inputs[i])] = {given.at(i)};
    for (std::size_t i = 0; i < model.calls.size(); ++i) {
      auto const& call = model.calls[i];
      auto const& layer = model.layer_of(call);
      if (layer.is_input) continue;
      std::vector<onnx_output> inputs;
      for (auto const& each : call.inputs)
        inputs.push_back(values[static_cast<std::size_t>(each.call)].at(static_cast<std::size_t>(each.output)));
      if (layer.nested)
        values[i] = add(*layer.nested, prefix + layer.name + "/", inputs);
      else
        // A layer with several outputs is an error; until that is reported, one output stands for all.
        values[i].assign(std::max<std::size_t>(call.outputs.size(), 1),
                         add_layer(layer, prefix, inputs, lengths_of(call.outputs[0].value())));
    }
    std::vector<onnx_output> results;
    for (auto const& each : model.outputs)
      results.push_back(values[static_cast<std::size_t>(each.call)].at(static_cast<std::size_t>(each.output)));
    return results;
  }

  onnx_output add_layer(model_layer const& layer, std::string const& prefix, std::vector<onnx_output> const& inputs,
                        std::vector<int> const& lengths) {
    to_.begin(prefix + layer.name);
    auto const fail = [&](std::string const& why) {
      problems_.push_back("layer '" + prefix + layer.name + "' (" + layer.class_name + ") " + why);
      return onnx_output{"", lengths};
    };
    auto const found = onnx_exporters().find(layer.class_name);
    if (found == onnx_exporters().end()) return fail("is not exported");
    try {
      auto result = found->second({to_, layer, prefix + layer.name, inputs, lengths});
      result.lengths = lengths;
      return result;
    } catch (unsupported const& why) {
      return fail(why.what());
    } catch (json::exception const& why) {
      return fail(std::string("has options that are not understood: ") + why.what());
    }
  }

  std::string path_;
  onnx_builder to_;
  std::vector<std::string> problems_;
};

}  // namespace

onnx_constant exported_call::weight(std::size_t index) const {
  auto const& from = layer.values.at(index);
  return {from.shape, {from.values.begin(), from.values.end()}, false};
}

std::string exported_call::add(onnx_constant const& weight, std::size_t index) const {
  return add(weight, layer.weights.at(index).name);
}

std::string exported_call::add(onnx_constant const& weight, std::string const& name) const {
  return to.constant(path + "/" + name, weight.shape, {weight.values.begin(), weight.values.end()});
}

std::map<std::string, onnx_exporter> const& onnx_exporters() {
  static auto const all = [] {
    std::map<std::string, onnx_exporter> result;
    add_simple_exporters(result);
    add_window_exporters(result);
    add_sequence_exporters(result);
    return result;
  }();
  return all;
}

std::string onnx_of(source_model const& model, std::string const& path) { return model_exporter(path).run(model); }

}  // namespace stagecraft::tool
