// SPDX-License-Identifier: BSD-3-Clause
// Reads the arrays for `stagecraft run`, in saved_model_cli's three ways.
#pragma once

#include <stagecraft/io/stored_tensor.hpp>
#include <stagecraft/serving/servable.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// An array, with the axis of its samples.
struct run_array {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Returns arrays by the keys of inputs. A later array replaces an earlier one of the same key, with a warning. Throws
/// file_error E5095, E5001, E5013 to E5015.
[[nodiscard]] std::map<std::string, run_array> read_run_inputs(std::string const& inputs,
                                                               std::string const& input_exprs,
                                                               std::string const& input_examples);

/// The arrays in the order of an application's inputs, and their number of samples. Throws file_error E5095.
[[nodiscard]] std::vector<std::vector<float>> match_inputs(serving::servable_description const& known,
                                                           std::map<std::string, run_array> const& given,
                                                           std::int64_t& samples);

}  // namespace stagecraft::tool
