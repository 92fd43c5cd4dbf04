// SPDX-License-Identifier: BSD-3-Clause
// What layers have in common that are made from options in braces.
#pragma once

#include <stagecraft/graph/fields.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>
#include <concepts>
#include <type_traits>
#include <utility>

namespace stagecraft::detail {

struct first_field {
  constexpr auto& operator()(auto& first, auto&...) const { return first; }
};
template <class Options>
using first_option = std::remove_cvref_t<decltype(with_fields(std::declval<Options&>(), first_field{}))>;

/// What may stand in front of options in braces, as Keras's first positional argument: a value of the first option, or
/// any number where that is a float. A name is none.
template <class Given, class Options>
concept FirstOption = !std::same_as<Given, Options> && !std::same_as<first_option<Options>, fixed_name> &&
                      (std::same_as<first_option<Options>, float>
                           ? (std::integral<Given> || std::floating_point<Given>) && !std::same_as<Given, bool>
                       : std::same_as<first_option<Options>, bool> ? std::same_as<Given, bool>
                                                                   : std::convertible_to<Given, first_option<Options>>);

}  // namespace stagecraft::detail

namespace stagecraft::layers {

/// Base of layers whose keyword arguments are the struct Options, the member `options`; the first of them may stand in
/// front, as in Keras: `masking{-1.0F}` is `masking{{.mask_value = -1.0F}}`. Errors: E1025.
template <class Derived, class Options>
struct option_layer : layer<Derived> {
  Options options;

  constexpr option_layer() : option_layer(Options{}) {}
  constexpr explicit(false) option_layer(Options const& options_) : options(options_) {
    this->take_base_options(options);
  }

  // What stands in front of the options of a layer with arguments of its own is one of these.
  template <detail::FirstOption<Options> First, class L = Derived>
    requires(!requires { typename L::arguments; })
  constexpr explicit option_layer(First const& first, Options const& others = {}) : option_layer(others) {
    detail::with_fields(options, detail::first_field{}) = static_cast<detail::first_option<Options>>(first);
  }

  /// Anything else: E1025.
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit option_layer(detail::wrong_options, ...) : option_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers
