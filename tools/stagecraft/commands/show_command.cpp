// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace stagecraft::tool {

namespace {

using diagnostics::shown_name;

std::string shape_text(shape const& of) {
  std::string text = "(None";
  for (int const length : of) text += ", " + std::to_string(length);
  return text + ")";
}

void show_layers(source_model const& model, std::string const& indent, std::string const& path,
                 std::map<std::string, std::string> const& stages, std::int64_t& count) {
  for (auto const& layer : model.layers) {
    if (layer.is_input) continue;
    auto const text = shown_name(layer.layer ? text_of(*layer.layer).str() : "a model", 4000);
    auto const stage = stages.find(path + layer.name);
    std::printf("%s%s: %s%s\n", indent.c_str(), shown_name(layer.name).c_str(), text.c_str(),
                stage == stages.end() ? "" : (" (stage " + shown_name(stage->second) + ")").c_str());
    for (auto const& weight : layer.weights) {
      std::string sizes;
      std::int64_t size = 1;
      for (auto const length : weight.shape) {
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(length);
        size *= length;
      }
      count += size;
      std::printf("%s  %s (%s)\n", indent.c_str(), weight.name.c_str(), sizes.c_str());
    }
    if (layer.nested) show_layers(*layer.nested, indent + "  ", path + layer.name + "/", stages, count);
  }
}

}  // namespace

void show_command::run() const {
  auto const model = read_model(file, options);
  std::printf("Model: \"%s\" (%s)\n", shown_name(model.name).c_str(),
              model.is_sequential ? "Sequential" : "functional");
  std::printf("The given model contains the following input(s):\n");
  for (int const input : model.inputs) {
    auto const& call = model.calls[static_cast<std::size_t>(input)];
    std::printf("  inputs['%s'] shape: %s\n", shown_name(model.layer_of(call).name).c_str(),
                shape_text(call.outputs[0].value()).c_str());
  }
  std::printf("The given model contains the following output(s):\n");
  for (auto const& output : model.outputs) {
    auto const& call = model.calls[static_cast<std::size_t>(output.call)];
    std::printf("  outputs['%s'] shape: %s\n", shown_name(model.layer_of(call).name).c_str(),
                shape_text(call.outputs[static_cast<std::size_t>(output.output)].value()).c_str());
  }
  std::printf("Layers:\n");
  std::int64_t count = 0;
  show_layers(model, "  ", "", model.stages, count);
  std::printf("Total params: %lld\n", static_cast<long long>(count));
  if (!model.training.empty()) std::printf("Training:\n");
  for (auto const& line : model.training) std::printf("  %s\n", shown_name(line).c_str());
}

}  // namespace stagecraft::tool
