// SPDX-License-Identifier: BSD-3-Clause
// tf.keras.applications.ResNet101.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/applications/resnet.hpp>

namespace stagecraft::applications {

/// Keras's ResNet101, layer by layer and name by name: 347 layers, the input included, and 44,707,176 parameters for
/// 1000 classes. `resnet101<>`, or `resnet101<application_options{.classes = 10}>`. Keras's weights load by name; it
/// expects pictures as `tf.keras.applications.resnet.preprocess_input` makes them: channels blue, green, red, less
/// their means.
template <application_options Options = application_options{}>
struct resnet101 : functional<resnet101<Options>> {
  static constexpr std::string_view name = "resnet101";

  static constexpr auto build(auto& model) { return resnet<Options>(model, 3, 4, 23, 3); }
};

}  // namespace stagecraft::applications

#include <stagecraft/diagnostics/end_headers.hpp>
