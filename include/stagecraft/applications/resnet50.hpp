// SPDX-License-Identifier: BSD-3-Clause
// tf.keras.applications.ResNet50.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/applications/resnet.hpp>

namespace stagecraft::applications {

/// Keras's ResNet50, layer by layer and name by name: 177 layers, the input included, and 25,636,712 parameters for
/// 1000 classes. `resnet50<>`, or `resnet50<application_options{.classes = 10}>`. Keras's weights load by name; it
/// expects pictures as `tf.keras.applications.resnet.preprocess_input` makes them: channels blue, green, red, less
/// their means.
template <application_options Options = application_options{}>
struct resnet50 : functional<resnet50<Options>> {
  static constexpr std::string_view name = "resnet50";

  static constexpr auto build(auto& model) { return resnet<Options>(model, 3, 4, 6, 3); }
};

}  // namespace stagecraft::applications

#include <stagecraft/diagnostics/end_headers.hpp>
