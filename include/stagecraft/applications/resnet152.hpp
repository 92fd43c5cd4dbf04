// SPDX-License-Identifier: BSD-3-Clause
// tf.keras.applications.ResNet152.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/applications/resnet.hpp>

namespace stagecraft::applications {

/// Keras's ResNet152, layer by layer and name by name: 517 layers, the input included, and 60,419,944 parameters for
/// 1000 classes. `resnet152<>`, or `resnet152<application_options{.classes = 10}>`. Keras's weights load by name; it
/// expects pictures as `tf.keras.applications.resnet.preprocess_input` makes them: channels blue, green, red, less
/// their means.
template <application_options Options = application_options{}>
struct resnet152 : functional<resnet152<Options>> {
  static constexpr std::string_view name = "resnet152";

  static constexpr auto build(auto& model) { return resnet<Options>(model, 3, 8, 36, 3); }
};

}  // namespace stagecraft::applications

#include <stagecraft/diagnostics/end_headers.hpp>
