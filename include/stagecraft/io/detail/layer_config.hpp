// SPDX-License-Identifier: BSD-3-Clause
// A layer's class and options as in Keras's model configurations.
#pragma once

#include <stagecraft/graph/layer_names.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/layers/option_list.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::io {

/// Keras's key for a member that has another name here, since C++ has no member of its class's name.
[[nodiscard]] inline std::string keras_key(std::string_view class_name, std::string_view member) {
  if (member == "function") return "activation";
  if (member == "target") return "target_shape";
  if (member == "amount") return class_name == "GaussianNoise" ? "stddev" : "rate";
  return std::string(member);
}

/// Adjusts values for which Keras has None, and leaves out arguments of the call.
inline void as_keras_has_it(std::string_view class_name, json& config) {
  auto const none_if = [&](char const* key, json const& value) {
    if (auto const found = config.find(key); found != config.end() && *found == value) *found = nullptr;
  };
  if (config.contains("seed")) none_if("seed", 0);
  if (class_name == "ReLU") none_if("max_value", -1.0);
  if (auto const noise = config.find("noise_shape"); noise != config.end()) {
    if (noise->empty())
      *noise = nullptr;
    else
      noise->insert(noise->begin(), nullptr);  // the samples
  }
  if (class_name == "Discretization") none_if("num_bins", 0);
  if (class_name == "Normalization")
    for (char const* const key : {"mean", "variance"}) none_if(key, json::array());
  for (char const* const key : {"options", "options_bwd"}) config.erase(key);  // how IPUs plan products
  if (class_name == "Bidirectional") none_if("merge_mode", "none");
  if (class_name == "EinsumDense") {
    none_if("bias_axes", "");
    for (auto& length : config["output_shape"])
      if (length == -1) length = nullptr;
  }
  if (class_name == "MultiHeadAttention") {
    none_if("value_dim", 0);
    none_if("output_shape", 0);
    for (auto& axis : config["attention_axes"])
      if (axis < 0) axis = axis.get<int>() - 1;  // from the end, Keras counts the heads as well
    if (config["attention_axes"].is_null()) config.erase("attention_axes");
  }
  none_if("output_padding", -1);
  none_if("output_padding", json::array({-1, -1}));
  none_if("output_padding", json::array({-1, -1, -1}));
  if (config.value("serialization_factor", 0) == 1) config.erase("serialization_factor");
  if (!config.value("strided_channel_grouping", true)) config.erase("strided_channel_grouping");
  for (char const* const key : {"use_causal_mask", "attention_mask", "return_attention_scores"})
    if (config.contains(key) && config[key] == false) config.erase(key);
}

/// The options of a layer, without its name.
template <class L>
[[nodiscard]] json layer_options(L const& layer) {
  auto config = json::object();
  for_each_option(layer, [&](std::string_view name, auto const& value) {
    if (name != "name" && name != "trainable") config[keras_key(L::class_name, name)] = json_of(value);
  });
  as_keras_has_it(L::class_name, config);
  auto const inside = [](auto const& wrapped) {
    using inside_type = std::remove_cvref_t<decltype(wrapped)>;
    auto options = layer_options(wrapped);
    auto own = json::object();
    own["name"] =
        std::string(wrapped.layer_name.empty() ? stagecraft::detail::snake_case(inside_type::class_name).view()
                                               : wrapped.layer_name.view());
    own["trainable"] = wrapped.trainable;
    own.update(options);
    return json_of_class(inside_type::class_name, std::move(own));
  };
  if constexpr (requires { layer.wrapped(); }) config["layer"] = inside(layer.wrapped());
  if constexpr (requires { layer.has_backward_layer; })
    if (layer.has_backward_layer) config["backward_layer"] = inside(layer.backward);
  return config;
}

}  // namespace stagecraft::io
