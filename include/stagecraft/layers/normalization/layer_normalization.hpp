// SPDX-License-Identifier: BSD-3-Clause
// Normalises each sample along one axis or several: tf.keras.layers.LayerNormalization.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of LayerNormalization.
struct layer_normalization_options {
  /// The axes that are normalized together, in any order; negative numbers count from the end.
  axis_list axis = -1;
#include <stagecraft/layers/normalization/scale_options.hpp>

#include <stagecraft/layers/common_options.hpp>
};

/// output = (input - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance over `axis`: any axes of a
/// sample, such as {1, 2} or {-3, 2} of images. Training and prediction compute the same.
///
/// Shape unchanged. Weights: gamma, beta, both of the lengths of the axes in the order in which `axis` names them; as
/// in Keras, their numbers are those of the axes from the front to the back, whatever that order is. Cost: 7 FLOPs per
/// element; where `axis` names the last axes, kernels of its own do it. Errors: E1050 axis; E1051 an axis that is named
/// twice; E1053 epsilon.
/// Definition: Keras API, layers/normalization_layers.
struct layer_normalization : layer<layer_normalization> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "LayerNormalization";
  static constexpr std::string_view usage =
      "layer_normalization{}, layer_normalization{axis} or layer_normalization{{.axis = {1, 2}, .name = ...}}"sv;

  /// Kernels of its own carry out its steps where it normalizes rows.
  static constexpr auto steps_by = layer_kernel::layer_normalization;

  layer_normalization_options options;

  constexpr layer_normalization() : layer_normalization(layer_normalization_options{}) {}
  constexpr explicit layer_normalization(int axis_) : layer_normalization(layer_normalization_options{.axis = axis_}) {}
  constexpr explicit(false) layer_normalization(layer_normalization_options const& options_) : options(options_) {
    take_base_options(options);
  }

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = layer_normalization>
  constexpr explicit layer_normalization(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                         detail::wrong_options = {})
      : layer_normalization() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// True if `axis` names the last axes, in any order, so that each row of a sample is normalized.
  [[nodiscard]] constexpr bool normalizes_rows(shape const& in) const {
    for (int const axis : options.axis)
      if (place_of(axis, in) < in.rank() - options.axis.count) return false;
    return true;
  }
  /// The shape of gamma and of beta.
  [[nodiscard]] constexpr shape normalized_shape(shape const& in) const {
    shape result;
    for (int const axis : options.axis) result.push_back(in[place_of(axis, in)]);
    return result;
  }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    if (!has_axes(ops, in)) return x;
    if (!(options.epsilon >= 0.0F && options.epsilon < 1e30F)) {
      ops.error(1053, "has an epsilon that is negative or not a number; Keras's default is 0.001");
      return x;
    }
    auto const weight = [&](parameter const& each) {
      auto const of_axes = ops.weight(each);
      return are_last_in_order(in) ? of_axes : ops.reshape(of_axes, beside(in));
    };
    if constexpr (requires { ops.list().step; })
      if (ops.list().step != nullptr && ops.training() && are_last_in_order(in) && normalized_shape(in).size() > 1)
        return in_training_step(ops, x, in);
    auto const centred = x - ops.mean(x, options.axis);
    auto y = centred * rsqrt(ops.mean(square(centred), options.axis) + options.epsilon);
    if (options.scale) y *= weight(gamma(in));
    if (options.center) y += weight(beta(in));
    return y;
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return 7LL * in[0].size(); }

 private:
  [[nodiscard]] constexpr parameter gamma(shape const& in) const {
    return parameter::with("gamma", normalized_shape(in), options.gamma_initializer, options.gamma_regularizer,
                           options.gamma_constraint);
  }
  [[nodiscard]] constexpr parameter beta(shape const& in) const {
    return parameter::with("beta", normalized_shape(in), options.beta_initializer, options.beta_regularizer,
                           options.beta_constraint);
  }
  /// A group that the host carries out by its kernels, also where the step takes a gradient of it.
  constexpr auto in_training_step(auto& ops, auto x, shape const& in) const {
    decltype(x) scale{}, centre{};
    if (options.scale) scale = ops.weight(gamma(in));
    if (options.center) centre = ops.weight(beta(in));
    return normalize_rows(ops, x, scale, centre, options.epsilon, static_cast<int>(normalized_shape(in).size()));
  }
  /// The index of an axis in a sample's shape; below 0 for the batch.
  static constexpr int place_of(int axis, shape const& in) { return axis < 0 ? in.rank() + axis : axis - 1; }

  constexpr bool has_axes(auto& ops, shape const& in) const {
    if (options.axis.already_reported()) return ops.error(1126, options.axis), false;
    if (options.axis.count == 0) {
      ops.error(1050, "normalises along no axis; name one or more, such as -1, the last one");
      return false;
    }
    unsigned named = 0;
    for (int const axis : options.axis) {
      int const place = place_of(axis, in);
      if (place < 0 || place >= in.rank()) {
        ops.error(1050, "normalises along axis ", axis, ", which is not an axis of an input of shape ", in,
                  "; axis 0 is the batch, the last is ", in.rank());
        return false;
      }
      if ((named >> place & 1U) != 0) {
        ops.error(1051, "normalises along axis ", options.axis, ", which names axis ", place + 1,
                  " twice; the input's ", "shape is ", in, " behind the batch, which is axis 0");
        return false;
      }
      named |= 1U << place;
    }
    return true;
  }
  constexpr bool are_last_in_order(shape const& in) const {
    for (int i = 0; i < options.axis.count; ++i)
      if (place_of(options.axis.axes[i], in) != in.rank() - options.axis.count + i) return false;
    return true;
  }
  /// A weight's extents, aligned with the input: no number moves, as in Keras.
  constexpr operations::extents beside(shape const& in) const {
    operations::extents result(1);
    for (int i = 0; i < in.rank(); ++i) result.push_back(1);
    for (int const axis : options.axis) result[place_of(axis, in) + 1] = in[place_of(axis, in)];
    return result;
  }
};

}  // namespace stagecraft::layers
