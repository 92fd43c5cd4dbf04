// SPDX-License-Identifier: BSD-3-Clause
// Which losses have operations on the tiles of an IPU. Level 3.
#pragma once

#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/losses.hpp>
#include <concepts>

namespace stagecraft {

/// Those of the library, which ipu/operations/row_losses.hpp defines, and those that are written as a `call`.
template <class Loss>
concept LossOnTiles =
    detail::HasLossCall<Loss> || std::same_as<Loss, losses::sparse_categorical_crossentropy> ||
    std::same_as<Loss, losses::categorical_crossentropy> || std::same_as<Loss, losses::binary_crossentropy> ||
    std::same_as<Loss, losses::mean_squared_error> || std::same_as<Loss, losses::mean_absolute_error> ||
    std::same_as<Loss, losses::huber>;

}  // namespace stagecraft
