// SPDX-License-Identifier: BSD-3-Clause
// Optimizers that this library and Keras 2 both have: under which names, and what they keep with each weight.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace stagecraft::io {

/// A number that an optimizer keeps with each element of a weight.
struct keras_slot {
  std::string_view name;   ///< here, and in the optimizers of Keras 2.6 (`optimizers.legacy` of Keras 2.15)
  std::string_view newer;  ///< in the other optimizers of Keras 2.11 to 2.15
};

/// An optimizer whose numbers mean the same here and in Keras.
struct keras_optimizer {
  std::string_view name, class_name;  ///< "adam", and Keras's "Adam"
  std::array<keras_slot, 3> slots{};  ///< those that it may have; Keras's order
};

inline constexpr std::array keras_optimizers{
    keras_optimizer{"adam", "Adam", {{{"m", "m"}, {"v", "v"}, {"vhat", "vhat"}}}},
    keras_optimizer{"sgd", "SGD", {{{"momentum", "m"}}}},
    keras_optimizer{
        "rmsprop", "RMSprop", {{{"rms", "velocity"}, {"momentum", "momentum"}, {"mg", "average_gradient"}}}},
    keras_optimizer{"adamax", "Adamax", {{{"m", "m"}, {"v", "u"}}}},
    keras_optimizer{
        "adadelta", "Adadelta", {{{"accum_grad", "accumulated_grad"}, {"accum_var", "accumulated_delta_var"}}}}};

/// The optimizer of a name: that of the library, or Keras's; null: none that both have.
[[nodiscard]] inline keras_optimizer const* keras_optimizer_of(std::string_view name) {
  auto const found = std::find_if(keras_optimizers.begin(), keras_optimizers.end(),
                                  [&](auto const& each) { return name == each.name || name == each.class_name; });
  return found == keras_optimizers.end() ? nullptr : &*found;
}

/// Keras's class of a loss of the library: "MeanSquaredError" of "mean_squared_error"; empty: Keras has none.
[[nodiscard]] inline std::string keras_loss_of(std::string_view name) {
  static constexpr std::array<std::string_view, 15> both{"mean_squared_error",
                                                         "mean_absolute_error",
                                                         "mean_absolute_percentage_error",
                                                         "mean_squared_logarithmic_error",
                                                         "binary_crossentropy",
                                                         "categorical_crossentropy",
                                                         "sparse_categorical_crossentropy",
                                                         "categorical_hinge",
                                                         "cosine_similarity",
                                                         "hinge",
                                                         "huber",
                                                         "kl_divergence",
                                                         "log_cosh",
                                                         "poisson",
                                                         "squared_hinge"};
  if (std::find(both.begin(), both.end(), name) == both.end()) return {};
  if (name == "kl_divergence") return "KLDivergence";
  std::string text;
  bool begins = true;
  for (char const letter : name) {
    if (letter != '_') text += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
    begins = letter == '_';
  }
  return text;
}

}  // namespace stagecraft::io
