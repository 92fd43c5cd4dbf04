// SPDX-License-Identifier: BSD-3-Clause
// The layers of the library that can be imported, by their class names.
#include "keras/library_layer.hpp"

#include <stagecraft/diagnostics/shown_text.hpp>
#include <functional>
#include <map>

namespace stagecraft::tool {

json const& option_in(json const& config, std::string_view word, std::string_view option,
                      std::set<std::string>& known) {
  static json const nothing;
  for (auto const& name : keras_names_of(word, option)) {
    auto const found = config.find(name);
    if (found == config.end()) continue;
    known.insert(name);
    return *found;
  }
  return nothing;
}

void check_unknown_options(json const& config, std::set<std::string> const& known) {
  // Options without effect here: names, seeds, shapes, and how TensorFlow computes.
  static std::set<std::string> const ignored{"name",
                                             "trainable",
                                             "batch_input_shape",
                                             "batch_shape",
                                             "build_config",
                                             "sparse",
                                             "ragged",
                                             "optional",
                                             "implementation",
                                             "unroll",
                                             "input_length",
                                             "seed",
                                             "query_shape",
                                             "key_shape",
                                             "value_shape",
                                             "fused",
                                             "flash_attention",
                                             "use_cudnn",
                                             "renorm_momentum",
                                             "renorm_clipping",
                                             "supports_jit",
                                             "shared_object_id",
                                             "value_range",
                                             "input_dtype",
                                             "on_host",
                                             "nodes"};
  // Options that must have one of these values.
  static std::map<std::string, std::vector<json>> const fixed{{"data_format", {"channels_last"}},
                                                              {"axis", {-1}},
                                                              {"activity_regularizer", {}},
                                                              {"time_major", {false}},
                                                              {"stateful", {false}},
                                                              {"return_state", {false}},
                                                              {"renorm", {false}},
                                                              {"groups", {1}},
                                                              {"synchronized", {false}},
                                                              {"virtual_batch_size", {}},
                                                              {"adjustment", {}},
                                                              {"rms_scaling", {false}},
                                                              {"use_gate", {false}},
                                                              {"sliding_window", {}},
                                                              {"lora_rank", {}},
                                                              {"lora_alpha", {}},
                                                              {"quantization_config", {}},
                                                              {"zero_output_for_mask", {false}},
                                                              {"score_mode", {"dot"}},
                                                              {"batch_size", {}},
                                                              {"input_spec", {}},
                                                              {"training", {}},
                                                              {"mask", {}},
                                                              {"return_attention_scores", {false}},
                                                              {"count_weights", {}},
                                                              {"invert", {false}},
                                                              {"weights", {}},
                                                              {"dtype", {"float32", "float16", "bfloat16"}}};
  std::string text;
  for (auto const& [name, value] : config.items()) {
    if (known.contains(name) || ignored.contains(name)) continue;
    // The initializer of a weight that the layer lacks: Keras writes its base's options.
    if (name.ends_with("_initializer")) continue;
    json given = value;
    if (name == "dtype" && value.is_object() && value.contains("config") && value["config"].is_object())
      given = value["config"].value("name", "");
    auto const rule = fixed.find(name);
    bool is_here = given.is_null();
    if (rule != fixed.end())
      for (auto const& allowed : rule->second) is_here = is_here || given == allowed;
    if (!is_here) text += (text.empty() ? "" : ", ") + ("'" + name + "' (" + given.dump().substr(0, 60) + ")");
  }
  if (!text.empty()) throw unsupported("has options that are not here: " + text);
}

namespace {

using maker = std::function<std::unique_ptr<source_layer>(layer_config const&)>;

/// The layers that can be imported, by Keras's names of their classes.
struct layer_list {
  std::map<std::string, maker, std::less<>> makers;
  std::vector<own_text> words;
  std::map<std::string, std::vector<std::string>, std::less<>> keras_names;  ///< keys are "word.option"
};

/// A row of the table, to which Keras's other names of options can be added.
class table_row {
 public:
  table_row(layer_list& to, std::string_view word) : to_(to), word_(word) {}
  table_row& with_names(std::string const& option, std::vector<std::string> names) {
    to_.keras_names[std::string(word_) + "." + option] = std::move(names);
    return *this;
  }

