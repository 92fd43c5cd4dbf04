// SPDX-License-Identifier: BSD-3-Clause
// Writes a program that tests an imported model: that the weights fit, and that its predictions are Keras's.
#pragma once

#include "source/identifier.hpp"
#include "source/source_model.hpp"

#include <stagecraft/io/stored_tensor.hpp>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Reads inputs and outputs from .npy files, as "inputs:0", ... and "outputs:0", .... Throws file_error E5001, E5013
/// and E5014 for wrong files, E5066 for a number of files or shapes that are not the model's.
[[nodiscard]] tensor_file read_recorded(source_model const& model, std::vector<std::string> const& inputs,
                                        std::vector<std::string> const& outputs);

/// Throws file_error E5192 if #include cannot name a header with this stem.
void check_stem(std::string const& stem);

/// The text of the program. Without recorded values it tests that the weights fit, and that predictions are numbers.
/// Throws the errors of check_stem.
[[nodiscard]] source_text write_test(source_model const& model, identifier const& type, std::string const& stem,
                                     tensor_file const& recorded);

}  // namespace stagecraft::tool
