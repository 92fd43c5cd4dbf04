// SPDX-License-Identifier: BSD-3-Clause
// The losses that are a mean over the last axis: mean squared and absolute error, Huber, binary cross entropy.
// Keras counterpart: tf.keras.losses. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/loss_row.hpp>
#include <stagecraft/kernels/math.hpp>
#include <stagecraft/losses/binary_crossentropy.hpp>
#include <stagecraft/losses/huber.hpp>
#include <stagecraft/losses/mean_absolute_error.hpp>
#include <stagecraft/losses/mean_squared_error.hpp>

#include <cstdint>

namespace stagecraft::kernels {

namespace detail {

/// The loop over a row for a loss whose value is mean(Element::value(p, t)).
template <class Element, int Columns, class Arch>
struct mean_loss_row {
  using batch_type = batch<Arch>;

  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    constexpr int width = lanes<Arch>;
    constexpr int whole = Columns / width * width;
    constexpr int rest = Columns - whole;
    batch_type const slope_scale(scale / static_cast<float>(Columns));
    batch_type sum(0.0F);
    for (std::int64_t i = 0; i < whole; i += width) {
      batch_type const p = batch_type::load_unaligned(prediction + i);
      batch_type const t = batch_type::load_unaligned(target + i);
      sum = sum + Element::value(p, t);
      if (gradient != nullptr) (Element::slope(p, t) * slope_scale).store_unaligned(gradient + i);
    }
    if constexpr (rest > 0) {
      batch_type const p = load_first<Arch>(prediction + whole, rest);
      batch_type const t = load_first<Arch>(target + whole, rest);
      sum = sum + keep_first(Element::value(p, t), rest);
      if (gradient != nullptr) store_first(Element::slope(p, t) * slope_scale, gradient + whole, rest);
    }
    return horizontal_sum(sum) / static_cast<float>(Columns);
  }
};

template <class Arch>
struct squared_error_element {
  using value_type = batch<Arch>;
  static value_type value(value_type const& p, value_type const& t) { return (p - t) * (p - t); }
  static value_type slope(value_type const& p, value_type const& t) { return value_type(2.0F) * (p - t); }
};

template <class Arch>
struct absolute_error_element {
  using value_type = batch<Arch>;
  static value_type value(value_type const& p, value_type const& t) { return xsimd::abs(p - t); }
  static value_type slope(value_type const& p, value_type const& t) {
    value_type const error = p - t;
    value_type const zero(0.0F);
    return xsimd::select(error > zero, value_type(1.0F),
                         xsimd::select(error < zero, value_type(-1.0F), error * zero));  // NaN stays
  }
};

template <auto Loss, class Arch>
struct huber_element {
  using value_type = batch<Arch>;
  static value_type value(value_type const& p, value_type const& t) {
    value_type const size = xsimd::abs(p - t);
    return xsimd::select(size <= value_type(Loss.delta), value_type(0.5F) * size * size,
                         value_type(Loss.delta) * size - value_type(0.5F * Loss.delta * Loss.delta));
  }
  static value_type slope(value_type const& p, value_type const& t) {
    return at_least(at_most(p - t, value_type(Loss.delta)), value_type(-Loss.delta));
  }
};

template <auto Loss, class Arch>
struct binary_crossentropy_element {
  using value_type = batch<Arch>;

  static value_type smooth(value_type const& t) {
    if constexpr (Loss.label_smoothing == 0) return t;
    return t * value_type(1.0F - Loss.label_smoothing) + value_type(0.5F * Loss.label_smoothing);
  }

  static value_type value(value_type const& p, value_type const& target) {
    value_type const t = smooth(target);
    if constexpr (Loss.from_logits) {
      return at_least(p, value_type(0.0F)) - p * t + kernels::softplus(-xsimd::abs(p));
    } else {
      value_type const q = clip_probability(p);
      value_type const epsilon(probability_epsilon);
      value_type const one(1.0F);
      return value_type(0.0F) - t * kernels::log(q + epsilon) - (one - t) * kernels::log(one - q + epsilon);
    }
  }

  static value_type slope(value_type const& p, value_type const& target) {
    value_type const t = smooth(target);
    if constexpr (Loss.from_logits) {
      return kernels::sigmoid(p) - t;
    } else {
      value_type const q = clip_probability(p);
      value_type const epsilon(probability_epsilon);
      value_type const one(1.0F);
      return clip_slope(p, (one - t) / (one - q + epsilon) - t / (q + epsilon));
    }
  }
};

}  // namespace detail

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::mean_squared_error>
    : detail::mean_loss_row<detail::squared_error_element<Arch>, Columns, Arch> {};

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::mean_absolute_error>
    : detail::mean_loss_row<detail::absolute_error_element<Arch>, Columns, Arch> {};

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::huber>
    : detail::mean_loss_row<detail::huber_element<Loss, Arch>, Columns, Arch> {};

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::binary_crossentropy>
    : detail::mean_loss_row<detail::binary_crossentropy_element<Loss, Arch>, Columns, Arch> {};

}  // namespace stagecraft::kernels
