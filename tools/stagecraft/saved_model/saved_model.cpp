// SPDX-License-Identifier: BSD-3-Clause
#include "saved_model.hpp"

#include "keras/layer_weights.hpp"
#include "object_graph.hpp"
#include "tensorflow/read_tensorflow.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/bundle_folder.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <set>

namespace stagecraft::tool {

namespace {

constexpr int deepest_model = 16, deepest_object = 32;
constexpr char const* graph_in_checkpoint = "_CHECKPOINTABLE_OBJECT_GRAPH";

json parse(std::string const& text, std::string const& file, std::string const& of) {
  try {
    auto result = io::parse_json(text, of);
    if (!result.is_object()) io::refuse("E5102", of, "it is no object");
    return result;
  } catch (file_error const& why) {
    io::refuse("E5102", file, std::string("what it says of a layer is no JSON: ") + why.what());
  }
}

/// Turns the objects that Keras writes for tuples and shapes into lists, as in its other files.
void unwrap(json& value) {  // parse_json limits the depth
  if (!value.is_structured()) return;
  if (value.is_object() && value.size() == 2 && value.contains("items") && value["items"].is_array() &&
      (value.value("class_name", json()) == "__tuple__" || value.value("class_name", json()) == "TensorShape")) {
    json items = std::move(value["items"]);
    value = std::move(items);
  }
  for (auto& each : value) unwrap(each);
}

/// The number in the name of a list's attribute, "12"; -1 for other names.
int number_of(std::string const& name) {
  int number = -1;
  auto const [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc() && end == name.data() + name.size() ? number : -1;
}

/// True for attributes of a layer that Keras makes for itself, whose variables are those of other attributes.
bool is_of_keras(std::string_view attribute) {
  static constexpr std::array all{"variables", "trainable_variables", "non_trainable_variables", "keras_api",
                                  "regularization_losses"};
  return std::find(all.begin(), all.end(), attribute) != all.end();
}

/// The objects of a layer in both graphs.
struct layer_objects {
  int saved = 0, checkpoint = 0;
};

class reader {
 public:
  reader(saved_model_files files, import_options const& options)
      : name_(std::move(files.name)), options_(options), bundle_(std::move(files.variables)) {
    saved_ = parse_saved_objects(files.saved_model, name_ + "/saved_model.pb");
    auto const place = name_ + "/keras_metadata.pb";
    if (files.metadata.empty()) {
      for (std::size_t i = 0; i < saved_.size(); ++i)
        if (saved_[i].metadata.starts_with("{")) metadata_.emplace(static_cast<int>(i), std::move(saved_[i].metadata));
    } else {
      for (auto& [object, text] : parse_keras_metadata(files.metadata, place))
        metadata_.emplace(object, std::move(text));
    }
  }

  /// True if the folder says which layers its model has.
  [[nodiscard]] bool has_layers() const { return metadata_.contains(0); }

  [[nodiscard]] tensor_bundle const& variables() const { return bundle_; }

  source_model read() {
    auto const root = parse(metadata_.at(0), name_, "keras_metadata.pb");
    json config{{"class_name", root.value("class_name", json())}, {"config", root.value("config", json())}};
    unwrap(config);
    auto model = read_config(config, name_, options_);
    checkpoint_ = parse_checkpoint_objects(bundle_.text(graph_in_checkpoint), name_ + "/variables/variables.index");
    find_layers({0, 0}, "", 0);
    read_weights_by([&](model_layer const& layer, std::string const& path) { return weights_of(layer, path); }, name_,
                    model);
    return model;
  }

 private:
  /// The name of the layer that an object is.
  std::string const& name_of(int object) {
    auto const [at, is_new] = names_.try_emplace(object);
    if (auto const found = metadata_.find(object); is_new && found != metadata_.end()) {
      auto const name = parse(found->second, name_, "keras_metadata.pb").value("name", json());
      if (name.is_string()) at->second = name.get<std::string>();
    }
    return at->second;
  }

  /// Counts steps and letters: a graph may lead to an object in many ways, and a small file to more steps, or longer
  /// paths, than any model has.
  void count(std::size_t more) const {
    constexpr std::size_t most = std::size_t{1} << 24;
    taken_ += more;
    if (taken_ > most) io::refuse("E5102", name_, "its objects are in each other too often");
  }

  /// Finds the layers of a model, its attributes layer-0, layer-1, ...; layers with weights have a second name.
  void find_layers(layer_objects const& model, std::string const& path, int depth) {
    if (depth > deepest_model) io::refuse("E5102", name_, "its models are nested too deep");
    auto const& saved = saved_[static_cast<std::size_t>(model.saved)].children;
    auto const& kept = checkpoint_[static_cast<std::size_t>(model.checkpoint)].children;
    count(saved.size() + kept.size());
    std::map<std::string_view, int> others;
    for (auto const& [attribute, object] : kept) others.emplace(attribute, object);
    for (auto const& [attribute, object] : saved) {
      if (!attribute.starts_with("layer-") && !attribute.starts_with("layer_with_weights-")) continue;
      auto const& name = name_of(object);
      auto const other = others.find(attribute);
      if (name.empty() || other == others.end()) continue;
      count(path.size() + name.size());
      if (layers_.emplace(path + name, layer_objects{object, other->second}).second)
        find_layers({object, other->second}, path + name + "/", depth + 1);
    }
  }

  /// The variables of an object, in the order in which Keras made them.
  void collect(int object, int depth, std::set<int>& seen, std::vector<int>& to) const {
    auto const& from = checkpoint_[static_cast<std::size_t>(object)];
    if (!seen.insert(object).second) return;
    if (depth > deepest_object) io::refuse("E5102", name_, "its objects are nested too deep");
    count(1 + from.children.size());
    if (!from.key.empty()) to.push_back(object);
    for (auto const& [attribute, child] : from.children)
      if (!is_of_keras(attribute)) collect(child, depth + 1, seen, to);
  }
  std::vector<int> variables_of(int object) const {
    std::vector<int> result;
    std::set<int> seen;
    if (int const list = checkpoint_[static_cast<std::size_t>(object)].child("variables"); list >= 0) {
      std::map<int, int> numbered;
      auto const& children = checkpoint_[static_cast<std::size_t>(list)].children;
      count(children.size());
      for (auto const& [attribute, child] : children)
        if (int const number = number_of(attribute); number >= 0) numbered.emplace(number, child);
      for (auto const& [number, child] : numbered)
        if (!checkpoint_[static_cast<std::size_t>(child)].key.empty() && seen.insert(child).second)
          result.push_back(child);
    }
    if (result.empty()) collect(object, 0, seen, result);
    return result;
  }

  /// A layer's tensors in the order of its weights: by name, the rest in the order of the file.
  std::vector<stored_tensor> weights_of(model_layer const& layer, std::string const& path) const {
    auto const found = layers_.find(path + layer.name);
    if (found == layers_.end()) return {};
    auto left = variables_of(found->second.checkpoint);
    auto const last_part = [](std::string const& name) { return name.substr(name.rfind('/') + 1); };
    std::vector<stored_tensor> result;
    auto const take = [&](std::vector<int>::iterator at) {
      result.push_back(bundle_.tensor(checkpoint_[static_cast<std::size_t>(*at)].key));
      left.erase(at);
    };
    for (auto const& weight : layer.weights) {
      auto at = std::find_if(left.begin(), left.end(), [&](int variable) {
        return last_part(checkpoint_[static_cast<std::size_t>(variable)].full_name) == last_part(weight.name);
      });
      if (at == left.end()) at = left.begin();
      if (at != left.end()) take(at);
    }
    while (!left.empty() && result.size() <= layer.weights.size()) take(left.begin());  // a surplus one is an error
    return result;
  }

  std::string name_;
  import_options const& options_;
  tensor_bundle bundle_;
  object_graph saved_, checkpoint_;
  std::map<int, std::string> metadata_, names_;
  std::map<std::string, layer_objects> layers_;  ///< layers by their paths
  mutable std::size_t taken_ = 0;                ///< counted steps in the graphs and letters of paths
};

}  // namespace

bool is_saved_model(std::string const& folder) { return io::exists(folder + "/saved_model.pb"); }

source_model read_saved_model(saved_model_files files, import_options const& options) {
  auto const name = files.name;
  try {
    auto const saved_model = files.saved_model;
    reader from(std::move(files), options);
    if (from.has_layers() && options.signature.empty()) return from.read();
    auto const graph = parse_saved_graph(saved_model, name + "/saved_model.pb");
    return read_saved_graph(graph, from.variables(), name, options);
  } catch (json::exception const& why) {
    io::refuse("E5102", name, std::string("what it says of a layer is not Keras's: ") + why.what());
  }
}

source_model read_saved_model(std::string const& folder, import_options const& options) {
  auto const text = [&](std::string const& file) { return io::text_of(io::byte_source(folder + "/" + file)); };
  saved_model_files files{folder, text("saved_model.pb"), "", {}};
  if (io::exists(folder + "/keras_metadata.pb")) files.metadata = text("keras_metadata.pb");
  files.variables.index_name = folder + "/variables/variables.index";
  io::byte_source const index(files.variables.index_name);
  files.variables.index = index.read(0, index.size());
  files.variables.open = [folder](int shard, int count) {
    char name[64];
    std::snprintf(name, sizeof name, "/variables/variables.data-%05d-of-%05d", shard, count);
    return std::make_unique<io::byte_source const>(folder + name);
  };
  return read_saved_model(std::move(files), options);
}

}  // namespace stagecraft::tool