 private:
  layer_list& to_;
  std::string_view word_;
};

/// Adds a layer. Options that a file lacks have the values of the prototype.
template <class L>
table_row add(layer_list& to, L const& prototype, argument_counts const& counts = {}) {
  to.words.push_back(word_of_type<L>);
  to.makers[std::string(L::class_name)] = [=](layer_config const& config) {
    // One type of pointer for all layers.
    return std::unique_ptr<source_layer>(new library_layer<L>(prototype, counts, config));
  };
  return {to, word_of_type<L>.view()};
}

}  // namespace

layer_config wrapped_config(layer_config const& config, char const* key) {
  auto const found = config.options.find(key);
  if (found == config.options.end() || !found->is_object() || !found->contains("class_name") ||
      !(*found)["class_name"].is_string() || !found->contains("config") || !(*found)["config"].is_object())
    throw unsupported("has no layer inside it");
  return {(*found)["class_name"].get<std::string>(), (*found)["config"]};
}

namespace {

/// Keras's TimeDistributed, whose rules are those of the layer inside it, for each step.
class time_distributed_layer : public source_layer {
 public:
  explicit time_distributed_layer(layer_config const& config) {
    auto inner = wrapped_config(config, "layer");
    inner.rank = config.rank > 0 ? config.rank - 1 : 0;
    each_ = make_layer(inner);
    if (!each_->wrapped_names.empty()) throw unsupported("has a wrapper inside it");
    word = "time_distributed";
    default_name = word.view();
    wrapped_names = {each_->default_name};
    arguments.push_back({"layer", {literal::kinds::fixed, text_of(*each_)}, false});
    check_unknown_options(config.options, {"layer"});
  }
  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const& name) const override {
    if (inputs.size() != 1 || inputs[0].rank() < 2) throw unsupported("is called on something else than a sequence");
    shape const step = layers::time_distributed<layers::dense>::of_step(inputs[0]);
    auto result = each_->rules(std::span(&step, 1), name);
    shape output(inputs[0][0]);
    for (int const length : result.output) output.push_back(length);
    result.output = output;
    return result;
  }

 private:
  std::unique_ptr<source_layer> each_;
};

/// Keras's Bidirectional of a recurrent layer of the library.
template <class Recurrent>
class bidirectional_layer : public source_layer {
 public:
  bidirectional_layer(layer_config const& config, layer_config const& inner) {
    struct reader : library_layer<Recurrent> {
      explicit reader(layer_config const& of) : library_layer<Recurrent>(Recurrent(1), {.required = 1}, of) {}
      using library_layer<Recurrent>::value_;
    };
    reader const recurrent(inner);
    value_ = layers::bidirectional<Recurrent>(recurrent.value_);
    word = "bidirectional";
    default_name = word.view();
    wrapped_names = {recurrent.default_name};
    arguments.push_back({"layer", {literal::kinds::fixed, text_of(recurrent)}, false});
    std::set<std::string> known{"layer", "backward_layer"};
    if (auto const& mode = option_in(config.options, word, "merge_mode", known); !mode.is_null()) {
      auto const written = read_option(mode, value_.options.merge_mode);
      options.push_back({"merge_mode", written, value_.options.merge_mode == layers::merge_mode::concat});
    } else {
      throw unsupported("option 'merge_mode' is null");
    }
    check_unknown_options(config.options, known);
  }
  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const& name) const override {
    return rules_from(value_, inputs, name);
  }

 private:
  layers::bidirectional<Recurrent> value_{Recurrent(1)};
};

std::unique_ptr<source_layer> make_bidirectional(layer_config const& config) {
  auto const outer = wrapped_config(config, "layer");
  auto options = outer.options;
  options.erase("zero_output_for_mask");  // the library always does it
  layer_config const inner{outer.class_name, options};
  if (config.options.contains("backward_layer") && !config.options["backward_layer"].is_null()) {
    // Keras 3 always writes this layer, usually the same one in the other direction.
    auto backward = wrapped_config(config, "backward_layer");
    auto forward_options = inner.options, backward_options = backward.options;
    for (auto* each : {&forward_options, &backward_options})
      for (auto const* key : {"name", "go_backwards", "dtype", "kernel_initializer", "recurrent_initializer",
                              "bias_initializer", "zero_output_for_mask"})  // objects with configurations of their own
        each->erase(key);
    if (backward.class_name != inner.class_name || forward_options != backward_options)
      throw unsupported("has a backward_layer of its own");
  }
  if (inner.class_name == "LSTM") return std::make_unique<bidirectional_layer<layers::lstm>>(config, inner);
  if (inner.class_name == "GRU") return std::make_unique<bidirectional_layer<layers::gru>>(config, inner);
  if (inner.class_name == "SimpleRNN") return std::make_unique<bidirectional_layer<layers::simple_rnn>>(config, inner);
  throw unsupported("has a layer " + inner.class_name + " inside it");
}

}  // namespace

