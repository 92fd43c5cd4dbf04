// SPDX-License-Identifier: BSD-3-Clause
#include "arrays/bound_arguments.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft::tool {

bound_arguments::bound_arguments(call_arguments given, std::string_view parameters, std::size_t required) {
  while (!parameters.empty()) {
    auto const end = std::min(parameters.find(' '), parameters.size());
    names_.emplace_back(parameters.substr(0, end));
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
  values_.resize(names_.size());
  if (given.in_order.size() > names_.size()) throw expression_problem{};
  for (std::size_t i = 0; i < given.in_order.size(); ++i) values_[i] = std::move(given.in_order[i]);
  for (auto& [name, value] : given.by_name) {
    auto const found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) throw expression_problem{"There is no argument '" + name + "'."};
    auto& to = values_[static_cast<std::size_t>(found - names_.begin())];
    if (to) throw expression_problem{};
    to = std::move(value);
  }
  for (std::size_t i = 0; i < std::min(required, values_.size()); ++i)
    if (!has(i)) throw expression_problem{};
}

std::string bound_arguments::type(std::size_t i, std::string const& otherwise) const {
  if (!has(i)) return otherwise;
  auto const what = values_[i]->what;
  if (what != python_value::kind::text && what != python_value::kind::type) throw expression_problem{};
  return values_[i]->text;
}

array_shape lengths_of(call_arguments const& given) {
  if (!given.by_name.empty()) throw expression_problem{};
  return shape_of(sequence_of(given.in_order));
}

}  // namespace stagecraft::tool
