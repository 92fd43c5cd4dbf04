// SPDX-License-Identifier: BSD-3-Clause
// In which types a model computes and keeps its weights. Keras counterpart: tf.keras.mixed_precision.Policy.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>

namespace stagecraft {

/// The types of values and gradients, and of weights with the optimizer's state: float32, float16 or, on the host,
/// bfloat16. Prefer the constants of `dtype_policies` to one written by hand.
struct dtype_policy {
  dtype compute_dtype = dtype::float32;
  dtype variable_dtype = dtype::float32;
  /// The type in which values and gradients lie in memory where kernels read and write floats: compute_dtype on the
  /// host; float32 on emulated IPUs, whose tiles have memories of their own. `training_on` sets it.
  dtype storage_dtype = dtype::float32;
  /// True if layers that have a 16 bit type of their own store their values so in memory: on the host. `training_on`
  /// sets it.
  bool stores_halves = false;

  friend constexpr bool operator==(dtype_policy const&, dtype_policy const&) = default;
};

}  // namespace stagecraft

namespace stagecraft::jobs {

/// True if the steps of a model work on copies of its weights, which are rounded for each pass.
template <dtype_policy Policy>
inline constexpr bool rounds_copies_of_weights =
    is_half(Policy.compute_dtype) && Policy.variable_dtype != Policy.compute_dtype;

}  // namespace stagecraft::jobs

namespace stagecraft::dtype_policies {

/// Keras's policies by their names. Where values are of 16 bits, arithmetic is still done in float32, and results are
/// rounded when they are stored.
inline constexpr dtype_policy float32{};
/// Weights stay in float32; a copy is rounded for each step.
inline constexpr dtype_policy mixed_float16{.compute_dtype = dtype::float16};
inline constexpr dtype_policy float16{.compute_dtype = dtype::float16, .variable_dtype = dtype::float16};
/// bfloat16 in place of float16: the upper half of a float, with its range and about three decimal digits. IPUs have no
/// bfloat16 (E2061).
inline constexpr dtype_policy mixed_bfloat16{.compute_dtype = dtype::bfloat16};
inline constexpr dtype_policy bfloat16{.compute_dtype = dtype::bfloat16, .variable_dtype = dtype::bfloat16};

}  // namespace stagecraft::dtype_policies
