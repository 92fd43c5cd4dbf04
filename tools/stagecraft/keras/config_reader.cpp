// SPDX-License-Identifier: BSD-3-Clause
// Keras's configurations of models: Sequential and functional ones, as Keras 2 and Keras 3 write them.
#include "keras/config_calls.hpp"
#include "keras/config_masks.hpp"
#include "keras/operator_layers.hpp"
#include "source/source_model.hpp"
#include "source/written_layer.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace stagecraft::tool {

namespace {

constexpr int deepest_model = 16;

class reader {
 public:
  reader(std::string const& file, import_options const& options, layer_maker const& make)
      : file_(file), options_(options), make_(make), calls_(file), operators_(file, problems_) {}

  /// Reads the whole model.
  source_model read(json const& config) {
    auto model = read(config, nullptr, 0);
    report();
    if (keeps_states_ && batch_size_ == 0)
      throw file_error("E5064", file_ +
                                    ": a layer is stateful, and no input says how many samples a batch has: build "
                                    "the model with keras.Input(batch_shape=(1, ...))");
    if (keeps_states_) model.batch_size = batch_size_;
    return model;
  }

 private:
  source_model read(json const& config, std::vector<std::optional<shape>> const* given, int depth) {
    auto const class_name = text_in(config, "class_name", "the model");
    if (class_name != "Sequential" && class_name != "Functional" && class_name != "Model")
      wrong("the model is a " + class_name + ", whose layers are not in the file; a Sequential or functional model is");
    if (depth > deepest_model) wrong("models are nested more than " + std::to_string(deepest_model) + " deep");
    auto const found = config.find("config");
    if (found == config.end()) wrong("the model has no 'config'");
    json wrapped;  // Keras 2.0 had the list of layers in its place
    if (found->is_array()) wrapped = json{{"name", "sequential"}, {"layers", *found}};
    json const& content = wrapped.is_null() ? *found : wrapped;
    if (!content.is_object() || !content.contains("layers") || !content["layers"].is_array())
      wrong("the model, a " + class_name + ", has no list of layers");
    source_model model;
    model.name = content.value("name", "model");
    model.is_sequential = class_name == "Sequential";
    if (model.is_sequential)
      read_sequential(content, given, depth, model);
    else
      read_functional(content, given, depth, model);
    return model;
  }

  void report() const {
    if (problems_.empty() && !without_shape_.empty()) wrong(without_shape_);
    if (problems_.empty()) return;
    std::string text = file_ + ": what this model has and stagecraft has not:";
    for (auto const& each : problems_) text += "\n  " + each;
    throw file_error("E5064", text);
  }

  [[noreturn]] void wrong(std::string const& what) const { throw file_error("E5063", file_ + ": " + what); }

  std::string text_in(json const& object, char const* key, std::string const& of) const {
    if (!object.is_object() || !object.contains(key) || !object[key].is_string())
      wrong(of + " has no '" + std::string(key) + "'");
    return object[key].get<std::string>();
  }

  void read_sequential(json const& content, std::vector<std::optional<shape>> const* given, int depth,
                       source_model& model) {
    json const* input_shape = nullptr;
    auto const look = [&](json const& in, char const* key) {
      if (input_shape == nullptr && in.is_object() && in.contains(key) && in[key].is_array()) input_shape = &in[key];
    };
    auto const& entries = content["layers"];
    if (entries.empty()) wrong("model '" + model.name + "' has no layers");
    auto const& first = config_of(entries.front());
    look(first, "batch_input_shape");
    look(first, "batch_shape");
    look(content, "build_input_shape");
    if (content.contains("build_config")) look(content["build_config"], "input_shape");
    bool const begins_with_input = entries.front().value("class_name", "") == "InputLayer";
    auto const name = begins_with_input ? first.value("name", "input_1") : std::string("input_1");
    source_tensor last = add_input(model, name, input_shape, given, 0);
    if (begins_with_input) model.layers.back().config = first;
    std::set<std::string> names{name};
    for (auto const& entry : entries) {
      if (&entry == &entries.front() && begins_with_input) continue;
      int const layer = add_layer(model, entry, names);
      last = {add_call(model, layer, entry, {last}, json::object(), depth), 0};
    }
    model.outputs = {last};
  }

  json const& config_of(json const& entry) const {
    auto const class_name = text_in(entry, "class_name", "a layer");
    if (!entry.contains("config") || !(entry["config"].is_object() || entry["config"].is_array()))
      wrong("a layer of class " + class_name + " has no 'config'");
    return entry["config"];
  }

