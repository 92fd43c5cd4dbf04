// SPDX-License-Identifier: BSD-3-Clause
// A model written as a constexpr function over symbolic tensors: Keras's functional API. Level 3.
#pragma once

#include <span>
#include <stagecraft/models/model_base.hpp>

namespace stagecraft {

/// Base of a functional model:
///
///     struct classifier : sc::functional<classifier> {
///       static constexpr auto build(auto& model) {
///         auto x = model.input(28, 28);
///         x = flatten{}(x);
///         return dense(10)(x);             // several outputs: return sc::outputs(a, b);
///       }
///     };
///
/// `build` is ordinary code: loops, branches, functions and pipeline scopes work. A member
/// `static constexpr std::string_view name` gives the model a name; without one Keras's "model" is used.
template <class Derived>
struct functional : callable_model<Derived> {
  static constexpr model_kind kind = model_kind::functional;

  static constexpr auto trace(model_builder& builder, std::span<symbolic_tensor const>) {
    return Derived::build(builder);
  }
};

}  // namespace stagecraft
