// SPDX-License-Identifier: BSD-3-Clause
// A bundle as a C++ header with the model and its weights, for programs without files: <stagecraft/predict.hpp>.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <string>

namespace stagecraft::tool {

/// The format in which a header has its weights.
enum class stored_weights {
  floats,
  bytes  ///< kernels of dense, recurrent and convolutional layers as int8 with a scale for each column; others as
         ///< floats
};

/// Writes the model `digits` as `models::digits`, and its weights as `models::digits_weights`, an array of
/// stagecraft::constant_weight. Throws the errors of read_config and write_source, file_error E5245 for a model with
/// operations of its own, and the errors of files.
void write_header(std::string const& path, io::bundle_contents const& contents, stored_weights stored);

}  // namespace stagecraft::tool