  int add_layer(source_model& model, json const& entry, std::set<std::string>& names) const {
    auto const& config = config_of(entry);
    model_layer layer;
    layer.class_name = text_in(entry, "class_name", "a layer");
    if (entry.contains("name") && entry["name"].is_string())
      layer.name = entry["name"].get<std::string>();
    else
      layer.name = text_in(config, "name", "a layer of class " + layer.class_name);
    if (!names.insert(layer.name).second) wrong("model '" + model.name + "' has two layers '" + layer.name + "'");
    layer.config = config;
    model.layers.push_back(std::move(layer));
    return static_cast<int>(model.layers.size()) - 1;
  }

  source_tensor add_input(source_model& model, std::string const& name, json const* batch_shape,
                          std::vector<std::optional<shape>> const* given, std::size_t position) {
    std::optional<shape> found;
    if (given != nullptr) {
      if (position >= given->size())
        wrong("model '" + model.name + "' has more inputs than the " + std::to_string(given->size()) +
              " that it is called with");
      found = (*given)[position];
      if (!found)
        without_shape_ =
            "model '" + model.name + "' is called with a tensor whose shape does not follow from its layers";
    } else {
      found = input_shape(name, batch_shape, position);
    }
    model.layers.push_back({name, "InputLayer", true, nullptr, nullptr, {}, {}, 1, {}, {}});
    model.calls.push_back({static_cast<int>(model.layers.size()) - 1, {}, {found}});
    model.inputs.push_back(static_cast<int>(model.calls.size()) - 1);
    return {model.inputs.back(), 0};
  }

  shape input_shape(std::string const& name, json const* batch_shape, std::size_t position) {
    std::vector<int> lengths;
    bool is_known = batch_shape != nullptr && batch_shape->is_array() && !batch_shape->empty();
    std::string text;
    for (std::size_t i = 1; is_known && i < batch_shape->size(); ++i) {
      auto const& length = (*batch_shape)[i];
      text += (text.empty() ? "" : ", ") + (length.is_null() ? std::string("None") : length.dump());
      lengths.push_back(length.is_number_integer() ? static_cast<int>(std::clamp<long long>(
                                                         length.get<long long>(), 0, std::numeric_limits<int>::max()))
                                                   : 0);
    }
    for (int const length : lengths) is_known = is_known && length > 0;
    if (batch_shape != nullptr && batch_shape->is_array() && !batch_shape->empty())
      add_batch(name, batch_shape->front());
    if (position < options_.input_shapes.size()) lengths = options_.input_shapes[position], is_known = true;
    if (!is_known)
      wrong("input '" + name + "' has the shape (" + text +
            "); say which one it shall have, without the batch: " + "--input-shape 224,224,3");
    if (lengths.size() > shape::max_rank) wrong("input '" + name + "' has more than six axes");
    shape result;
    for (int const length : lengths) result.push_back(length);
    return result;
  }

  void add_batch(std::string const& name, json const& size) {
    if (size.is_null()) return;
    int const samples = size.is_number_integer() && size >= 1 && size <= 1'000'000 ? size.get<int>() : 0;
    if (samples == 0 || (batch_size_ != 0 && batch_size_ != samples))
      wrong("input '" + name + "' has the batch size " + size.dump() +
            (samples == 0 ? std::string() : ", another input " + std::to_string(batch_size_)));
    batch_size_ = samples;
  }

  /// Keras's `stateful` of a recurrent layer, or of the layer inside a Bidirectional.
  static bool is_stateful(json const& config) {
    if (!config.is_object()) return false;
    if (auto const found = config.find("stateful"); found != config.end() && *found == true) return true;
    auto const inner = config.find("layer");
    return inner != config.end() && inner->is_object() && inner->contains("config") &&
           inner->at("config").is_object() && inner->at("config").value("stateful", json(false)) == true;
  }

  /// True for a call of a layer that the library lacks: neither shapes nor the number of its outputs are known.
  static bool is_unknown(source_call const& call) { return call.outputs.size() == 1 && !call.outputs[0]; }