/// The arguments of a ConvLSTM, whose activation is an option in braces and no argument, as a convolution's is.
template <class L>
struct arguments_of_conv_lstm {
  using type = argument_list<&L::filters, &L::kernel_size>;
};
template <>
struct own_arguments<layers::conv_lstm1d> : arguments_of_conv_lstm<layers::conv_lstm1d> {};
template <>
struct own_arguments<layers::conv_lstm2d> : arguments_of_conv_lstm<layers::conv_lstm2d> {};
template <>
struct own_arguments<layers::conv_lstm3d> : arguments_of_conv_lstm<layers::conv_lstm3d> {};

namespace {

layer_list make_table() {
  using namespace layers;
  layer_list all;
  add(all, layers::activation(linear), {.required = 1}).with_names("function", {"activation"});
  add(all, layers::add());
  add(all, additive_attention());
  add(all, activity_regularization());
  add(all, alpha_dropout(0.5F), {.required = 1});
  add(all, attention());
  add(all, average());
  add(all, layers::maximum());
  add(all, layers::minimum());
  add(all, multiply());
  add(all, subtract());
  add(all, average_pooling1d(2), {.required = 1, .in_front = 1});
  add(all, average_pooling2d(2), {.required = 1, .in_front = 1});
  add(all, average_pooling3d(2), {.required = 1});
  add(all, max_pooling1d(2), {.required = 1, .in_front = 1});
  add(all, max_pooling2d(2), {.required = 1, .in_front = 1});
  add(all, max_pooling3d(2), {.required = 1});
  add(all, global_average_pooling1d(), {.in_front = 0});
  add(all, global_average_pooling2d(), {.in_front = 0});
  add(all, global_average_pooling3d(), {.in_front = 0});
  add(all, global_max_pooling1d(), {.in_front = 0});
  add(all, global_max_pooling2d(), {.in_front = 0});
  add(all, global_max_pooling3d(), {.in_front = 0});
  add(all, batch_normalization());
  add(all, layer_normalization());
  add(all, group_normalization());
  add(all, unit_normalization());
  add(all, normalization());
  add(all, rescaling(1), {.required = 1});
  add(all, concatenate());
  add(all, dot(1), {.required = 1});
  add(all, flatten());
  add(all, permute(1), {.required = 1});
  add(all, reshape(1), {.required = 1}).with_names("target", {"target_shape"});
  add(all, repeat_vector(1), {.required = 1});
  add(all, conv1d(1, 1), {.required = 2});
  add(all, conv2d(1, 1), {.required = 2});
  add(all, conv3d(1, 1), {.required = 2});
  add(all, conv1d_transpose(1, 1), {.required = 2});
  add(all, conv2d_transpose(1, 1), {.required = 2});
  add(all, conv3d_transpose(1, 1), {.required = 2});
  add(all, depthwise_conv2d(1), {.required = 1});
  add(all, separable_conv1d(1, 1), {.required = 2});
  add(all, separable_conv2d(1, 1), {.required = 2});
  add(all, locally_connected1d(1, 1), {.required = 2});
  add(all, locally_connected2d(1, 1), {.required = 2});
  add(all, einsum_dense("ab,bc->ac", 1), {.required = 2});
  add(all, dense(1), {.required = 1});
  add(all, dropout(0.5F), {.required = 1});
  add(all, embedding(1, 1), {.required = 2});
  add(all, masking());
  add(all, gaussian_dropout(0.5F), {.required = 1}).with_names("amount", {"rate"});
  add(all, gaussian_noise(0.5F), {.required = 1}).with_names("amount", {"stddev"});
  add(all, spatial_dropout1d(0.5F), {.required = 1});
  add(all, spatial_dropout2d(0.5F), {.required = 1});
  add(all, spatial_dropout3d(0.5F), {.required = 1});
  add(all, elu_layer()).with_names("alpha", {"alpha", "negative_slope"});
  add(all, leaky_re_lu()).with_names("alpha", {"alpha", "negative_slope"});
  add(all, prelu(), {.in_front = 0});
  add(all, re_lu());
  add(all, softmax_layer());
  add(all, thresholded_re_lu());
  add(all, lstm(1), {.required = 1});
  add(all, gru(1), {.required = 1});
  add(all, simple_rnn(1), {.required = 1});
  add(all, conv_lstm1d(1, 1), {.required = 2});
  add(all, conv_lstm2d(1, 1), {.required = 2});
  add(all, conv_lstm3d(1, 1), {.required = 2});
  add(all, multi_head_attention(1, 1), {.required = 2});
  add(all, cropping1d());
  add(all, cropping2d());
  add(all, cropping3d());
  add(all, zero_padding1d());
  add(all, zero_padding2d());
  add(all, zero_padding3d());
  add(all, up_sampling1d(), {.required = 1});
  add(all, up_sampling2d(), {.required = 1, .in_front = 1});
  add(all, up_sampling3d(), {.required = 1});
  add(all, center_crop(1, 1), {.required = 2});
  add(all, resizing(1, 1), {.required = 2});
  add(all, category_encoding(1), {.required = 1});
  all.makers["TimeDistributed"] = [](layer_config const& config) {
    return std::make_unique<time_distributed_layer>(config);
  };
  all.makers["Bidirectional"] = make_bidirectional;
  all.makers["RNN"] = make_rnn;
  all.makers["CustomScaleLayer"] = make_custom_scale;
  all.makers["LayerScale"] = make_layer_scale;
  all.words.push_back(own_text("rnn"));
  return all;
}

layer_list const& table() {
  static auto const all = make_table();
  return all;
}

}  // namespace

std::vector<std::string> keras_names_of(std::string_view word, std::string_view option) {
  auto const& names = table().keras_names;
  auto const found = names.find(std::string(word) + "." + std::string(option));
  return found != names.end() ? found->second : std::vector{std::string(option)};
}

namespace {

/// Why a Lambda is refused: its function is no part of a file, or only as what one version of Python runs.
[[noreturn]] void refuse_lambda(json const& options) {
  auto const function = options.find("function");
  json name;
  if (function != options.end() && function->is_object()) name = function->value("config", json());
  if (function != options.end() && function->is_string()) name = *function;
  if (name.is_string())
    throw unsupported("has the function '" + diagnostics::shown_name(name.get<std::string>()) +
                      "', of which the file has only the name: write it as keras.ops or tf functions on the tensors "
                      "themselves");
  throw unsupported(
      "has a function of Python as bytes for one version of Python, which are not read: write it as keras.ops or tf "
      "functions on the tensors themselves");
}

}  // namespace

std::unique_ptr<source_layer> make_layer(layer_config const& config) {
  if (config.class_name == "Lambda") refuse_lambda(config.options);
  if (config.class_name == "Activation")
    if (auto own = make_own_activation(config)) return own;
  auto const& makers = table().makers;
  auto const found = makers.find(config.class_name);
  if (found == makers.end()) throw unsupported("is a " + config.class_name + ", which is not here");
  return found->second(config);
}

std::vector<std::string> known_words() {
  std::vector<std::string> words(table().words.begin(), table().words.end());
  for (auto const& [name, make] : table().makers) words.push_back(snake_case_of(name));
  return words;
}

source_text text_of(source_layer const& layer) {
  source_text text, braces;
  for (auto const& each : layer.arguments) text += (text.empty() ? ""_cpp : ", "_cpp) + each.value.text;
  for (auto const& each : layer.options)
    if (!each.is_default) braces += (braces.empty() ? "."_cpp : ", ."_cpp) + each.name + " = " + each.value.text;
  if (!braces.empty()) text += (text.empty() ? "{"_cpp : ", {"_cpp) + braces + "}";
  return (layer.own_call.empty() ? source_text(layer.word) : layer.own_name) + ("{" + text) + "}" +
         placement_text(layer);
}

std::optional<stagecraft::dtype> dtype_named(std::string_view wanted) {
  for (auto const each : {stagecraft::dtype::float32, stagecraft::dtype::float16, stagecraft::dtype::bfloat16,
                          stagecraft::dtype::int32, stagecraft::dtype::uint8, stagecraft::dtype::boolean})
    if (name(each) == wanted) return each;
  return std::nullopt;
}

source_text dtype_text(stagecraft::dtype type) {
  switch (type) {
    case stagecraft::dtype::float16: return "sc::dtype::float16"_cpp;
    case stagecraft::dtype::bfloat16: return "sc::dtype::bfloat16"_cpp;
    case stagecraft::dtype::int32: return "sc::dtype::int32"_cpp;
    case stagecraft::dtype::uint8: return "sc::dtype::uint8"_cpp;
    case stagecraft::dtype::boolean: return "sc::dtype::boolean"_cpp;
    default: return "sc::dtype::float32"_cpp;
  }
}

source_text placement_text(source_layer const& layer) {
  return (layer.dtype ? ".in_dtype("_cpp + dtype_text(*layer.dtype) + ")" : source_text()) +
         (layer.is_on_host ? ".on_host()"_cpp : ""_cpp);
}

}  // namespace stagecraft::tool
