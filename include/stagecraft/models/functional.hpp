// SPDX-License-Identifier: BSD-3-Clause
// A model written as a constexpr function over symbolic tensors: Keras's functional API.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/models/model_base.hpp>
#include <cstddef>
#include <utility>

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
/// `static constexpr std::string_view name` names the model; without one Keras's "model" is used.
template <class Derived>
struct functional : models::callable_model<Derived> {
  static constexpr tracing::model_kind kind = tracing::model_kind::functional;

  /// E1020 `build` is missing, E1022 it returns no tensor.
  template <std::size_t>
  static constexpr diagnostics::diagnostic check_definition() {
    if constexpr (requires(tracing::model_builder& builder) { Derived::build(builder); }) {
      using result = decltype(Derived::build(std::declval<tracing::model_builder&>()));
      return detail::check_result<Derived, result>("build");
    } else {
      diagnostics::diagnostic problem;
      problem.report(1020, "functional model '", detail::type_name<Derived>(),
                     "' has no function that builds it; give it "
                     "`static constexpr auto build(auto& model)`, which takes nothing else");
      return problem;
    }
  }

  static constexpr auto trace(tracing::model_builder& builder, tracing::array_view<symbolic_tensor const>) {
    return Derived::build(builder);
  }
};

}  // namespace stagecraft
