// SPDX-License-Identifier: BSD-3-Clause
// Layers that add or multiply random numbers while training.
// Keras counterpart: GaussianNoise, GaussianDropout and AlphaDropout of tf.keras.layers.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/regularization/dropout.hpp>
#include <cstdint>

namespace stagecraft::layers {

/// While training, `Derived::noisy(ops, x)`; at inference the input passes unchanged. The random numbers follow from
/// the trainer's seed (or `seed`, unless 0), the call and the step, not from threads. `amount` is Derived's option: a
/// number from 0 to below `Below`.
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

  using layer<Derived>::layer;
  /// No argument, or any other: E1025.
  template <class L = Derived>
  constexpr explicit noise_layer(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                                 detail::wrong_options = {})
      : noise_layer(0) {
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
  /// True if Derived's other options fit the input.
  static constexpr bool fits(auto&, auto) { return true; }
};

/// Adds normal random numbers while training: tf.keras.layers.GaussianNoise.
/// While training, a random number of mean 0 and this standard deviation is added to each element; see noise_layer.
/// Definition: Keras API, layers/regularization_layers/gaussian_noise.
struct gaussian_noise : noise_layer<gaussian_noise, 1000000> {
  static constexpr std::string_view class_name = "GaussianNoise";
  static constexpr std::string_view usage = "gaussian_noise{stddev} or gaussian_noise{stddev, seed}"sv;

  using noise_layer<gaussian_noise, 1000000>::noise_layer;

  constexpr auto noisy(auto& ops, auto x) const { return x + ops.normal(x.shape(), seed) * amount; }
};

/// Multiplies by normal random numbers while training: tf.keras.layers.GaussianDropout.
/// While training, each element is multiplied by a random number of mean 1 and standard deviation sqrt(rate / (1 -
/// rate)), as large as dropout's; see noise_layer. Definition: Keras API,
/// layers/regularization_layers/gaussian_dropout; Srivastava and others, 2014.
struct gaussian_dropout : noise_layer<gaussian_dropout, 1> {
  static constexpr std::string_view class_name = "GaussianDropout";
  static constexpr std::string_view usage = "gaussian_dropout{rate} or gaussian_dropout{rate, seed}"sv;

  using noise_layer<gaussian_dropout, 1>::noise_layer;

  constexpr auto noisy(auto& ops, auto x) const {
    auto const drawn = ops.normal(x.shape(), seed);
    return x * (drawn * sqrt(ops.full({1}, amount / (1 - amount))) + 1.0F);
  }
};

/// A dropout that keeps mean and variance, for networks with selu: tf.keras.layers.AlphaDropout.
/// While training, each element becomes selu's limit far below 0 with probability `rate`; then all are scaled and
/// shifted so that inputs of mean 0 and variance 1 keep both; see noise_layer. A noise_shape is that of dropout
/// (E1013). Definition: Keras API, layers/regularization_layers/alpha_dropout; Klambauer and others, 2017.
struct alpha_dropout : noise_layer<alpha_dropout, 1> {
  static constexpr std::string_view class_name = "AlphaDropout";
  static constexpr std::string_view usage =
      "alpha_dropout{rate}, alpha_dropout{rate, seed} or "
      "alpha_dropout{rate, sc::shape{1, 1, 1}}"sv;

  /// Keras's option without the batch: for each axis its length, or 1 if elements along it are dropped together. Empty:
  /// each element by itself.
  shape noise_shape = {};
  using arguments = argument_list<&alpha_dropout::amount, &alpha_dropout::noise_shape>;

  using noise_layer<alpha_dropout, 1>::noise_layer;
  constexpr alpha_dropout(double rate, shape const& noise_shape_, std::uint64_t seed_ = 0)
      : noise_layer(rate, seed_), noise_shape(noise_shape_) {}

  constexpr bool fits(auto& ops, auto x) const {
    bool const does = detail::noise_fits(x, noise_shape);
    if (!does)
      ops.error(1013, "has a noise_shape of ", noise_shape, ", but must have as many lengths as its input ",
                detail::sample_shape(x), " has, each of them the input's or 1");
    return does;
  }
  constexpr auto noisy(auto& ops, auto x) const {
    constexpr float lowest = -1.6732632423543772F * 1.0507009873554805F;
    auto const scale = rsqrt(ops.full({1}, (1 - amount) * (1 + amount * lowest * lowest)));
    auto const drawn = ops.uniform(detail::noise_of(x, noise_shape), seed);
    return (where(drawn >= amount, x, lowest) - lowest * amount) * scale;
  }
};

}  // namespace stagecraft::layers
