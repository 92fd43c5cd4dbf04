// SPDX-License-Identifier: BSD-3-Clause
// Which losses and optimizers have operations on the tiles of an IPU. Level 3.
#pragma once

#include <stagecraft/losses/losses.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <concepts>

namespace stagecraft {

/// Those of the library: ipu/operations/row_losses.hpp has their definitions.
template <class Loss>
concept LossOnTiles =
    std::same_as<Loss, losses::sparse_categorical_crossentropy> ||
    std::same_as<Loss, losses::categorical_crossentropy> || std::same_as<Loss, losses::binary_crossentropy> ||
    std::same_as<Loss, losses::mean_squared_error> || std::same_as<Loss, losses::mean_absolute_error> ||
    std::same_as<Loss, losses::huber>;

/// Those of the library: ipu/operations/update.hpp.
template <class Optimizer>
concept OptimizerOnTiles = std::same_as<Optimizer, optimizers::sgd> || std::same_as<Optimizer, optimizers::rmsprop> ||
                           std::same_as<Optimizer, optimizers::adam>;

}  // namespace stagecraft
