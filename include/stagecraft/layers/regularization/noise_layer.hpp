// SPDX-License-Identifier: BSD-3-Clause
// What gaussian_noise, gaussian_dropout and alpha_dropout have in common.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <cstdint>

namespace stagecraft::layers {

/// While training, `Derived::noisy(ops, x)`; at inference the input passes unchanged. Which numbers are drawn follows
/// from the trainer's seed (or `seed`, unless 0), the call and the step, not from threads. `amount` is what Derived
/// says: a number from 0 to below `Below`.
///
/// Shape unchanged, no weights. Errors: E1001; E1013 for an amount out of its range.
template <class Derived, int Below>
struct noise_layer : layer<Derived> {
  static constexpr bool supports_masking = true;

  float amount = 0;
  using arguments = argument_list<&noise_layer::amount>;
  std::uint64_t seed = 0;

  constexpr explicit noise_layer(float amount_, std::uint64_t seed_ = 0) : amount(amount_), seed(seed_) {}
  constexpr explicit noise_layer(double amount_, std::uint64_t seed_ = 0)
      : noise_layer(static_cast<float>(amount_), seed_) {}
  constexpr explicit noise_layer(int amount_, std::uint64_t seed_ = 0)
      : noise_layer(static_cast<float>(amount_), seed_) {}

  /// Nothing, or anything else: E1025.
  template <class L = Derived>
  constexpr noise_layer() : noise_layer(0) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit noise_layer(detail::wrong_options, ...) : noise_layer(0) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!(amount >= 0.0F && amount < static_cast<float>(Below)))
      ops.error(1013, "has a rate or deviation that is not at least 0 and below ", Below);
    else if (static_cast<Derived const&>(*this).fits(ops, x) && ops.training() && amount > 0.0F)
      return static_cast<Derived const&>(*this).noisy(ops, x);
    return x;
  }

 protected:
  /// Whether what else Derived is made from fits the input.
  static constexpr bool fits(auto&, auto) { return true; }
};

}  // namespace stagecraft::layers
