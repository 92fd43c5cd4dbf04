// SPDX-License-Identifier: BSD-3-Clause
// The base of initializers of one's own. Keras counterpart: tf.keras.initializers.Initializer. Level 0.
#pragma once

#include <stagecraft/initializers/initializer.hpp>
#include <concepts>
#include <cstdint>
#include <string_view>

namespace stagecraft {

namespace detail {

// Tensors are known where one is used: they are of a higher level.
template <class I, class Ops = operations::tracer, class Shape = operations::extents, class Tensor = operations::tensor>
concept HasInitializerCall = requires(I const& own, Ops& ops, Shape const& shape) {
  { own.call(ops, shape) } -> std::convertible_to<Tensor>;
};

template <class I, class Ops = operations::tracer, class Shape = operations::extents, class Tensor = operations::tensor>
struct rules_of_initializer {
  static constexpr Tensor call(own_options const& options, Ops& ops, Shape const& shape) {
    return own_from<I>(options).call(ops, shape);
  }
  static constexpr initializer_rules value{I::name, &call};
};

template <class I>
inline constexpr diagnostic own_initializer_problem =
    check_own<I>("initializer", HasInitializerCall<I>, "constexpr auto call(auto& ops, auto const& shape) const");

}  // namespace detail

/// Base of an initializer of your own: the values that a weight of a shape begins with, in the words of a layer's
/// `call`:
///
///     struct ramp : sc::own_initializer<ramp> {
///       static constexpr std::string_view name = "ramp";
///       constexpr auto call(auto& ops, auto const& shape) const { return ops.iota(shape) * 0.1F + ops.normal(shape); }
///     };
///
/// `dense{64, sc::relu, {.kernel_initializer = ramp{}}}`. Random numbers are other ones for each weight, and follow
/// from the trainer's seed, or from a member `int seed` that is not 0. It is carried out once, on the host. Members are
/// options: at most eight floats and ints. Errors: E1070 for tensors that do not fit; E1081 other members; E1082 no
/// `call`.
template <class Derived>
struct own_initializer {
  static constexpr std::string_view name = "initializer";  ///< in errors

#ifndef __clang__
  /// GCC names the line of the user's that makes one, not that of the conversion.
  constexpr own_initializer() { static_assert(detail::report<detail::own_initializer_problem<Derived>>()); }
#endif
  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    static_assert(detail::report<detail::own_initializer_problem<Derived>>());
    initializer result;
    if constexpr (!detail::own_initializer_problem<Derived>.failed()) {
      auto const& own = static_cast<Derived const&>(*this);
      result.kind = initializer_kind::own;
      result.rules = &detail::rules_of_initializer<Derived>::value;
      result.options = detail::words_of(own);
      if constexpr (requires { own.seed; }) result.seed = static_cast<std::uint64_t>(own.seed);
    }
    return result;
  }

  friend constexpr bool operator==(own_initializer const&, own_initializer const&) = default;
};

}  // namespace stagecraft
