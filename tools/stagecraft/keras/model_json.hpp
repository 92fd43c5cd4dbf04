// SPDX-License-Identifier: BSD-3-Clause
// Writes a model as Keras's configuration, which read_config reads.
#pragma once

#include "source/source_model.hpp"

#include <stagecraft/io/detail/option_json.hpp>

namespace stagecraft::tool {

/// The model's configuration, with the types and the places of its layers. Keys keep their order.
[[nodiscard]] io::json model_json(source_model const& model);

}  // namespace stagecraft::tool
