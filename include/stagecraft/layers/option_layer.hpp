// SPDX-License-Identifier: BSD-3-Clause
// What layers share that are made from options in braces, alone or after other arguments.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace stagecraft::layers::detail {

/// The argument before options in braces, as Keras's first positional argument: a value of the first option, or any
/// number if that is a float.
template <class Given, class Option, class Options>
concept FirstOption =
    !std::same_as<Given, Options> && !std::same_as<Option, std::nullptr_t> &&
    (std::same_as<Option, float>  ? (std::integral<Given> || std::floating_point<Given>) && !std::same_as<Given, bool>
     : std::same_as<Option, bool> ? std::same_as<Given, bool>
                                  : std::convertible_to<Given, Option>);

template <class Options, auto First>
struct type_of_option {
  using type = std::remove_cvref_t<decltype(std::declval<Options&>().*First)>;
};
template <class Options>
struct type_of_option<Options, nullptr> {
  using type = std::nullptr_t;
};

}  // namespace stagecraft::layers::detail

namespace stagecraft::layers {

/// Base of layers whose keyword arguments are the struct Options, the member `options`. `First` is the option that may
/// stand before the braces, as in Keras, if there is one: `masking{-1.0F}` is `masking{{.mask_value = -1.0F}}`. Errors:
/// E1025.
template <class Derived, class Options, auto First = nullptr>
struct option_layer : layer<Derived> {
  using first_option = typename detail::type_of_option<Options, First>::type;

  Options options;

  constexpr option_layer() : option_layer(Options{}) {}
  constexpr explicit(false) option_layer(Options const& options_) : options(options_) {
    this->take_base_options(options);
  }

  template <detail::FirstOption<first_option, Options> Given>
  constexpr explicit option_layer(Given const& first, Options const& others = {}) : option_layer(others) {
    options.*First = static_cast<first_option>(first);
  }

  /// Any other argument: E1025.
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit option_layer(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                  detail::wrong_options = {})
      : option_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

/// Base of layers whose keyword arguments after the positional ones are the struct Options, the member `options`. The
/// layer has constructors of its own beside `using argument_layer::argument_layer`. Errors: E1025.
template <class Derived, class Options>
struct argument_layer : layer<Derived> {
  Options options;

  /// No argument, or any other: E1025.
  template <class L = Derived>
    requires detail::is_preferred<L>
  constexpr argument_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit argument_layer(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                    detail::wrong_options = {}) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

 protected:
  /// The tag of the constructor that a layer's own constructors call.
  struct with {
    explicit with() = default;
  };
  constexpr argument_layer(with, Options const& options_) : options(options_) { this->take_base_options(options); }
};

}  // namespace stagecraft::layers
