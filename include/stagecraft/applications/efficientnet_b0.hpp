// SPDX-License-Identifier: BSD-3-Clause
// tf.keras.applications.EfficientNetB0.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/applications/application_options.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <string_view>

namespace stagecraft::applications {

/// Drops a whole sample while training, with probability `rate`, and multiplies it by 1 / (1 - rate) otherwise:
/// Keras's Dropout with noise_shape (None, 1, 1, 1), before the sum of a residual block. At inference the input passes
/// unchanged. Shape unchanged, no weights. Errors as dropout.
struct sample_dropout : layers::spatial_dropout_layer<sample_dropout, 3> {
  static constexpr std::string_view class_name = "Dropout";
  static constexpr std::string_view usage = "sample_dropout{rate} or sample_dropout{rate, seed}";

  using layers::spatial_dropout_layer<sample_dropout, 3>::spatial_dropout_layer;

  constexpr auto call(auto& ops, auto x) const {
    if (!(rate >= 0.0F && rate < 1.0F))
      ops.error(1013, "has a rate that is not at least 0 and below 1");
    else if (ops.training() && rate > 0.0F) {
      operations::extents of_samples = x.shape();
      for (int axis = 1; axis < x.rank(); ++axis) of_samples[axis] = 1;
      return ops.dropout(x, of_samples, rate, seed);
    }
    return x;
  }
};

/// Keras's EfficientNetB0, layer by layer and name by name: 240 layers, the input included, and 5,330,571 parameters
/// for 1000 classes. Keras's weights load by name; it expects pictures from 0 to 255. For `weights="imagenet"`, Keras
/// adds a Rescaling after "normalization": with those, multiply normalization/variance:0 by (0.229, 0.224, 0.225).
template <application_options Options = application_options{}>
struct efficientnet_b0 : functional<efficientnet_b0<Options>> {
  static constexpr std::string_view name = "efficientnetb0";

  static constexpr auto build(auto& model) {
    using namespace layers;  // NOLINT: as a program writes it
    auto x = model.input(Options.height, Options.width, Options.channels);
    x = rescaling{1.0F / 255}(x);
    x = normalization{}(x);
    x = halving_padding(Options.height, Options.width, 3).named("stem_conv_pad")(x);
    x = conv2d{32, 3, {.strides = 2, .use_bias = false}}.named("stem_conv")(x);
    x = batch_normalization{}.named("stem_bn")(x);
    x = layers::activation{swish}.named("stem_activation")(x);
    int height = (Options.height + 1) / 2, width = (Options.width + 1) / 2, channels = 32, number = 0, block = 0;

    struct group {
      int blocks, size, filters, expansion, strides;
    };
    for (group const each : {group{1, 3, 16, 1, 1}, group{2, 3, 24, 6, 2}, group{2, 5, 40, 6, 2}, group{3, 3, 80, 6, 2},
                             group{3, 5, 112, 6, 1}, group{4, 5, 192, 6, 2}, group{1, 3, 320, 6, 1}}) {
      ++block;
      for (int i = 0; i < each.blocks; ++i, ++number) {
        char const letter[2]{static_cast<char>('a' + i), '\0'};
        auto const name_of = [&](std::string_view rest) {
          return fixed_name("block").append(block).append(std::string_view(letter)).append(rest);
        };
        int const strides = i == 0 ? each.strides : 1, wide = each.expansion * channels;
        auto const before = x;
        if (each.expansion > 1) {
          x = conv2d{wide, 1, {.padding = padding::same, .use_bias = false}}.named(name_of("_expand_conv"))(x);
          x = batch_normalization{}.named(name_of("_expand_bn"))(x);
          x = layers::activation{swish}.named(name_of("_expand_activation"))(x);
        }
        if (strides == 2) x = halving_padding(height, width, each.size).named(name_of("_dwconv_pad"))(x);
        x =
            depthwise_conv2d{
                each.size,
                {.strides = strides, .padding = strides == 2 ? padding::valid : padding::same, .use_bias = false}}
                .named(name_of("_dwconv"))(x);
        x = batch_normalization{}.named(name_of("_bn"))(x);
        x = layers::activation{swish}.named(name_of("_activation"))(x);
        // Squeeze and excite: a factor for each channel, from the means of all.
        auto factors = global_average_pooling2d{}.named(name_of("_se_squeeze"))(x);
        factors = layers::reshape{1, 1, wide}.named(name_of("_se_reshape"))(factors);
        factors = conv2d{channels / 4, 1, swish, {.padding = padding::same}}.named(name_of("_se_reduce"))(factors);
        factors = conv2d{wide, 1, sigmoid, {.padding = padding::same}}.named(name_of("_se_expand"))(factors);
        x = layers::multiply{}.named(name_of("_se_excite"))(x, factors);
        x = conv2d{each.filters, 1, {.padding = padding::same, .use_bias = false}}.named(name_of("_project_conv"))(x);
        x = batch_normalization{}.named(name_of("_project_bn"))(x);
        if (strides == 1 && channels == each.filters) {
          x = sample_dropout{0.2 * number / 16}.named(name_of("_drop"))(x);
          x = layers::add{}.named(name_of("_add"))(x, before);
        }
        if (strides == 2) height = (height + 1) / 2, width = (width + 1) / 2;
        channels = each.filters;
      }
    }
    x = conv2d{1280, 1, {.padding = padding::same, .use_bias = false}}.named("top_conv")(x);
    x = batch_normalization{}.named("top_bn")(x);
    x = layers::activation{swish}.named("top_activation")(x);
    if constexpr (Options.include_top) {
      x = global_average_pooling2d{}.named("avg_pool")(x);
      x = layers::dropout{0.2}.named("top_dropout")(x);
      return dense{Options.classes, softmax}.named("predictions")(x);
    } else {
      return x;
    }
  }
};

}  // namespace stagecraft::applications

#include <stagecraft/diagnostics/end_headers.hpp>
