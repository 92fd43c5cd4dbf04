// SPDX-License-Identifier: BSD-3-Clause
// The C++ of a model that was read from a file.
#pragma once

#include "source_model.hpp"

#include <string>

namespace stagecraft::tool {

/// What stands in a header besides the model.
struct source_options {
  std::string type;    ///< the model's name in C++: models::<type>
  std::string origin;  ///< the file that it comes from
};

/// A name that C++ and the library leave free: "my-model 2" is "my_model_2".
[[nodiscard]] std::string identifier_of(std::string const& text);
/// The same for a model's type: "lstm" is "lstm_model".
[[nodiscard]] std::string type_name_of(std::string const& text);

/// The header of a model: nested models, functions for what repeats, the model.
[[nodiscard]] std::string write_source(source_model const& model, source_options const& options);

}  // namespace stagecraft::tool
