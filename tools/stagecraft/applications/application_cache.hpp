// SPDX-License-Identifier: BSD-3-Clause
// A cache of applications that are compiled for other machines than those they were exported for.
#pragma once

#include "applications/application_source.hpp"

#include <string>

namespace stagecraft::tool {

/// The folder of an exported model's application for emulated IPUs, in the cache, where it is compiled if it does not
/// exist yet. Its name is the SHA-256 of everything that it depends on: the model, the steps, the machine, the
/// processor, the compiler and its flags, and the library's version. Throws file_error E5095 if `dir` is no exported
/// model, and the errors of compile_command.
[[nodiscard]] std::string application_on_ipus(std::string const& dir, application_machine const& machine);

}  // namespace stagecraft::tool
