// SPDX-License-Identifier: BSD-3-Clause
// Texts by which an optimizer tells weights apart.
#pragma once

#include <stagecraft/diagnostics/text.hpp>
#include <concepts>
#include <string_view>
#include <type_traits>

namespace stagecraft::optimizers {

/// Up to four texts, each a part of a weight's name, such as "bias" of "dense_1/bias".
struct weight_names {
  static constexpr int most = 4;
  fixed_name texts[most]{};  ///< those that are given, and empty ones

  constexpr weight_names() = default;
  /// An empty type is no text: who counts the members of what holds this (graph/fields.hpp) has one.
  template <class... Texts>
    requires(sizeof...(Texts) >= 1 && sizeof...(Texts) <= most &&
             ((std::convertible_to<Texts const&, std::string_view> && !std::is_empty_v<Texts>) && ...))
  constexpr weight_names(Texts const&... text) : texts{fixed_name(text)...} {}

  [[nodiscard]] constexpr bool empty() const { return *this == weight_names{}; }
  /// Whether any of them is a part of this name.
  [[nodiscard]] constexpr bool match(std::string_view name) const {
    for (auto const& text : texts)
      if (!text.empty() && name.find(text.view()) != std::string_view::npos) return true;
    return false;
  }

  friend constexpr bool operator==(weight_names const&, weight_names const&) = default;
};

}  // namespace stagecraft::optimizers
