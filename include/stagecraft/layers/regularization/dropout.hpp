// SPDX-License-Identifier: BSD-3-Clause
// Sets a random part of its input to zero while training: tf.keras.layers.Dropout.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/regularization/noise_shape.hpp>
#include <cstdint>

namespace stagecraft::layers {

/// While training, each element is 0 with probability `rate`, and multiplied by 1 / (1 - rate) otherwise; at inference
/// the input passes unchanged. Shape unchanged, no weights. Which elements are dropped follows from the trainer's seed
/// (or `seed`, unless 0), the call and the step, not from threads.
///
/// `dropout{0.2F, sc::shape{1, 1, 1}}` is Keras's `Dropout(0.2, noise_shape=(None, 1, 1, 1))`: elements along axes of
/// length 1 are dropped together, here those of a whole sample. Errors: E1013 if rate is not in [0, 1), or noise_shape
/// does not fit the input. Definition: Keras API, layers/regularization_layers/dropout.
struct dropout : layer<dropout> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Dropout";
  static constexpr std::string_view usage = "dropout{rate}, dropout{rate, seed} or dropout{rate, sc::shape{1, 1, 1}}"sv;

  static constexpr bool follows_shapes = true;  ///< its rules are found by shapes alone

  float rate = 0;
  /// Keras's option without the samples: for each axis its length, or 1 where elements are dropped together. Empty:
  /// each element by itself.
  shape noise_shape = {};
  using arguments = argument_list<&dropout::rate, &dropout::noise_shape>;
  std::uint64_t seed = 0;

  constexpr explicit dropout(float rate_, std::uint64_t seed_ = 0) : rate(rate_), seed(seed_) {}
  constexpr explicit dropout(double rate_, std::uint64_t seed_ = 0) : dropout(static_cast<float>(rate_), seed_) {}
  constexpr explicit dropout(int rate_, std::uint64_t seed_ = 0) : dropout(static_cast<float>(rate_), seed_) {}
  constexpr dropout(float rate_, shape const& noise_shape_, std::uint64_t seed_ = 0)
      : rate(rate_), noise_shape(noise_shape_), seed(seed_) {}
  constexpr dropout(double rate_, shape const& noise_shape_, std::uint64_t seed_ = 0)
      : dropout(static_cast<float>(rate_), noise_shape_, seed_) {}

  /// Nothing, or anything else: E1025.
  template <class L = dropout>
  constexpr dropout() : dropout(0.5F) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer::layer;
  template <class L = dropout>
  constexpr explicit dropout(detail::wrong_options, ...) : dropout(0.5F) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!(rate > -1e6F && rate < 1e6F))
      ops.error(1013, "has a rate that is far out or not a number; it must be at least 0 and below 1");
    else if (!(rate >= 0.0F && rate < 1.0F))
      ops.error(1013, "has a rate of ", static_cast<int>(rate * 100), " percent; it must be at least 0 and below 1");
    else if (!detail::noise_fits(x, noise_shape))
      ops.error(1013, "has a noise_shape of ", noise_shape, ", but must have as many lengths as its input ",
                detail::sample_shape(x), " has, each of them the input's or 1");
    else if (ops.training() && rate > 0.0F)
      return ops.dropout(x, detail::noise_of(x, noise_shape), rate, seed);
    return x;
  }
};

}  // namespace stagecraft::layers
