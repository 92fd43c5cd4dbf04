// SPDX-License-Identifier: BSD-3-Clause
// Checks of inputs that hold whole numbers, and of those that name rows of an embedding's table.
//
//   E4156  a number that is no int32, in an input of this type
//   E4157  an index that no row of an embedding's table has
#pragma once

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace stagecraft::trainers {

/// The limits on the numbers of an input.
struct index_rule {
  bool is_whole = false;   ///< true if its type is int32
  int rows = 0;            ///< rows of the smallest table that it names rows of; 0: it names none
  std::string_view layer;  ///< the name of the table's layer
};

/// The rule of an input of a model: embeddings that are called with it, as it is or in another shape, say how many rows
/// they have.
[[nodiscard]] constexpr index_rule index_rule_of(auto const& graph, int input) {
  index_rule result{graph.calls[input].shape.is_whole, 0, {}};
  for (auto const& call : graph.calls) {
    if (call.is_input || call.input_count < 1 || graph.inputs[call.first_input] != input) continue;
    auto const& layer = graph.layers[call.layer];
    if (layer.class_name != "Embedding" || layer.parameter_count < 1) continue;
    int const rows = graph.parameters[layer.first_parameter].shape[0];
    if (result.rows > 0 && result.rows <= rows) continue;
    result.rows = rows;
    result.layer = layer.name;
  }
  return result;
}

/// E4156, E4157: each number of an array fits the rule.
[[gnu::cold]] inline void check_whole_numbers(char const* argument, sample_source const& data, index_rule const& rule) {
  constexpr double least = -2147483648.0, most = 2147483647.0;
  for (std::ptrdiff_t sample = 0; data.is_here() && sample < data.count(); ++sample)
    for (int number = 0; number < data.sample_size(); ++number) {
      double const value = data.at(sample, number);
      if (rule.is_whole && !(value >= least && value <= most && value == std::trunc(value)))
        throw_data_error("E4156",
                         "%s: expected whole numbers of int32, the type of the input, found %s at sample %td, "
                         "number %d",
                         argument, diagnostics::general_digits(value, 15).c_str(), sample, number);
      if (rule.rows > 0 && !(value >= 0 && value < rule.rows))
        throw_data_error("E4157",
                         "%s: expected indices from 0 to %d, the rows of the table of layer '%.*s', found %s at "
                         "sample %td, number %d",
                         argument, rule.rows - 1, static_cast<int>(rule.layer.size()), rule.layer.data(),
                         diagnostics::general_digits(value, 15).c_str(), sample, number);
    }
}

}  // namespace stagecraft::trainers
