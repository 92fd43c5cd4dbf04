// SPDX-License-Identifier: BSD-3-Clause
// What writers of operations share: aliases, the number of axes of tensors, and axes as Python counts them.
#pragma once

#include "keras/operator_graph.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool::operator_words {

using graph = operator_graph;
using arguments = operator_arguments;
using operands = std::vector<operand>;
using whole_numbers = std::vector<std::int64_t>;
using table = std::map<std::string, written_operator, std::less<>>;

/// TensorFlow's numbers of types that casts name.
inline constexpr std::int64_t type_of_floats = 1, type_of_ints = 3;

/// A tensor with another number of axes, whose lengths are not known.
[[nodiscard]] inline operand ranked(operand x, std::optional<int> rank) {
  x.rank = rank;
  x.lengths.clear();
  return x;
}
[[nodiscard]] inline operand of_kind(operand x, operand_kind kind) {
  x.kind = kind;
  return x;
}
/// A number of axes and so many more, or fewer if the sign is -1.
[[nodiscard]] inline std::optional<int> plus(std::optional<int> rank, std::size_t more, int sign = 1) {
  return rank ? std::optional(*rank + sign * static_cast<int>(more)) : std::nullopt;
}
/// Throws unsupported if the number of axes is not known.
[[nodiscard]] int rank_of(operand const& x);
/// Counts an axis from the front.
[[nodiscard]] std::int64_t from_front(std::int64_t axis, operand const& x);
/// The axes that are given, or all of them.
[[nodiscard]] whole_numbers axes_of(arguments& in, std::size_t place, operand const& x);
/// The numbers 0, 1, 2 ... of a tensor's axes.
[[nodiscard]] whole_numbers all_axes(operand const& x);

inline void add(table& to, std::string name, std::string_view parameters, operator_writer const& write) {
  to.emplace(std::move(name), written_operator{parameters, write});
}

void add_elementwise(table& to);
void add_reductions(table& to);
void add_movement(table& to);

}  // namespace stagecraft::tool::operator_words
