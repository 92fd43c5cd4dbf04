// SPDX-License-Identifier: BSD-3-Clause
// Optimizers that this library and Keras both have: their names, and the numbers that they keep with each weight.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::io {

/// A number that an optimizer keeps with each element of a weight.
struct keras_slot {
  std::string_view name;   ///< its name here, and in the optimizers of Keras 2.6 (`optimizers.legacy` of Keras 2.15)
  std::string_view newer;  ///< its name in the other optimizers of Keras 2.11 to 2.15
  /// True: Keras 3 writes it directly after the slot before it, weight by weight; false: after all slots of all
  /// weights.
  bool is_beside = false;
};

/// An optimizer whose numbers mean the same here and in Keras.
struct keras_optimizer {
  std::string_view name, class_name;  ///< "adam", and Keras's "Adam"
  std::array<keras_slot, 3> slots{};  ///< slots that it may have, in Keras's order
};

inline constexpr std::array keras_optimizers{
    keras_optimizer{"adam", "Adam", {{{"m", "m"}, {"v", "v", true}, {"vhat", "vhat"}}}},
    keras_optimizer{"sgd", "SGD", {{{"momentum", "m"}}}},
    keras_optimizer{
        "rmsprop", "RMSprop", {{{"rms", "velocity"}, {"momentum", "momentum"}, {"mg", "average_gradient"}}}},
    keras_optimizer{"adamax", "Adamax", {{{"m", "m"}, {"v", "u", true}}}},
    keras_optimizer{
        "adadelta", "Adadelta", {{{"accum_grad", "accumulated_grad"}, {"accum_var", "accumulated_delta_var", true}}}}};

/// The optimizer with a name of the library or of Keras; null: none that both have.
[[nodiscard]] inline keras_optimizer const* keras_optimizer_of(std::string_view name) {
  auto const found = std::find_if(keras_optimizers.begin(), keras_optimizers.end(),
                                  [&](auto const& each) { return name == each.name || name == each.class_name; });
  return found == keras_optimizers.end() ? nullptr : &*found;
}

/// A weight and a slot, by their numbers.
struct keras_number {
  std::size_t weight = 0, slot = 0;
};
/// The numbers of an optimizer in the order in which Keras 3 writes them; `slots` are the slots that it has here. Empty
/// if Keras lacks one of them.
[[nodiscard]] inline std::vector<keras_number> keras_3_order(keras_optimizer const& optimizer,
                                                             std::vector<std::string> const& slots,
                                                             std::size_t weights) {
  std::vector<std::vector<std::size_t>> parts;  // slots whose numbers stand beside each other
  std::size_t known = 0;
  for (auto const& each : optimizer.slots) {
    auto const found = std::find(slots.begin(), slots.end(), each.name);
    if (each.name.empty() || found == slots.end()) continue;
    if (!each.is_beside || parts.empty()) parts.emplace_back();
    parts.back().push_back(static_cast<std::size_t>(found - slots.begin()));
    ++known;
  }
  std::vector<keras_number> order;
  if (known < slots.size()) return order;
  for (auto const& part : parts)
    for (std::size_t weight = 0; weight < weights; ++weight)
      for (auto const slot : part) order.push_back({weight, slot});
  return order;
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
    bool const is_small = letter >= 'a' && letter <= 'z';  // std::toupper follows the locale
    if (letter != '_') text += begins && is_small ? static_cast<char>(letter - 'a' + 'A') : letter;
    begins = letter == '_';
  }
  return text;
}

}  // namespace stagecraft::io
