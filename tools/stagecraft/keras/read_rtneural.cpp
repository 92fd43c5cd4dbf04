// SPDX-License-Identifier: BSD-3-Clause
// Models in the JSON format of RTNeural, a library for neural networks in real-time audio: a list of layers with their
// weights in Keras's order. They become Keras's configuration of a sequential model, which read_config reads.
//
// RTNeural calls a network with one sample after the other; its recurrent layers and convolutions keep their state in
// between. If the file leaves the number of steps open, the model here does the same: it computes one step in each
// call, with stateful layers.
#include "keras/layer_weights.hpp"
#include "source/source_model.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/shown_text.hpp>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace stagecraft::tool {

namespace {

class rtneural_reader {
 public:
  rtneural_reader(std::string const& file, import_options const& options) : file_(file), options_(options) {}

  source_model read(json const& whole) {
    for (auto const& [key, value] : whole.items())
      if (key != "in_shape" && key != "layers") wrong("it has the key '" + shown(key) + "', which is not known");
    auto const& layers = whole.at("layers");
    if (!layers.is_array() || layers.empty()) wrong("it has no layers");
    read_input(whole.at("in_shape"));
    for (auto const& each : layers) add(each);
    report();
    json const config{{"class_name", "Sequential"}, {"config", {{"name", "rtneural"}, {"layers", entries_}}}};
    auto model = read_config(config, file_, options_);
    read_weights_by(
        [&](model_layer const& layer, std::string const&) { return std::exchange(weights_[layer.name], {}); }, file_,
        model);
    for (auto const& [name, left] : weights_)
      if (!left.empty()) throw file_error("E5065", file_ + ": layer '" + name + "' has weights, expected none");
    return model;
  }

 private:
  static std::string shown(std::string const& text) { return diagnostics::shown_name(text).c_str(); }
  [[noreturn]] void wrong(std::string const& what) const { throw file_error("E5063", file_ + ": " + what); }
  void note(std::string const& problem) { problems_.push_back(place_ + ": " + problem); }

  void report() const {
    if (problems_.empty()) return;
    std::string text = file_ + ": what this model has and stagecraft has not:";
    for (auto const& each : problems_) text += "\n  " + each;
    throw file_error("E5064", text);
  }

  /// Reads the input's shape: (samples, steps, numbers) or (samples, numbers).
  void read_input(json const& in_shape) {
    bool holds = in_shape.is_array() && (in_shape.size() == 2 || in_shape.size() == 3) && in_shape.front().is_null() &&
                 in_shape.back().is_number_integer();
    if (holds && in_shape.size() == 3) holds = in_shape[1].is_null() || in_shape[1].is_number_integer();
    if (!holds) wrong("in_shape is " + shown(in_shape.dump()) + ", expected [null, numbers] or [null, steps, numbers]");
    auto shape = in_shape;
    has_steps_ = shape.size() == 3;
    goes_on_ = has_steps_ && shape[1].is_null() && options_.input_shapes.empty();
    if (goes_on_) shape[0] = shape[1] = 1;
    entries_.push_back({{"class_name", "InputLayer"}, {"config", {{"name", "input_1"}, {"batch_input_shape", shape}}}});
  }

  void add(json const& layer) {
    place_ = "layer " + std::to_string(count_++);
    if (!layer.is_object()) wrong(place_ + " is no object");
    auto const type = text(layer, "type");
    place_ += " (" + shown(type) + ")";
    auto const activation = text(layer, "activation");
    auto const shape = layer.find("shape");
    if (shape == layer.end() || !shape->is_array() || shape->empty() || !shape->back().is_number_integer())
      wrong(place_ + " has no shape");
    width_ = shape->back().get<std::int64_t>();
    weights_of_layer_ = numbers_of(layer);
    keys_ = {"type", "activation", "shape", "weights"};
    auto const weights = weights_of_layer_.size();
    if (type == "dense" || type == "time-distributed-dense") {
      add("dense", "Dense", {{"units", width_}, {"activation", function(activation)}, {"use_bias", weights != 1}});
    } else if (type == "activation") {
      add("activation", "Activation", {{"activation", function(activation)}});
    } else if (type == "lstm") {
      add("lstm", "LSTM", recurrent({}, activation));
    } else if (type == "gru") {
      add("gru", "GRU", recurrent({{"reset_after", true}}, activation));
    } else if (type == "conv1d") {
      add_conv1d(layer, activation);
    } else if (type == "prelu") {
      without_activation(activation);
      add_prelu();
    } else if (type == "batchnorm") {
      without_activation(activation);
      add_batchnorm(layer);
    } else {
      note("there is no layer of this type");
    }
    for (auto const& [key, value] : layer.items())
      if (!keys_.contains(key)) note("'" + shown(key) + "' is not known");
  }

  /// Adds a layer under Keras's default name: dense, dense_1, dense_2.
  void add(std::string const& word, char const* class_name, json config) {
    int const before = named_[word]++;
    auto const name = before == 0 ? word : word + "_" + std::to_string(before);
    config["name"] = name;
    entries_.push_back({{"class_name", class_name}, {"config", std::move(config)}});
    weights_[name] = std::move(weights_of_layer_);
  }

  /// The options of a recurrent layer, which has Keras's functions: tanh, and sigmoid for its gates.
  json recurrent(json config, std::string const& activation) {
    if (activation != "tanh") note("the activation '" + shown(activation) + "' is not known; expected tanh");
    config.update({{"units", width_}, {"return_sequences", true}, {"stateful", goes_on_}});
    return config;
  }

