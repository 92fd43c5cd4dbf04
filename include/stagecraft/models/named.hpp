// SPDX-License-Identifier: BSD-3-Clause
// Keras's `name` argument of a model that is not called inside another one.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/models/model_base.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft::models {

/// The type behind `named<...>`.
template <fixed_text Name, Model M>
struct named_model : callable_model<named_model<Name, M>> {
  static constexpr model_kind kind = M::kind;
  static constexpr std::string_view name{Name.characters, Name.length};

  template <std::size_t Inputs>
  static constexpr diagnostic check_definition() {
    return definition_problem<M, Inputs>;
  }

  static constexpr auto trace(model_builder& builder, tracing::array_view<symbolic_tensor const> bound) {
    return M{}.trace(builder, bound);
  }
};

/// A model under a name. That of a model with stages is the name of the model itself.
template <fixed_text Name, class M>
struct with_name {
  using type = named_model<Name, M>;
};
template <fixed_text Name, class M>
  requires requires { typename M::template with_name<Name>; }
struct with_name<Name, M> {
  using type = typename M::template with_name<Name>;
};

}  // namespace stagecraft::models

namespace stagecraft {

/// A model with a name: `using mlp = sc::named<"mlp", sc::sequential<input{4}, dense{3}>>;`, Keras's
/// `Sequential([...], name="mlp")`. A functional model or a subclass can say it in a member `name`. A model that is
/// called inside another one is named there: `mlp{}.named("mlp")`.
template <fixed_text Name, Model M>
using named = typename detail::with_name<Name, M>::type;

}  // namespace stagecraft
