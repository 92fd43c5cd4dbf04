// SPDX-License-Identifier: BSD-3-Clause
// A weight in a constant array, which a linker puts into flash. The program `stagecraft` writes headers with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stagecraft {

/// A weight whose numbers stand in an array that exists as long as the program: floats, or bytes and a scale for each
/// column (place of the last axis), so that number (row, column) is `bytes[row * columns + column] * scales[column]`.
///
///     inline constexpr float kernel[] = {...};
///     inline constexpr stagecraft::constant_weight weights[] = {{"dense/kernel:0", kernel}, {"dense/bias:0", bias}};
struct constant_weight {
  std::string_view name = {};          ///< Keras's name; if it is empty, the place in the array says which weight it is
  float const* floats = nullptr;       ///< row by row, in Keras's layout; null where there are bytes
  std::int8_t const* bytes = nullptr;  ///< row by row; null where there are floats
  float const* scales = nullptr;       ///< one for each column of `bytes`
  std::size_t count = 0;               ///< numbers of the weight
  std::size_t columns = 0;             ///< number of scales; 0 for floats

  template <std::size_t Count>
  constexpr explicit(false) constant_weight(float const (&numbers)[Count]) : floats(numbers), count(Count) {}
  template <std::size_t Count>
  constexpr constant_weight(std::string_view keras_name, float const (&numbers)[Count])
      : name(keras_name), floats(numbers), count(Count) {}
  template <std::size_t Count, std::size_t Columns>
  constexpr constant_weight(std::int8_t const (&numbers)[Count], float const (&of_columns)[Columns])
      : bytes(numbers), scales(of_columns), count(Count), columns(Columns) {}
  template <std::size_t Count, std::size_t Columns>
  constexpr constant_weight(std::string_view keras_name, std::int8_t const (&numbers)[Count],
                            float const (&of_columns)[Columns])
      : name(keras_name), bytes(numbers), scales(of_columns), count(Count), columns(Columns) {}

  /// Bytes that the arrays take.
  [[nodiscard]] constexpr std::size_t size_in_bytes() const {
    return bytes == nullptr ? sizeof(float) * count : count + sizeof(float) * columns;
  }
  /// True if `name` is that of a weight of a layer, perhaps after names of nested models: "encoder/dense/kernel:0".
  [[nodiscard]] constexpr bool is_named(std::string_view layer, std::string_view weight) const {
    std::string_view const suffix = ":0";
    std::size_t const length = layer.size() + 1 + weight.size() + suffix.size();
    if (name.size() < length) return false;
    std::string_view const own = name.substr(name.size() - length);
    return own.starts_with(layer) && own[layer.size()] == '/' && own.substr(layer.size() + 1).starts_with(weight) &&
           own.ends_with(suffix) && (name.size() == length || name[name.size() - length - 1] == '/');
  }
};

}  // namespace stagecraft
