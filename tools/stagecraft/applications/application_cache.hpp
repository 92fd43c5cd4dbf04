// SPDX-License-Identifier: BSD-3-Clause
// Applications that are compiled for another machine than the one they were exported for, and kept.
#pragma once

#include "applications/application_source.hpp"

#include <string>

namespace stagecraft::tool {

/// The folder of an exported model's application for emulated IPUs, in the cache: compiled if it is not there yet. Its
/// name is the SHA-256 of all that it is made of: the model, the steps, the machine, the processor, the compiler and
/// its flags, and the library's version. Throws file_error E5095 `dir` is no exported model, and as compile_command.
[[nodiscard]] std::string application_on_ipus(std::string const& dir, application_machine const& machine);

}  // namespace stagecraft::tool
