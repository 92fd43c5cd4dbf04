// SPDX-License-Identifier: BSD-3-Clause
// Reads the weights of Keras's files layer by layer: "/model_weights/<layer>" in a .h5, "layers/<class>_1/vars/0" in a
// .keras.
#include "keras/layer_weights.hpp"
#include "keras/option_values.hpp"
#include "progress.hpp"
#include "source/source_model.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/keras_positions.hpp>
#include <stagecraft/io/keras/read_keras_weights.hpp>
#include <algorithm>
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

/// Collects the layers with weights in a model and in the models inside it.
void collect_layers(source_model& model, std::vector<model_layer*>& to) {
  for (auto& layer : model.layers) {
    if (layer.nested) collect_layers(*layer.nested, to);
    if (!layer.weights.empty() && !layer.is_of_operators) to.push_back(&layer);
  }
}

/// Assigns arrays to layers, and collects those that do not fit.
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
      problems_.push_back("layer '" + diagnostics::shown_name(layer.name) + "' has " + std::to_string(count) +
                          " arrays, expected " + std::to_string(layer.weights.size()));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      auto array = array_of(i);
      auto const& expected = layer.weights[i];
      if (array.shape != expected.shape)
        problems_.push_back("layer '" + diagnostics::shown_name(layer.name) + "': " + expected.name +
                            " has the shape " + shape_text(array.shape) + ", expected " + shape_text(expected.shape));
      layer.values.push_back(std::move(array));
    }
  }
  void note(std::string text) { problems_.push_back(std::move(text)); }
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

/// Layers whose arrays a file has in one list: those of a nested model.
class group_of_layers {
 public:
  void add(source_model& model, std::string const& path) {
    for (auto& layer : model.layers) {
      if (layer.nested) add(*layer.nested, path + layer.name + "/");
      if (layer.weights.empty() || layer.is_of_operators) continue;
      layers_.push_back(&layer);
      auto const trainable = layer.config.is_object() ? layer.config.value("trainable", json(true)) : json(true);
      for (auto const& each : layer.weights)
        places_.push_back({{}, {}, path + layer.name, each.trainable && trainable != json(false), each.shape});
    }
  }
  /// `is_list`: the arrays are those of all layers of a file, not of one group.
  void give(assignment& to, std::vector<stored_array>& arrays, bool is_list = false) const {
    std::vector<io::weight_place const*> own;
    for (auto const& each : places_) own.push_back(&each);
    std::vector<io::placed_tensor> placed;
    for (auto const& each : arrays) placed.push_back({each.name, each.shape});
    io::keras_group const group(std::move(own));
    auto const weights = is_list ? group.match_list(placed) : group.match(placed);
    std::vector<stored_array*> found(places_.size(), nullptr);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (weights[i] != io::keras_group::none)
        found[weights[i]] = &arrays[i];
      else
        to.note("the array '" + diagnostics::shown_name(arrays[i].name) + "' is of no layer");
    }
    std::size_t first = 0;
    for (auto* layer : layers_) {
      std::vector<stored_array*> of_layer;
      for (std::size_t i = first; i < first + layer->weights.size(); ++i)
        if (found[i] != nullptr) of_layer.push_back(found[i]);
      first += layer->weights.size();
      to.give(*layer, of_layer.size(), [&](std::size_t i) { return std::move(*of_layer[i]); });
    }
  }

 private:
  std::vector<model_layer*> layers_;
  std::vector<io::weight_place> places_;
};

/// The group of a class in a file of Keras 3, whose rule for names does not part digits from letters as Keras 2's does.
std::string group_of_class(std::string const& class_name) {
  constexpr std::string_view recurrent = "ConvLSTM";
  if (!class_name.starts_with(recurrent)) return snake_case_of(class_name);
  auto name = "conv_lstm" + class_name.substr(recurrent.size());
  for (auto& letter : name) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
  return name;
}

/// The arrays of several cells in the order of the cells, which is not the file's; those of other layers as they are.
std::vector<std::string> in_order_of_cells(model_layer const& layer, std::vector<std::string> paths) {
  std::map<std::string, std::size_t> place;
  for (auto const& each : layer.weights)
    place.try_emplace(std::string(io::stacked_cells) + each.name.substr(0, each.name.rfind('/') + 1), place.size());
  std::stable_sort(paths.begin(), paths.end(), [&](std::string const& a, std::string const& b) {
    auto const of = [&](std::string const& path) {
      auto const found = place.find(io::stacked_cell_of(path));
      return found == place.end() ? place.size() : found->second;
    };
    return of(a) < of(b);
  });
  return paths;
}

void assign_container(io::hdf5_content const& file, source_model& model, std::string const& group, assignment& to) {
  std::map<std::string, int> used;
  // This group had another name until Keras 2.13.
  auto const layers = file.has_group(group + "/layers") ? group + "/layers" : group + "/_layer_checkpoint_dependencies";
  for (auto& layer : model.layers) {
    if ((layer.is_input && model.is_sequential) || layer.is_of_operators) continue;
    auto name = group_of_class(layer.class_name);
    if (int const before = used[name]++; before > 0) name += "_" + std::to_string(before);
    auto const own = layers + "/" + name;
    if (layer.nested) {
      assign_container(file, *layer.nested, own, to);
    } else if (!layer.weights.empty()) {
      std::vector<std::string> paths;
      if (file.has_group(own)) io::collect_keras_3_arrays(file, own, 0, paths);
      to.give(file, layer, in_order_of_cells(layer, paths));
    }
  }
}

}  // namespace

void read_h5_weights(io::hdf5_content const& file, source_model& model) {
  assignment to(file.name(), model);
  std::string const base = file.has_group("/model_weights") ? "/model_weights/" : "/";
  auto const array_of = [&](std::string const& path) {
    auto array = file.array(path);
    io::check_backend(file, base, array);
    return array;
  };
  for (auto& layer : model.layers) {
    auto const group = base + layer.name;
    if ((!layer.nested && layer.weights.empty()) || layer.is_of_operators) continue;
    auto const names = file.texts(group, "weight_names");
    if (!layer.nested) {
      std::vector<std::string> paths;
      for (auto const& each : names) paths.push_back(group + "/" + each);
      to.give(layer, paths.size(), [&](std::size_t i) { return array_of(paths[i]); });
      continue;
    }
    group_of_layers inside;
    inside.add(*layer.nested, "");
    std::vector<stored_array> arrays;
    for (auto const& each : names) arrays.push_back(array_of(group + "/" + each));
    for (std::size_t i = 0; i < names.size(); ++i) arrays[i].name = names[i];
    inside.give(to, arrays);
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
  std::vector<stored_array> arrays;
  for (auto const& each : weights.tensors) arrays.push_back({each.name, each.shape, io::to_floats(each)});
  group_of_layers all;
  all.add(model, "");
  all.give(to, arrays, true);
  to.report();
}

void read_weights_by(weights_finder const& find, std::string const& file, source_model& model) {
  assignment to(file, model);
  for_each_weighted_layer(model, "", [&](model_layer& layer, std::string const& path) {
    if (layer.is_of_operators) return;
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