  void without_activation(std::string const& activation) {
    if (!activation.empty()) note("the activation '" + shown(activation) + "' is not known; expected none");
  }

  void add_conv1d(json const& layer, std::string const& activation) {
    auto const length = single(layer, "kernel_size"), dilation = single(layer, "dilation");
    int groups = 1;
    if (auto const found = layer.find("groups"); found != layer.end()) groups = whole(*found, "groups");
    keys_.insert({"kernel_size", "dilation", "groups"});
    add("conv1d", "Conv1D",
        {{"filters", width_},
         {"kernel_size", json::array({length})},
         {"dilation_rate", json::array({dilation})},
         {"groups", groups},
         {"padding", "causal"},
         {"activation", function(activation)},
         {"use_bias", weights_of_layer_.size() != 1},
         {"stateful", goes_on_ && length > 1}});
  }

  /// Adds a PReLU with one slope for each channel, or one for all.
  void add_prelu() {
    std::int64_t slopes = 1;
    if (weights_of_layer_.size() == 1) {
      auto& slope = weights_of_layer_.front();
      slopes = slope.size();
      slope.shape = {slopes};
      if (has_steps_) slope.shape.insert(slope.shape.begin(), 1);
    }
    json axes = json::array();
    if (has_steps_) axes.push_back(1);
    if (slopes == 1 && width_ != 1) axes.push_back(has_steps_ ? 2 : 1);
    add("p_re_lu", "PReLU", {{"shared_axes", axes}});
  }

  /// Adds a batch normalization with gamma, beta, mean and variance, or with the last two alone.
  void add_batchnorm(json const& layer) {
    keys_.insert("epsilon");
    auto const epsilon = layer.find("epsilon");
    if (epsilon == layer.end() || !epsilon->is_number()) wrong(place_ + " has no epsilon");
    bool const scales = weights_of_layer_.size() != 2;
    add("batch_normalization", "BatchNormalization", {{"epsilon", *epsilon}, {"center", scales}, {"scale", scales}});
  }

  std::string function(std::string const& activation) {
    static std::set<std::string> const known{"tanh", "relu", "sigmoid", "softmax", "elu"};
    if (activation.empty()) return "linear";
    if (!known.contains(activation)) note("the activation '" + shown(activation) + "' is not known");
    return activation;
  }

  std::string text(json const& layer, char const* key) const {
    auto const found = layer.find(key);
    if (found == layer.end() || !found->is_string()) wrong(place_ + " has no '" + key + "'");
    return found->get<std::string>();
  }
  int whole(json const& value, char const* key) const {
    if (!value.is_number_integer() || value < 1 || value > 1'000'000)
      wrong(place_ + ": '" + key + "' is no number above 0");
    return value.get<int>();
  }
  int single(json const& layer, char const* key) const {
    auto const found = layer.find(key);
    if (found == layer.end() || !found->is_array() || found->size() != 1)
      wrong(place_ + ": '" + key + "' is not a list of one number");
    return whole(found->front(), key);
  }

  std::vector<stored_tensor> numbers_of(json const& layer) const {
    auto const found = layer.find("weights");
    if (found == layer.end() || !found->is_array()) wrong(place_ + " has no list of weights");
    std::vector<stored_tensor> result;
    for (auto const& array : *found) {
      stored_tensor tensor{place_ + ", array " + std::to_string(result.size()), element_type::float64, {}, {}};
      for (auto const* inner = &array; inner->is_array() && tensor.shape.size() < 4; inner = &inner->front()) {
        if (inner->empty()) wrong(tensor.name + " is empty");
        tensor.shape.push_back(static_cast<std::int64_t>(inner->size()));
      }
      append(array, 0, tensor);
      result.push_back(std::move(tensor));
    }
    return result;
  }

  void append(json const& array, std::size_t axis, stored_tensor& to) const {
    if (axis == to.shape.size()) {
      if (!array.is_number()) wrong(to.name + " has something else than numbers");
      auto const number = array.get<double>();
      auto const before = to.bytes.size();
      to.bytes.resize(before + sizeof number);
      std::memcpy(to.bytes.data() + before, &number, sizeof number);
      return;
    }
    if (!array.is_array() || static_cast<std::int64_t>(array.size()) != to.shape[axis])
      wrong(to.name + " has rows of different lengths");
    for (auto const& each : array) append(each, axis + 1, to);
  }

  std::string const& file_;
  import_options const& options_;
  json entries_ = json::array();
  std::map<std::string, std::vector<stored_tensor>> weights_;  ///< weights by the name of the layer
  std::map<std::string, int> named_;
  std::vector<std::string> problems_;
  // The layer that is being read.
  int count_ = 0;
  std::string place_;
  std::int64_t width_ = 0;
  std::vector<stored_tensor> weights_of_layer_;
  std::set<std::string> keys_;
  // The input.
  bool has_steps_ = false;
  bool goes_on_ = false;  ///< true: one step in each call, with states that persist
};

}  // namespace

bool is_rtneural(json const& whole) {
  return whole.is_object() && whole.contains("in_shape") && whole.contains("layers");
}

source_model read_rtneural(json const& whole, std::string const& file, import_options const& options) {
  return rtneural_reader(file, options).read(whole);
}

}  // namespace stagecraft::tool
