// SPDX-License-Identifier: BSD-3-Clause
// The weights of Keras's files, layer by layer: "/model_weights/<layer>" of a .h5, "layers/<class>_1/vars/0" of a
// .keras.
#include "option_values.hpp"
#include "source_model.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace stagecraft::tool {

namespace {

template <class Shape>
std::string shape_text(Shape const& shape) {
  std::string text;
  for (auto const length : shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

/// Gives a layer its arrays, and gathers what does not fit.
class assignment {
 public:
  explicit assignment(hdf5_file const& file) : file_(file) {}

  void give(model_layer& layer, std::vector<std::string> const& paths) {
    if (paths.size() != layer.weights.size()) {
      problems_.push_back("layer '" + layer.name + "' has " + std::to_string(paths.size()) + " arrays, expected " +
                          std::to_string(layer.weights.size()));
      return;
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
      auto array = file_.array(paths[i]);
      auto const& expected = layer.weights[i];
      if (array.shape != expected.shape)
        problems_.push_back("layer '" + layer.name + "': " + expected.name + " has the shape " +
                            shape_text(array.shape) + ", expected " + shape_text(expected.shape));
      layer.values.push_back(std::move(array));
    }
  }
  void report() const {
    if (problems_.empty()) return;
    std::string text = file_.name() + ": the weights are not those of the model:";
    for (auto const& each : problems_) text += "\n  " + each;
    throw file_error("E5065", text);
  }

 private:
  hdf5_file const& file_;
  std::vector<std::string> problems_;
};

/// Whether a path such as "encoder/dense_1/kernel:0" leads through a name.
bool leads_through(std::string_view path, std::string_view name) {
  while (!path.empty()) {
    auto const slash = path.find('/');
    if (slash == std::string_view::npos) return false;  // the last part is the weight's
    if (path.substr(0, slash) == name) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

/// The layers of a model that have weights, and of those inside it.
void collect_layers(source_model& model, std::vector<model_layer*>& to) {
  for (auto& layer : model.layers) {
    if (layer.nested) collect_layers(*layer.nested, to);
    if (!layer.weights.empty()) to.push_back(&layer);
  }
}

/// The arrays of a layer in a .keras file, in Keras's order.
void collect_arrays(hdf5_file const& file, std::string const& group, int depth, std::vector<std::string>& to) {
  // Layers inside a layer are written in the order of their letters, not of its weights.
  static constexpr std::array order{"query_dense",  "key_dense",     "value_dense",
                                    "output_dense", "forward_layer", "backward_layer"};
  constexpr int deepest = 8;
  if (depth > deepest) file.damaged(group, "has groups that are nested too deep");
  auto names = file.children(group);
  auto const rank = [&](std::string const& name) {
    auto const found = std::find(order.begin(), order.end(), name);
    // Arrays are numbered: 10 comes after 9.
    bool const is_number = !name.empty() && name.size() < 6 &&
                           std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    return std::pair(found - order.begin(), is_number ? std::stoi(name) : -1);
  };
  std::sort(names.begin(), names.end(),
            [&](auto const& a, auto const& b) { return std::pair(rank(a), a) < std::pair(rank(b), b); });
  for (auto const& name : names) {
    auto const path = group + "/" + name;
    if (name == "seed_generator" || name == "_seed_generators") continue;
    if (file.has_array(path))
      to.push_back(path);
    else
      collect_arrays(file, path, depth + 1, to);
  }
}

void assign_container(hdf5_file const& file, source_model& model, std::string const& group, assignment& to) {
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
      if (file.has_group(own)) collect_arrays(file, own, 0, paths);
      to.give(layer, paths);
    }
  }
}

}  // namespace

void read_h5_weights(hdf5_file const& file, source_model& model) {
  assignment to(file);
  std::string const base = file.has_group("/model_weights") ? "/model_weights/" : "/";
  for (auto& layer : model.layers) {
    auto const group = base + layer.name;
    auto const names = file.texts(group, "weight_names");
    auto const paths_through = [&](std::string const& name) {
      std::vector<std::string> paths;
      for (auto const& each : names)
        if (name.empty() || leads_through(each, name)) paths.push_back(group + "/" + each);
      return paths;
    };
    if (layer.nested) {
      std::vector<model_layer*> inside;
      collect_layers(*layer.nested, inside);
      for (auto* each : inside) to.give(*each, paths_through(each->name));
    } else if (!layer.weights.empty()) {
      to.give(layer, paths_through(""));
    }
  }
  to.report();
}

void read_keras_weights(hdf5_file const& file, source_model& model) {
  assignment to(file);
  assign_container(file, model, "", to);
  to.report();
}

}  // namespace stagecraft::tool
