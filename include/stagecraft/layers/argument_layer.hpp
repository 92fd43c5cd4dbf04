// SPDX-License-Identifier: BSD-3-Clause
// What layers have in common that are made from arguments, and options in braces behind them.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Base of layers whose keyword arguments behind the positional ones are the struct Options, the member `options`. The
/// layer has constructors of its own beside `using argument_layer::argument_layer`. Errors: E1025.
template <class Derived, class Options>
struct argument_layer : layer<Derived> {
  Options options;

  /// Nothing, or anything else: E1025.
  template <class L = Derived>
  constexpr argument_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit argument_layer(detail::wrong_options, ...) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

 protected:
  /// What a layer's own constructors call.
  struct with {
    explicit with() = default;
  };
  constexpr argument_layer(with, Options const& options_) : options(options_) { this->take_base_options(options); }
};

}  // namespace stagecraft::layers
