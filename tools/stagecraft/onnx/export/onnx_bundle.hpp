// SPDX-License-Identifier: BSD-3-Clause
// Writes a bundle as an ONNX file.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <string>

namespace stagecraft::tool {

/// Writes the model of a bundle, opset 17, with this library's inputs and outputs: pictures have their channels last.
/// Throws file_error: E5001 the file cannot be written, E5063 and E5064 the bundle has layers of the user's own, E5065
/// its weights are not those of its model, E5069 it has layers or options that are not exported, all of them.
void write_onnx(std::string const& path, io::bundle_contents const& contents);

}  // namespace stagecraft::tool
