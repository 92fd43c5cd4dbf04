// SPDX-License-Identifier: BSD-3-Clause
// What layers have in common that are made from options in braces.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Base of layers whose keyword arguments are the struct Options, the member `options`. Errors: E1025.
template <class Derived, class Options>
struct option_layer : layer<Derived> {
  Options options;

  constexpr option_layer() : option_layer(Options{}) {}
  constexpr explicit(false) option_layer(Options const& options_) : options(options_) {
    this->take_base_options(options);
  }

  /// Anything else: E1025.
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit option_layer(detail::wrong_options, ...) : option_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers
