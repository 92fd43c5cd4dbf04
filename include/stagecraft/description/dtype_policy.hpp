// SPDX-License-Identifier: BSD-3-Clause
// In which types a model computes and keeps its weights. Keras counterpart: tf.keras.mixed_precision.Policy.
#pragma once

#include <stagecraft/graph/dtype.hpp>

namespace stagecraft {

/// The types of values and gradients, and of weights with the optimizer's state: float32 or float16. Prefer the
/// constants of `dtype_policies` to one written by hand.
struct dtype_policy {
  dtype compute_dtype = dtype::float32;
  dtype variable_dtype = dtype::float32;

  friend constexpr bool operator==(dtype_policy const&, dtype_policy const&) = default;
};

/// Whether the steps of a model work on copies of its weights, which are rounded for each pass.
template <dtype_policy Policy>
inline constexpr bool rounds_copies_of_weights =
    Policy.compute_dtype == dtype::float16 && Policy.variable_dtype != dtype::float16;

/// Keras's policies by their names. Where values are float16, arithmetic is still done in float32, and results are
/// rounded when they are stored.
namespace dtype_policies {

inline constexpr dtype_policy float32{};
/// Weights stay in float32; a copy is rounded for each step.
inline constexpr dtype_policy mixed_float16{.compute_dtype = dtype::float16};
inline constexpr dtype_policy float16{.compute_dtype = dtype::float16, .variable_dtype = dtype::float16};

}  // namespace dtype_policies

}  // namespace stagecraft
