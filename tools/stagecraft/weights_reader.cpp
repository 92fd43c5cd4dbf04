// SPDX-License-Identifier: BSD-3-Clause
// The weights of Keras's files, layer by layer: "/model_weights/<layer>" of a .h5, "layers/<class>_1/vars/0" of a
// .keras.
#include "layer_weights.hpp"
#include "option_values.hpp"
#include "progress.hpp"
#include "source_model.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/keras/read_keras_weights.hpp>
#include <map>
#include <string_view>
#include <utility>

namespace stagecraft::tool {

namespace {

template <class Shape>
std::string shape_text(Shape const& shape) {
  std::string text;
  for (auto const length : shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

/// The layers of a model that have weights, and of those inside it.
void collect_layers(source_model& model, std::vector<model_layer*>& to) {
  for (auto& layer : model.layers) {
    if (layer.nested) collect_layers(*layer.nested, to);
    if (!layer.weights.empty()) to.push_back(&layer);
  }
}

/// Gives a layer its arrays, and gathers what does not fit.
class assignment {
 public:
  explicit assignment(std::string file, source_model& model) : file_(std::move(file)) {
    std::vector<model_layer*> layers;
    collect_layers(model, layers);
    progress::shown().begin("reading " + file_ + ", layer", layers.size());
  }

  void give(io::hdf5_content const& file, model_layer& layer, std::vector<std::string> const& paths) {
    give(layer, paths.size(), [&](std::size_t i) { return file.array(paths[i]); });
  }
  void give(model_layer& layer, std::vector<stored_tensor const*> const& tensors) {
    give(layer, tensors.size(), [&](std::size_t i) {
      return stored_array{tensors[i]->name, tensors[i]->shape, io::to_floats(*tensors[i], file_)};
    });
  }

  void give(model_layer& layer, std::size_t count, auto const& array_of) {
    progress::shown().advance();
    if (count != layer.weights.size()) {
      problems_.push_back("layer '" + layer.name + "' has " + std::to_string(count) + " arrays, expected " +
                          std::to_string(layer.weights.size()));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto array = array_of(i);
      auto const& expected = layer.weights[i];
      if (array.shape != expected.shape)
        problems_.push_back("layer '" + layer.name + "': " + expected.name + " has the shape " +
                            shape_text(array.shape) + ", expected " + shape_text(expected.shape));
      layer.values.push_back(std::move(array));
    }
  }
  void report() const {
    if (problems_.empty()) return;
    std::string text = file_ + ": the weights are not those of the model:";
    for (auto const& each : problems_) text += "\n  " + each;
    throw file_error("E5065", text);
  }

 private:
  std::string file_;
  std::vector<std::string> problems_;
};

void assign_container(io::hdf5_content const& file, source_model& model, std::string const& group, assignment& to) {
  std::map<std::string, int> used;
  // Before 2.14, layers were called otherwise.
  auto const layers = file.has_group(group + "/layers") ? group + "/layers" : group + "/_layer_checkpoint_dependencies";
  for (auto& layer : model.layers) {
    if (layer.is_input && model.is_sequential) continue;
    auto name = snake_case_of(layer.class_name);
    if (int const before = used[name]++; before > 0) name += "_" + std::to_string(before);
    auto const own = layers + "/" + name;
    if (layer.nested) {
      assign_container(file, *layer.nested, own, to);
    } else if (!layer.weights.empty()) {
      std::vector<std::string> paths;
      if (file.has_group(own)) io::collect_keras_3_arrays(file, own, 0, paths);
      to.give(file, layer, paths);
    }
  }
}

}  // namespace

void read_h5_weights(io::hdf5_content const& file, source_model& model) {
  assignment to(file.name(), model);
  std::string const base = file.has_group("/model_weights") ? "/model_weights/" : "/";
  for (auto& layer : model.layers) {
    auto const group = base + layer.name;
    auto const names = file.texts(group, "weight_names");
    auto const paths_through = [&](std::string const& name) {
      std::vector<std::string> paths;
      for (auto const& each : names)
        if (name.empty() || io::leads_through(each, name)) paths.push_back(group + "/" + each);
      return paths;
    };
    if (layer.nested) {
      std::vector<model_layer*> inside;
      collect_layers(*layer.nested, inside);
      for (auto* each : inside) to.give(file, *each, paths_through(each->name));
    } else if (!layer.weights.empty()) {
      to.give(file, layer, paths_through(""));
    }
  }
  to.report();
}

void read_keras_weights(io::hdf5_content const& file, source_model& model) {
  assignment to(file.name(), model);
  assign_container(file, model, "", to);
  to.report();
}

void read_tfjs_weights(tensor_file const& weights, std::string const& file, source_model& model) {
  assignment to(file, model);
  std::vector<model_layer*> layers;
  collect_layers(model, layers);
  for (auto* layer : layers) {
    std::vector<stored_tensor const*> own, inside;
    for (auto const& each : weights.tensors) {
      if (each.name.starts_with(layer->name + "/")) own.push_back(&each);
      if (io::leads_through(each.name, layer->name)) inside.push_back(&each);
    }
    to.give(*layer, own.empty() ? inside : own);
  }
  to.report();
}

void read_weights_by(weights_finder const& find, std::string const& file, source_model& model) {
  assignment to(file, model);
  for_each_weighted_layer(model, "", [&](model_layer& layer, std::string const& path) {
    auto const found = find(layer, path);
    std::vector<stored_tensor const*> own;
    for (auto const& each : found) own.push_back(&each);
    to.give(layer, own);
  });
  to.report();
}

void read_bundle_weights(tensor_file const& weights, std::string const& file, source_model& model) {
  assignment to(file, model);
  for_each_weighted_layer(model, "", [&](model_layer& layer, std::string const& path) {
    std::vector<stored_tensor const*> own;
    for (auto const& each : layer.weights)
      if (auto const* const found = weights.find(path + layer.name + "/" + each.name + ":0")) own.push_back(found);
    to.give(layer, own);
  });
  to.report();
}

tensor_file weights_of(source_model const& model) {
  tensor_file file;
  file.metadata.emplace_back("format", "stagecraft weights");
  for_each_weighted_layer(model, "", [&](model_layer const& layer, std::string const& path) {
    for (std::size_t i = 0; i < layer.weights.size(); ++i)
      file.tensors.push_back(io::float_tensor(path + layer.name + "/" + layer.weights[i].name + ":0",
                                              layer.weights[i].shape, layer.values[i].values));
  });
  return file;
}

}  // namespace stagecraft::tool
