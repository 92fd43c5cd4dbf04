// SPDX-License-Identifier: BSD-3-Clause
// tf.keras.applications.VGG16.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/applications/application_options.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <string_view>

namespace stagecraft::applications {

/// Keras's VGG16, layer by layer and name by name: 23 layers, the input included, and 138,357,544 parameters for 1000
/// classes. Keras's weights load by name; it expects pictures as `tf.keras.applications.vgg16.preprocess_input` makes
/// them: channels blue, green, red, less their means.
template <application_options Options = application_options{}>
struct vgg16 : functional<vgg16<Options>> {
  static constexpr std::string_view name = "vgg16";

  static constexpr auto build(auto& model) {
    using namespace layers;  // NOLINT: as a program writes it
    auto x = model.input(Options.height, Options.width, Options.channels);
    constexpr int convolutions[]{2, 2, 3, 3, 3}, filters[]{64, 128, 256, 512, 512};
    for (int block = 0; block < 5; ++block) {
      auto const name_of = [&](std::string_view rest) { return fixed_name("block").append(block + 1).append(rest); };
      for (int i = 0; i < convolutions[block]; ++i)
        x = conv2d{filters[block], 3, relu, {.padding = padding::same}}.named(name_of("_conv").append(i + 1))(x);
      x = max_pooling2d{2}.named(name_of("_pool"))(x);
    }
    if constexpr (Options.include_top) {
      x = layers::flatten{}(x);
      x = dense{4096, relu}.named("fc1")(x);
      x = dense{4096, relu}.named("fc2")(x);
      return dense{Options.classes, softmax}.named("predictions")(x);
    } else {
      return x;
    }
  }
};

}  // namespace stagecraft::applications

#include <stagecraft/diagnostics/end_headers.hpp>
