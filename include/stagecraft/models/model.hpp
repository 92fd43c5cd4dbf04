// SPDX-License-Identifier: BSD-3-Clause
// A model whose layers are members and whose `call` says how they follow: a subclass of tf.keras.Model.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/rooms.hpp>

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/layers/core/input.hpp>
#include <stagecraft/models/model_base.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::models {

template <auto... Layers>
struct sequential_model;

/// Calls `model.call(builder, x...)` with the tensors of a span; the number of inputs is part of the type.
template <std::size_t... Index>
constexpr auto call_subclass(auto& model, model_builder& builder, tracing::array_view<symbolic_tensor const> tensors,
                             std::index_sequence<Index...>) {
  return model.call(builder, tensors[Index]...);
}

/// E1011 a subclass without inputs, E1023 it has no `call` for that number of tensors, E1022 it returns none.
template <class Subclass, std::size_t... Index>
constexpr diagnostic check_subclass(std::index_sequence<Index...>) {
  if constexpr (sizeof...(Index) == 0) {
    diagnostic problem;
    problem.report(1011, "the shapes of the inputs of model '", type_name<Subclass>(),
                   "' are not known; name one input for each tensor that its `call` takes: build<",
                   type_name<Subclass>(), ", input{28, 28}>");
    return problem;
  }
  constexpr bool callable =
      requires(Subclass& subclass, model_builder& builder, tracing::array_view<symbolic_tensor const> x) {
        subclass.call(builder, x[Index]...);
      };
  if constexpr (callable) {
    using result = decltype(std::declval<Subclass&>().call(
        std::declval<model_builder&>(), std::declval<tracing::array_view<symbolic_tensor const>&>()[Index]...));
    return check_result<Subclass, result>("call");
  } else {
    constexpr int count = sizeof...(Index);
    diagnostic problem;
    problem.report(1023, "model '", type_name<Subclass>(), "' has no `call` that takes ", count,
                   count == 1 ? " tensor" : " tensors", "; give it `constexpr auto call(auto& model",
                   count == 1 ? ", auto x)`" : ", ...)` with one argument for each input");
    return problem;
  }
}

/// The type that `model<...>` names; under a name of its own, so that an argument of `call` may be named `model`.
template <class Derived>
struct subclass_model : callable_model<Derived> {
  static constexpr model_kind kind = model_kind::subclass;
  using model_type = Derived;

  template <std::size_t Inputs>
  static constexpr diagnostic check_definition() {
    return check_subclass<Derived>(std::make_index_sequence<Inputs>{});
  }

  template <std::size_t Count>
  constexpr auto trace(model_builder& builder, std::array<symbolic_tensor, Count> const& bound) {
    for (std::size_t i = 0; i < Count; ++i) builder.take_input();
    return call_subclass(static_cast<Derived&>(*this), builder, bound, std::make_index_sequence<Count>{});
  }
};

}  // namespace stagecraft::models

namespace stagecraft {

/// Base of a model subclass. A layer that is called twice shares its weights:
///
///     struct siamese : sc::model<siamese> {
///       dense encode{8};
///       concatenate join;
///       dense decide{1};
///       constexpr auto call(auto& model, auto left, auto right) {
///         return decide(join(encode(left), encode(right)));
///       }
///     };
///     using network = sc::build<siamese, input{16}, input{16}>;
///
/// `call` is not const: a call gives its layers their weights. Inside another model it is called as a layer is.
template <class Derived>
using model = models::subclass_model<Derived>;

}  // namespace stagecraft

namespace stagecraft::models {

/// The type that `build<...>` names.
template <class Subclass, layers::input... Inputs>
struct built_model : model_base {
  static constexpr model_kind kind = model_kind::subclass;
  using model_type = Subclass;

  template <std::size_t>
  static constexpr diagnostic check_definition() {
    return check_subclass<Subclass>(std::make_index_sequence<sizeof...(Inputs)>{});
  }

  static constexpr auto trace(model_builder& builder, tracing::array_view<symbolic_tensor const>) {
    Subclass subclass{};
    return call(builder, subclass);
  }

  /// Calls a model of this class with the inputs.
  static constexpr auto call(model_builder& builder, Subclass& subclass) {
    std::array<symbolic_tensor, sizeof...(Inputs)> const x{
        builder.input(Inputs.dimensions, Inputs.layer_name, Inputs.type, Inputs.batch_size)...};
    return call_subclass(subclass, builder, x, std::make_index_sequence<sizeof...(Inputs)>{});
  }
};

/// A sequential model without an input gets one; any other model is taken for a subclass.
template <class M, layers::input... Inputs>
struct model_with_inputs {
  using type = built_model<M, Inputs...>;
};
template <auto... Layers, layers::input Input>
  requires(!begins_with_input<Layers...>())
struct model_with_inputs<sequential_model<Layers...>, Input> {
  using type = sequential_model<Input, Layers...>;
};
template <class M, layers::input... Inputs>
using built = typename model_with_inputs<M, Inputs...>::type;

}  // namespace stagecraft::models

namespace stagecraft {

/// Keras's `model.build(input_shape)`: a model subclass whose inputs have these shapes, or a sequential model that does
/// not begin with an input, checked where it is named.
template <class M, layers::input... Inputs>
using build = models::checked_model<detail::built<M, Inputs...>>;

}  // namespace stagecraft

namespace stagecraft::models {

/// E2080: members are asked of a model that is no subclass.
template <class M>
inline constexpr diagnostic members_problem = [] {
  diagnostic problem;
  if (M::kind != model_kind::subclass)
    problem.report(
        2080, "members_of is asked of a ", M::kind == model_kind::sequential ? "sequential" : "functional",
        " model, whose layers are not members of it; only a model subclass, build<...>, has some, and layers "
        "of others are found by their names");
  return problem;
}();

/// A model of the class of M, after its `call`.
template <class M>
constexpr auto call_members() {
  static_assert(report<members_problem<M>>());
  if constexpr (members_problem<M>.failed()) {
    return not_a_model{};
  } else {
    typename M::model_type subclass{};
    if constexpr (!definition_problem<M, 0>.failed()) {
      model_builder builder;
      builder.enter(description_of_model<M>(), -1, {});
      leave(builder, output_tensors(M::call(builder, subclass)));
    }
    return subclass;
  }
}

template <class M>
inline constexpr auto called_members = call_members<M>();

}  // namespace stagecraft::models

namespace stagecraft {

/// The members of a model subclass, as a constant: what a stage assignment's layers are compared with, as in
/// `call.layer() == sc::members_of<network>.dense_1`. Errors: E2080 for a model of another kind.
template <Model M,
          class = typename detail::verdict_on<detail::members_problem<typename detail::traced_model<M>::type>>::checked>
inline constexpr auto const& members_of = detail::called_members<typename detail::traced_model<M>::type>;

}  // namespace stagecraft
