// SPDX-License-Identifier: BSD-3-Clause
// What the three kinds of model share: each is traced by one function, and each can be called inside another model, as
// a layer is. Level 3.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <stagecraft/graph/model_builder.hpp>
#include <string_view>
#include <type_traits>

namespace stagecraft {

/// The part of a model that does not depend on its type. `instance` is given at the first call inside another model;
/// calls of the same variable share their weights.
struct model_base {
  int instance = -1;
};

/// Anything that can be trained, staged or called inside another model.
template <class M>
concept Model = std::derived_from<M, model_base> && requires {
  { M::kind } -> std::convertible_to<model_kind>;
};

namespace detail {

constexpr std::array<symbolic_tensor, 1> outputs_of(symbolic_tensor const& tensor) { return {tensor}; }
template <std::size_t Count>
constexpr std::array<symbolic_tensor, Count> const& outputs_of(std::array<symbolic_tensor, Count> const& tensors) {
  return tensors;
}

/// The name of a type as it stands in the source, without its namespaces.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  auto const begin = text.find("T = ") + 4;
  text = text.substr(begin, text.find_first_of(";]", begin) - begin);
  if (auto const scope = text.find_last_of(":)"); scope != std::string_view::npos) text = text.substr(scope + 1);
  return text;
}

/// A model's name: its own member `name`, else Keras's default.
template <class M>
constexpr std::string_view name_of_model() {
  if constexpr (requires { std::string_view(M::name); })
    return M::name;
  else if constexpr (M::kind == model_kind::subclass)
    return type_name<typename M::model_type>();
  else
    return {};
}

}  // namespace detail

/// Lets a model be called on symbolic tensors inside another model's `build` or `call`.
template <class Derived>
struct callable_model : model_base {
  template <std::same_as<symbolic_tensor>... Tensors>
    requires(sizeof...(Tensors) > 0)
  constexpr auto operator()(Tensors... tensor) & {
    return call_nested(static_cast<Derived&>(*this), tensor...);
  }
  template <std::same_as<symbolic_tensor>... Tensors>
    requires(sizeof...(Tensors) > 0)
  constexpr auto operator()(Tensors... tensor) && {
    return call_nested(static_cast<Derived&>(*this), tensor...);
  }

 private:
  template <class... Tensors>
  static constexpr auto call_nested(Derived& self, Tensors... tensor) {
    std::array<symbolic_tensor, sizeof...(Tensors)> const bound{tensor...};
    auto& builder = *bound[0].model;
    self.instance = builder.enter(Derived::kind, detail::name_of_model<Derived>(), self.instance, bound);
    auto result = self.trace(builder, bound);
    builder.leave(detail::outputs_of(result));
    return result;
  }
};

}  // namespace stagecraft
