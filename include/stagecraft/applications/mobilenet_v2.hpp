// SPDX-License-Identifier: BSD-3-Clause
// tf.keras.applications.MobileNetV2, whose width is that of the paper (alpha 1).
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/applications/application_options.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <string_view>

namespace stagecraft::applications {

/// Keras's MobileNetV2, layer by layer and name by name: 156 layers, the input included, and 3,538,984 parameters for
/// 1000 classes. Keras's weights load by name; it expects pictures as
/// `tf.keras.applications.mobilenet_v2.preprocess_input` makes them: from -1 to 1.
template <application_options Options = application_options{}>
struct mobilenet_v2 : functional<mobilenet_v2<Options>> {
  static constexpr std::string_view name = "mobilenetv2_1.00_224";

  static constexpr auto build(auto& model) {
    using namespace layers;  // NOLINT: as a program writes it
    constexpr batch_normalization_options norm{.momentum = 0.999, .epsilon = 1e-3F};
    auto x = model.input(Options.height, Options.width, Options.channels);
    x = conv2d{32, 3, {.strides = 2, .padding = padding::same, .use_bias = false}}.named("Conv1")(x);
    x = batch_normalization{norm}.named("bn_Conv1")(x);
    x = re_lu{{.max_value = 6.0F}}.named("Conv1_relu")(x);
    int height = (Options.height + 1) / 2, width = (Options.width + 1) / 2, channels = 32, number = 0;

    struct group {
      int blocks, filters, strides;
    };
    for (group const each : {group{1, 16, 1}, group{2, 24, 2}, group{3, 32, 2}, group{4, 64, 2}, group{3, 96, 1},
                             group{3, 160, 2}, group{1, 320, 1}})
      for (int block = 0; block < each.blocks; ++block, ++number) {
        auto const name_of = [&](std::string_view rest) {
          return number == 0 ? fixed_name("expanded_conv").append(rest)
                             : fixed_name("block_").append(number).append(rest);
        };
        int const strides = block == 0 ? each.strides : 1;
        auto const before = x;
        if (number > 0) {
          x = conv2d{6 * channels, 1, {.padding = padding::same, .use_bias = false}}.named(name_of("_expand"))(x);
          x = batch_normalization{norm}.named(name_of("_expand_BN"))(x);
          x = re_lu{{.max_value = 6.0F}}.named(name_of("_expand_relu"))(x);
        }
        if (strides == 2) x = halving_padding(height, width, 3).named(name_of("_pad"))(x);
        x =
            depthwise_conv2d{
                3, {.strides = strides, .padding = strides == 2 ? padding::valid : padding::same, .use_bias = false}}
                .named(name_of("_depthwise"))(x);
        x = batch_normalization{norm}.named(name_of("_depthwise_BN"))(x);
        x = re_lu{{.max_value = 6.0F}}.named(name_of("_depthwise_relu"))(x);
        x = conv2d{each.filters, 1, {.padding = padding::same, .use_bias = false}}.named(name_of("_project"))(x);
        x = batch_normalization{norm}.named(name_of("_project_BN"))(x);
        if (strides == 1 && channels == each.filters) x = layers::add{}.named(name_of("_add"))(before, x);
        if (strides == 2) height = (height + 1) / 2, width = (width + 1) / 2;
        channels = each.filters;
      }
    x = conv2d{1280, 1, {.use_bias = false}}.named("Conv_1")(x);
    x = batch_normalization{norm}.named("Conv_1_bn")(x);
    x = re_lu{{.max_value = 6.0F}}.named("out_relu")(x);
    if constexpr (Options.include_top) {
      x = global_average_pooling2d{}(x);
      return dense{Options.classes, softmax}.named("predictions")(x);
    } else {
      return x;
    }
  }
};

}  // namespace stagecraft::applications

#include <stagecraft/diagnostics/end_headers.hpp>
