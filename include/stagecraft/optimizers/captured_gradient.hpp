// SPDX-License-Identifier: BSD-3-Clause
// The update that keeps a gradient in the place of a weight. Graphcore counterpart: the `captured_grads` of an
// optimizer's apply_gradients.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>
#include <string_view>

namespace stagecraft::optimizers::detail {

/// An optimizer that puts gradients in the weight's place. It asks for the same slots and norms as the training's
/// optimizer, since these are numbered alike for all weights, but adds nothing to norms; als_optimizer counts the
/// gradients.
template <class Optimizer>
struct captured_gradient {
  Optimizer optimizer = {};                                           ///< the training's optimizer
  stagecraft::learning_rate learning_rate = optimizer.learning_rate;  ///< its learning rate

  static constexpr std::string_view name = "captured_gradient";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    if constexpr (requires { optimizer.update_captured(ops, weight, gradient); }) {
      optimizer.update_captured(ops, weight, gradient);
    } else {
      operations::tensor const none = operations::number(*weight.list, 0);
      optimizer.update(ops, none, stagecraft::detail::prepared_gradient(optimizer, ops, none));
      ops.update(weight, gradient);
    }
  }

  friend constexpr bool operator==(captured_gradient const&, captured_gradient const&) = default;
};

}  // namespace stagecraft::optimizers::detail
