// SPDX-License-Identifier: BSD-3-Clause
// A program that tests an imported model: the weights fit, and it predicts what Keras has predicted.
#pragma once

#include "source/identifier.hpp"
#include "source/source_model.hpp"

#include <stagecraft/io/stored_tensor.hpp>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Inputs and outputs from .npy files, as "inputs:0", ... and "outputs:0", .... Throws file_error: E5001, E5013, E5014
/// a file is wrong, E5066 there are not as many as the model has, or of other shapes.
[[nodiscard]] tensor_file read_recorded(source_model const& model, std::vector<std::string> const& inputs,
                                        std::vector<std::string> const& outputs);

/// Throws file_error E5192 if #include cannot have a header of this name.
void check_stem(std::string const& stem);

/// The program. Without recorded values it tests that the weights fit, and that numbers come out. Throws as check_stem.
[[nodiscard]] source_text write_test(source_model const& model, identifier const& type, std::string const& stem,
                                     tensor_file const& recorded);

}  // namespace stagecraft::tool
