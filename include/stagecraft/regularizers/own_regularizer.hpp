// SPDX-License-Identifier: BSD-3-Clause
// The base of regularizers of one's own. Keras counterpart: tf.keras.regularizers.Regularizer. Level 0.
#pragma once

#include <stagecraft/regularizers/regularizer.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

namespace detail {

// Tensors are known where one is used: they are of a higher level.
template <class R, class Ops = operations::tracer, class Tensor = operations::tensor>
concept HasRegularizerCall = requires(R const& own, Ops& ops, Tensor weight) {
  { own.call(ops, weight) } -> std::convertible_to<Tensor>;
};

template <class R, class Ops = operations::tracer, class Tensor = operations::tensor>
struct rules_of_regularizer {
  static constexpr Tensor call(own_options const& options, Ops& ops, Tensor weight) {
    return own_from<R>(options).call(ops, weight);
  }
  static constexpr regularizer_rules value{R::name, &call};
};

template <class R>
inline constexpr diagnostic own_regularizer_problem =
    check_own<R>("regularizer", HasRegularizerCall<R>, "constexpr auto call(auto& ops, auto weight) const");

}  // namespace detail

/// Base of a regularizer of your own: the penalty of a weight, in the words of a layer's `call`; its gradient follows:
///
///     struct hoyer : sc::own_regularizer<hoyer> {
///       static constexpr std::string_view name = "hoyer";
///       float factor = 0.01F;
///       constexpr auto call(auto& ops, auto weight) const {
///         return square(ops.sum(abs(weight), {0, 1})) / ops.sum(square(weight), {0, 1}) * factor;
///       }
///     };
///
/// `dense{64, sc::relu, {.kernel_regularizer = hoyer{}}}`. The weight has its whole shape, and the penalty is one
/// number. Members are options: at most eight floats and ints. Errors: E1070 for tensors that do not fit; E1081 other
/// members; E1082 no `call`; E2064 operations that emulated IPUs do not have for weights.
template <class Derived>
struct own_regularizer {
  static constexpr std::string_view name = "regularizer";  ///< in errors

#ifndef __clang__
  /// GCC names the line of the user's that makes one, not that of the conversion.
  constexpr own_regularizer() { static_assert(detail::report<detail::own_regularizer_problem<Derived>>()); }
#endif
  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    static_assert(detail::report<detail::own_regularizer_problem<Derived>>());
    if constexpr (detail::own_regularizer_problem<Derived>.failed())
      return {};
    else
      return {.rules = &detail::rules_of_regularizer<Derived>::value,
              .options = detail::words_of(static_cast<Derived const&>(*this))};
  }

  friend constexpr bool operator==(own_regularizer const&, own_regularizer const&) = default;
};

}  // namespace stagecraft
