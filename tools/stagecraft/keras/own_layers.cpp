// SPDX-License-Identifier: BSD-3-Clause
// Layers of Keras's applications that the library does not have: they become layers of the model's own.
#include "keras/library_layer.hpp"

namespace stagecraft::tool {

namespace {

/// ConvNeXt's LayerScale: a factor for each channel.
class layer_scale : public source_layer {
 public:
  explicit layer_scale(layer_config const& config) {
    std::set<std::string> known{"init_values", "projection_dim"};
    auto const& first = config.options.value("init_values", json());
    auto const& channels = config.options.value("projection_dim", json());
    if (!first.is_number()) throw unsupported("has no option 'init_values'");
    if (!channels.is_number_integer() || channels < 1 || channels > (1 << 24))
      throw unsupported("has no option 'projection_dim'");
    check_unknown_options(config.options, known);
    channels_ = channels.get<int>();
    own_name = "layer_scale"_cpp;
    default_name = own_name.str();
    own_call = "  constexpr auto call(auto& ops, auto x) const {\n"_cpp;
    own_call += wrap("    auto const gamma = ops.weight({.name = \"gamma\", .shape = {x.length(-1)}, "_cpp +
                     ".initializer = sc::initializers::constant{" + number_text(first.get<float>()) + "}});");
    own_call += "    return x * gamma;\n  }\n"_cpp;
  }
  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const&) const override {
    if (inputs.size() != 1 || inputs[0].rank() == 0 || inputs[0][inputs[0].rank() - 1] != channels_)
      throw unsupported("is called on something else than " + std::to_string(channels_) + " channels");
    return {inputs[0], {{"gamma", {channels_}}}};
  }

 private:
  int channels_ = 0;
};

/// InceptionResNetV2's CustomScaleLayer: the sum of a tensor and a part of another one.
class custom_scale : public source_layer {
 public:
  explicit custom_scale(layer_config const& config) {
    auto const& scale = config.options.value("scale", json());
    if (!scale.is_number()) throw unsupported("has no option 'scale'");
    check_unknown_options(config.options, {"scale"});
    own_name = "custom_scale_layer"_cpp;
    default_name = own_name.str();
    own_call = "  constexpr auto call(auto&, auto x, auto y) const { return x + y * "_cpp +
               number_text(scale.get<float>()) + "; }\n";
  }
  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const&) const override {
    if (inputs.size() != 2 || !(inputs[0] == inputs[1]))
      throw unsupported("is called on something else than two tensors of one shape");
    return {inputs[0], {}};
  }
};

/// An Activation by a function of Keras 3 that is no activation here: it has one input and no options.
class own_activation : public source_layer {
 public:
  own_activation(layer_config const& config, own_text name, own_text code) {
    check_unknown_options(config.options, {"activation"});
    own_name = name;
    default_name = "activation";
    own_call = "  constexpr auto call(auto&, auto x) const { return "_cpp + source_text(code) + "; }\n";
  }
  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const&) const override {
    if (inputs.size() != 1) throw unsupported("is called on several tensors");
    return {inputs[0], {}};
  }
};

}  // namespace

std::unique_ptr<source_layer> make_own_activation(layer_config const& config) {
  auto const found = config.options.find("activation");
  auto const name = found != config.options.end() && found->is_string() ? found->get<std::string>() : std::string();
  if (name == "hard_silu" || name == "hard_swish")
    return std::make_unique<own_activation>(config, "own_hard_swish"_cpp,
                                            "x * sc::minimum(sc::maximum(x / 6.0F + 0.5F, 0.0F), 1.0F)"_cpp);
  if (name.starts_with("hard_sigmoid of Keras 3"))
    return std::make_unique<own_activation>(config, "own_hard_sigmoid"_cpp,
                                            "sc::minimum(sc::maximum(x / 6.0F + 0.5F, 0.0F), 1.0F)"_cpp);
  return nullptr;
}

std::unique_ptr<source_layer> make_custom_scale(layer_config const& config) {
  return std::make_unique<custom_scale>(config);
}
std::unique_ptr<source_layer> make_layer_scale(layer_config const& config) {
  return std::make_unique<layer_scale>(config);
}

}  // namespace stagecraft::tool