  int add_call(source_model& model, int index, json const& entry, std::vector<source_tensor> inputs,
               json const& call_options, int depth) {
    std::vector<std::optional<shape>> shapes;
    for (auto const& input : inputs) {
      auto const& from = model.calls[static_cast<std::size_t>(input.call)];
      if (is_unknown(from)) {
        shapes.push_back(std::nullopt);
        continue;
      }
      if (input.output < 0 || input.output >= static_cast<int>(from.outputs.size()))
        wrong("layer '" + model.layers[static_cast<std::size_t>(index)].name + "' takes output " +
              std::to_string(input.output) + " of '" + model.layer_of(from).name + "', which has " +
              std::to_string(from.outputs.size()));
      shapes.push_back(from.outputs[static_cast<std::size_t>(input.output)]);
    }
    auto& layer = model.layers[static_cast<std::size_t>(index)];
    keeps_states_ = keeps_states_ || is_stateful(layer.config);
    source_call call{index, std::move(inputs), {}};
    bool const is_model =
        layer.class_name == "Sequential" || layer.class_name == "Functional" || layer.class_name == "Model";
    try {
      if (is_model) {
        if (!layer.nested) layer.nested = std::make_unique<source_model>(read(entry, &shapes, depth + 1));
        if (layer.nested->inputs.size() != shapes.size())
          wrong("model '" + layer.name + "' is called with " + std::to_string(shapes.size()) + " tensors");
        for (auto const& output : layer.nested->outputs)
          call.outputs.push_back(layer.nested->calls[static_cast<std::size_t>(output.call)]
                                     .outputs[static_cast<std::size_t>(output.output)]);
      } else {
        call.outputs = find_rules(layer, config_of(entry), call_options, shapes);
      }
    } catch (unsupported const& why) {
      if (layer.calls == 0) {
        std::string const said = why.what();  // some of the library's own errors begin with the layer
        problems_.push_back(said.starts_with("layer '") ? said
                                                        : "layer '" + diagnostics::shown_name(layer.name) + "' (" +
                                                              diagnostics::shown_name(layer.class_name) + ") " + said);
      }
      call.outputs.push_back(std::nullopt);
    }
    ++layer.calls;
    model.calls.push_back(std::move(call));
    return static_cast<int>(model.calls.size()) - 1;
  }

  /// The type that a layer computes in; none for float32. Throws unsupported for any type but the half ones, here
  /// because a call's keyword of the same name hides the key from the check of the layer's options.
  static std::optional<dtype> own_dtype(std::string const& name) {
    auto const found = dtype_named(name);
    if (found == dtype::float32) return std::nullopt;
    if (!found || !is_half(*found))
      throw unsupported("has options that are not here: 'dtype' (" + json(name).dump(-1, ' ', true).substr(0, 60) +
                        ")");
    return found;
  }

  std::vector<std::optional<shape>> find_rules(model_layer& layer, json const& config, json const& call_options,
                                               std::vector<std::optional<shape>> const& shapes) const {
    if (!config.is_object()) throw unsupported("has no options");
    bool const is_known = !shapes.empty() && std::all_of(shapes.begin(), shapes.end(), [](auto const& x) { return x; });
    bool const is_first = layer.calls == 0;
    if (is_first) {
      layer.call_options = call_options;
      int const rank = is_known ? shapes.front()->rank() + 1 : 0;
      bool const is_in_header = layer.class_name == own_class && config.contains("output");
      auto own_options = call_options;
      if (own_options.is_object()) own_options.erase(masks_key), own_options.erase(masks_go_on_key);
      layer.layer = is_in_header ? written_layer(config) : make_({layer.class_name, config, rank, own_options});
      if (own_options != call_options)
        layer.layer = masked_layer(std::move(layer.layer), layer.class_name, call_options[masks_key],
                                   call_options.contains(masks_go_on_key));
      if (auto const nodes = config.find("nodes"); nodes != config.end() && nodes->is_array())
        for (auto const& each : *nodes)
          if (each.is_string()) layer.nodes.push_back(each.get<std::string>());
      if (auto const type = config.find("dtype"); type != config.end() && type->is_string())
        layer.layer->dtype = own_dtype(type->get<std::string>());
      if (auto const on_host = config.find("on_host"); on_host != config.end() && on_host->is_boolean())
        layer.layer->is_on_host = on_host->get<bool>();
    }
    if (!is_known || !layer.layer) return {std::nullopt};
    std::vector<shape> known;
    for (auto const& each : shapes) known.push_back(*each);
    auto rules = layer.layer->rules(known, layer.name);
    if (is_first) layer.layer->learn(rules);
    if (is_first) layer.weights = std::move(rules.weights);
    if (rules.parts.empty()) return {rules.output};
    return {rules.parts.begin(), rules.parts.end()};
  }

