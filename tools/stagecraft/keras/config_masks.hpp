// SPDX-License-Identifier: BSD-3-Clause
// Removes masks that Keras 3 writes into the configuration of a functional model, though they go with the tensors.
#pragma once

#include <nlohmann/json.hpp>

namespace stagecraft::tool {

/// The layers of a functional model without the masks that `Embedding(mask_zero=True)` makes: Keras 3 writes a call of
/// `NotEqual` for each, and passes its result to each call that the mask reaches, which the library's layers find
/// themselves. A mask stays, and is refused later, if it is not the mask of all embeddings that a call's tensors come
/// from.
[[nodiscard]] nlohmann::json without_implied_masks(nlohmann::json layers);

}  // namespace stagecraft::tool
