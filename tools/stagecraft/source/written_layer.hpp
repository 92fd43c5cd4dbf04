// SPDX-License-Identifier: BSD-3-Clause
// Layers of a model's own in model.json. Their C++ is not in that file, since no text of a file becomes code: it stands
// in the header that was written with the file, model.hpp.
#pragma once

#include "source/source_model.hpp"

#include <memory>

namespace stagecraft::tool {

/// The class name of a layer of operations in a configuration; no class of Keras has it.
inline constexpr char const* own_class = "operations of this model";

/// The configuration of a layer of the model's own: shapes of its inputs and its output, and its weights.
[[nodiscard]] json own_layer_config(model_layer const& layer, std::vector<shape> const& inputs, shape const& output);
/// The layer of such a configuration, without its C++. Throws unsupported for a configuration of something else.
[[nodiscard]] std::unique_ptr<source_layer> written_layer(json const& config);
/// True if a model has layers of its own, so that its header cannot be written anew from model.json.
[[nodiscard]] bool has_own_layers(source_model const& model);

}  // namespace stagecraft::tool
