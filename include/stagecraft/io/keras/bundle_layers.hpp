// SPDX-License-Identifier: BSD-3-Clause
// The layers of a bundle's model with their weights.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/keras/layer_tree.hpp>
#include <string>

namespace stagecraft::io {

/// The versions of Keras that exported files name: those whose formats they have.
inline constexpr char const *written_keras_2 = "2.15.0", *written_keras_3 = "3.0.0";

/// The layers of a bundle. Throws file_error E5030 if it does not say in which order its weights are.
[[nodiscard]] inline layer_tree layers_of(bundle_contents const& contents, std::string const& path) {
  if (contents.trainable_weights.empty() && contents.non_trainable_weights.empty() && !contents.tensors.tensors.empty())
    refuse("E5030", path,
           "the bundle does not say in which order its weights are, as an older release wrote it: load and save it");
  try {
    return layer_tree(contents.model, contents.trainable_weights, contents.non_trainable_weights);
  } catch (nlohmann::json::exception const& problem) {
    refuse("E5030", path, std::string("the model's description is not that of a bundle: ") + problem.what());
  }
}

/// The values of a weight.
[[nodiscard]] inline stored_tensor const& values_of(bundle_contents const& contents, keras_weight const& weight,
                                                    std::string const& path) {
  auto const* const found = contents.tensors.find(weight.path);
  if (found == nullptr) refuse("E5030", path, "the bundle has no weight '" + weight.path + "'");
  return *found;
}

}  // namespace stagecraft::io
