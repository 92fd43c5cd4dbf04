// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a call in an expression, bound to the parameters of its function.
#pragma once

#include "arrays/numpy_arrays.hpp"
#include "arrays/numpy_functions.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The arguments of a call, by the names that NumPy's parameters have. Functions throw expression_problem for values of
/// other kinds.
class bound_arguments {
 public:
  /// `parameters`: their names, separated by spaces; the first `required` ones must be given.
  bound_arguments(call_arguments given, std::string_view parameters, std::size_t required);

  [[nodiscard]] bool has(std::size_t i) const { return values_[i] && values_[i]->what != python_value::kind::none; }
  [[nodiscard]] python_value const& operator[](std::size_t i) const { return *values_[i]; }
  [[nodiscard]] double number(std::size_t i, double otherwise) const {
    return has(i) ? scalar_of(*values_[i]) : otherwise;
  }
  [[nodiscard]] std::int64_t whole(std::size_t i, std::int64_t otherwise) const {
    return has(i) ? whole_of(*values_[i]) : otherwise;
  }
  [[nodiscard]] bool flag(std::size_t i, bool otherwise) const { return number(i, otherwise ? 1 : 0) != 0; }
  [[nodiscard]] std::optional<std::size_t> axis(std::size_t i, std::size_t rank) const {
    return has(i) ? std::optional(axis_of(*values_[i], rank)) : std::nullopt;
  }
  /// The name of a type.
  [[nodiscard]] std::string type(std::size_t i, std::string const& otherwise) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::optional<python_value>> values_;
};

/// The shape whose lengths are the arguments.
[[nodiscard]] array_shape lengths_of(call_arguments const& given);

}  // namespace stagecraft::tool
