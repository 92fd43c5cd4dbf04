// SPDX-License-Identifier: BSD-3-Clause
// Writes the C++ of a model that was read from a file.
#pragma once

#include "source/identifier.hpp"
#include "source/source_model.hpp"

#include <string>
#include <string_view>

namespace stagecraft::tool {

/// Facts about a header besides its model.
struct source_options {
  identifier type;     ///< the model's name in C++: models::<type>
  std::string origin;  ///< the file that it comes from
};

/// Throws file_error E5191 for a name that the library would truncate, or take for none; `of` says whose name it is,
/// such as "a layer".
void check_name(std::string_view name, std::string_view of, std::string const& origin);

/// The header of a model: nested models, functions for repeated steps, the model. Throws file_error E5064 for an input
/// of a type that the library lacks, E5191 for a name of a model or a layer that the library cannot have.
[[nodiscard]] source_text write_source(source_model const& model, source_options const& options);

}  // namespace stagecraft::tool