  void read_functional(json const& content, std::vector<std::optional<shape>> const* given, int depth,
                       source_model& model) {
    auto const entries = without_implied_masks(content["layers"]);
    auto const inputs = calls_.read_ends(content, "input_layers", model.name);
    std::map<std::string, int> index;            // of layers
    std::map<std::pair<int, int>, int> call_of;  // of a layer's nodes
    std::vector<config_call> calls;
    std::vector<int> entry_of;
    std::map<std::string, json const*> input_entries;
    for (auto const& each : entries)
      if (each.is_object() && each.value("class_name", "") == "InputLayer")
        input_entries.emplace(each.value("name", ""), &each);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto const entry = input_entries.find(inputs[i].layer);
      if (entry == input_entries.end()) wrong("model '" + model.name + "' has no input '" + inputs[i].layer + "'");
      auto const& config = config_of(*entry->second);
      auto const shape = config.contains("batch_shape") ? config.find("batch_shape") : config.find("batch_input_shape");
      auto const tensor = add_input(model, inputs[i].layer, shape == config.end() ? nullptr : &*shape, given, i);
      int const layer = model.calls[static_cast<std::size_t>(tensor.call)].layer;
      model.layers[static_cast<std::size_t>(layer)].config = config;
      index[inputs[i].layer] = layer;
      call_of[{layer, 0}] = tensor.call;
    }
    std::map<int, json const*> entry_of_layer;
    std::set<std::string> names;
    for (auto const& each : model.layers) names.insert(each.name);
    for (auto const& entry : entries) {
      if (text_in(entry, "class_name", "a layer") == "InputLayer") continue;
      if (is_operator(entry)) {
        read_operator_calls(entry, model, names, index, calls);
        continue;
      }
      int const layer = add_layer(model, entry, names);
      entry_of_layer[layer] = &entry;
      auto const& name = model.layers[static_cast<std::size_t>(layer)].name;
      index[name] = layer;
      if (!entry.contains("inbound_nodes") || !entry["inbound_nodes"].is_array())
        wrong("layer '" + name + "' has no 'inbound_nodes'");
      for (auto const& node : entry["inbound_nodes"]) calls.push_back(calls_.read_node(node, layer, name));
    }
    auto const outputs = calls_.read_ends(content, "output_layers", model.name);
    auto const first_node = first_nodes(model, index, calls, outputs);
    add_calls(model, calls, index, first_node, entry_of_layer, call_of, outputs, names, depth);
    for (auto const& output : outputs) {
      auto const tensor = find(output, model, index, first_node, call_of);
      auto const* const call = tensor ? &model.calls[at(tensor->call)] : nullptr;
      if (call == nullptr || tensor->output < 0 ||
          (!is_unknown(*call) && tensor->output >= static_cast<int>(call->outputs.size())))
        wrong("model '" + model.name + "' has an output of '" + output.layer + "' that no call gives");
      model.outputs.push_back(*tensor);
    }
  }

  /// The number of each layer's first node: a nested model has a node of its own before those of its calls.
  static std::map<int, int> first_nodes(source_model const& model, std::map<std::string, int> const& index,
                                        std::vector<config_call> const& calls, std::vector<history> const& outputs) {
    std::map<int, int> count, last, first;
    for (auto const& call : calls) ++count[call.layer];
    auto const look = [&](history const& tensor) {
      auto const found = index.find(tensor.layer);
      if (found != index.end()) last[found->second] = std::max(last[found->second], tensor.node);
    };
    for (auto const& call : calls)
      for (auto const& tensor : call.inputs) look(tensor);
    for (auto const& tensor : outputs) look(tensor);
    for (auto const& [layer, calls_of_it] : count) first[layer] = last[layer] >= calls_of_it ? 1 : 0;
    static_cast<void>(model);
    return first;
  }

  /// The tensor of a history, if its call has been read. Throws E5063 if there is no such call.
  std::optional<source_tensor> find(history const& tensor, source_model const& model,
                                    std::map<std::string, int> const& index, std::map<int, int> const& first_node,
                                    std::map<std::pair<int, int>, int> const& call_of) const {
    auto const layer = index.find(tensor.layer);
    if (layer == index.end()) wrong("model '" + model.name + "' has no layer '" + tensor.layer + "'");
    if (auto const made = operators_.find({layer->second, tensor.node, tensor.output})) return made;
    auto const first = first_node.find(layer->second);
    auto const call = call_of.find({layer->second, tensor.node - (first == first_node.end() ? 0 : first->second)});
    if (call == call_of.end()) return std::nullopt;
    return source_tensor{call->second, tensor.output};
  }

  /// Adds a call of an operation on tensors, which is no layer of the model: its nodes become layers in add_calls.
  void read_operator_calls(json const& entry, source_model const& model, std::set<std::string>& names,
                           std::map<std::string, int>& index, std::vector<config_call>& calls) {
    auto name = entry.contains("name") && entry["name"].is_string() ? entry["name"].get<std::string>()
                                                                    : text_in(config_of(entry), "name", "an operation");
    if (!names.insert(name).second) wrong("model '" + model.name + "' has two layers '" + name + "'");
    json named;
    int const number = index[name] = operators_.declare(name, function_of_operator(entry, named));
    if (!entry.contains("inbound_nodes") || !entry["inbound_nodes"].is_array())
      wrong("layer '" + name + "' has no 'inbound_nodes'");
    for (auto const& node : entry["inbound_nodes"]) calls.push_back(calls_.read_operator(node, number, name, named));
  }

  void add_calls(source_model& model, std::vector<config_call> const& calls, std::map<std::string, int> const& index,
                 std::map<int, int> const& first_node, std::map<int, json const*> const& entry_of_layer,
                 std::map<std::pair<int, int>, int>& call_of, std::vector<history> const& outputs,
                 std::set<std::string>& names, int depth) {
    std::vector<int> node(calls.size());
    std::map<int, int> nodes_of_layer;
    for (std::size_t i = 0; i < calls.size(); ++i) node[i] = nodes_of_layer[calls[i].layer]++;
    auto const order = order_of_calls(calls, node, index, first_node, call_of, model);
    auto const find_tensor = [&](history const& tensor) { return find(tensor, model, index, first_node, call_of); };
    auto const place_of = [&](history const& tensor) {
      int const layer = index.at(tensor.layer);
      auto const first = first_node.find(layer);
      return std::pair(layer, tensor.node - (first == first_node.end() ? 0 : first->second));
    };
    operator_groups groups(calls, node, order, place_of, outputs);
    for (auto const& step : groups.steps()) {
      if (step.group >= 0) {
        operators_.add(model, groups, step.group, calls, node, find_tensor, names);
        continue;
      }
      auto const i = step.call;
      std::vector<source_tensor> inputs;
      for (auto const& tensor : calls[i].inputs)
        if (auto const found = find_tensor(tensor)) inputs.push_back(*found);
      call_of[{calls[i].layer, node[i]}] =
          add_call(model, calls[i].layer, *entry_of_layer.at(calls[i].layer), inputs, calls[i].options, depth);
    }
  }

  /// Orders calls so that each comes after its inputs, as if the file were read in rounds, each of which takes the
  /// calls whose inputs are known. A call's round follows from its inputs, in one walk.
  std::vector<std::size_t> order_of_calls(std::vector<config_call> const& calls, std::vector<int> const& node,
                                          std::map<std::string, int> const& index, std::map<int, int> const& first_node,
                                          std::map<std::pair<int, int>, int> const& call_of,
                                          source_model const& model) const {
    std::map<std::pair<int, int>, std::size_t> place;
    for (std::size_t i = 0; i < calls.size(); ++i) place.emplace(std::pair(calls[i].layer, node[i]), i);
    std::vector<std::vector<std::size_t>> users(calls.size());
    std::vector<std::size_t> missing(calls.size()), round(calls.size()), ready;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (auto const& tensor : calls[i].inputs) {
        if (find(tensor, model, index, first_node, call_of)) continue;  // an input of the model
        ++missing[i];
        int const layer = index.at(tensor.layer);
        auto const first = first_node.find(layer);
        auto const from = place.find({layer, tensor.node - (first == first_node.end() ? 0 : first->second)});
        if (from != place.end()) users[from->second].push_back(i);  // otherwise the call never becomes possible
      }
      if (missing[i] == 0) ready.push_back(i);
    }
    for (std::size_t done = 0; done < ready.size(); ++done) {
      auto const from = ready[done];
      for (auto const user : users[from]) {
        round[user] = std::max(round[user], round[from] + (user < from ? 1 : 0));
        if (--missing[user] == 0) ready.push_back(user);
      }
    }
    if (ready.size() < calls.size()) wrong("the calls of model '" + model.name + "' go round in a circle");
    std::sort(ready.begin(), ready.end(),
              [&](auto a, auto b) { return std::pair(round[a], a) < std::pair(round[b], b); });
    return ready;
  }

  std::string const& file_;
  import_options const& options_;
  layer_maker const& make_;
  config_calls calls_;
  std::vector<std::string> problems_;
  operator_layers operators_;
  bool keeps_states_ = false;
  int batch_size_ = 0;  ///< the batch size, if the file states it
  /// The error for an input without a shape, which is reported if there is no other error that may be its cause.
  std::string without_shape_;
};

}  // namespace

source_model read_config(json const& config, std::string const& file, import_options const& options,
                         layer_maker const& make) {
  reader from(file, options, make);
  try {
    return from.read(config);
  } catch (json::exception const& why) {
    throw file_error("E5063", file + ": the model's configuration is not one of Keras's: " + why.what());
  }
}

}  // namespace stagecraft::tool
