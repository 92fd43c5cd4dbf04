// SPDX-License-Identifier: BSD-3-Clause
// Normalises each channel over the batch: tf.keras.layers.BatchNormalization.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of BatchNormalization.
struct batch_normalization_options {
  /// The axis of the channels; negative numbers count from the end.
  int axis = -1;
  double momentum = 0.99;  ///< a double, since its difference from 1 counts
  /// A small number that is added to the variance, so that nothing is divided by 0.
  float epsilon = 1e-3F;
  /// True if the layer has weights `beta`, which are added to the result.
  bool center = true;
  /// True if the layer has weights `gamma`, which the result is multiplied by.
  bool scale = true;
  /// The values that `beta` begins with.
  initializer beta_initializer = initializers::zeros{};
  /// The values that `gamma` begins with.
  initializer gamma_initializer = initializers::ones{};
  /// The values that the moving mean begins with.
  initializer moving_mean_initializer = initializers::zeros{};
  /// The values that the moving variance begins with.
  initializer moving_variance_initializer = initializers::ones{};
  /// A penalty on `beta` that is added to the loss: l1, l2 or both.
  regularizer beta_regularizer = {};
  /// A penalty on `gamma` that is added to the loss: l1, l2 or both.
  regularizer gamma_regularizer = {};
  /// The constraint on `beta` after each update: non_neg, max_norm and the like.
  constraint beta_constraint = {};
  /// The constraint on `gamma` after each update: non_neg, max_norm and the like.
  constraint gamma_constraint = {};
#include <stagecraft/layers/common_options.hpp>
};

/// output = (input - mean) / sqrt(variance + epsilon) * gamma + beta, with numbers of its own for each channel: each
/// index of `axis`, which counts as in Keras (the batch is axis 0, -1 the last).
///
/// While training, mean and variance are those of the batch (of its samples alone, where a batch is partial), and each
/// call moves two weights that the optimizer does not touch: moving = moving * momentum + batch * (1 - momentum). These
/// are used in evaluation and prediction. As in Keras, whose fused kernel does so, moving_variance gathers the unbiased
/// variance, of n - 1 of n values, for inputs of rank 4 or 5 (with the batch) whose axis is 1 or the last; in all other
/// cases, and for the output always, it is the variance of n.
///
/// If `trainable` is false, the layer works as in prediction while the model is trained: it uses its moving statistics,
/// which do not change. It does so, too, inside of a layer of one's own that is frozen.
///
/// Shape unchanged. Weights: gamma, beta, moving_mean, moving_variance (channels each). Cost: 2 FLOPs per element.
/// Errors: E1050 axis; E1052 momentum; E1053 epsilon. Definition: Keras API, layers/normalization_layers.
struct batch_normalization : layer<batch_normalization> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "BatchNormalization";
  static constexpr std::string_view usage =
      "batch_normalization{}, batch_normalization{axis} or batch_normalization{{.momentum = 0.9, .name = ...}}"sv;

  static constexpr auto steps_by = layer_kernel::batch_normalization;

  batch_normalization_options options;

  constexpr batch_normalization() : batch_normalization(batch_normalization_options{}) {}
  constexpr explicit batch_normalization(int axis_) : batch_normalization(batch_normalization_options{.axis = axis_}) {}
  constexpr explicit(false) batch_normalization(batch_normalization_options const& options_) : options(options_) {
    take_base_options(options);
  }

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = batch_normalization>
  constexpr explicit batch_normalization(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                         detail::wrong_options = {})
      : batch_normalization() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The axis in a shape, which has no batch.
  [[nodiscard]] constexpr int shape_axis(shape const& in) const {
    return options.axis < 0 ? in.rank() + options.axis : options.axis - 1;
  }
  [[nodiscard]] constexpr int channels(shape const& in) const { return in[shape_axis(in)]; }
  /// True if moving_variance gathers the unbiased variance.
  [[nodiscard]] constexpr bool moves_unbiased_variance(shape const& in) const {
    int const along = shape_axis(in);
    return (in.rank() == 3 || in.rank() == 4) && (along == 0 || along == in.rank() - 1);
  }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    int const along = shape_axis(in);
    if (along < 0 || along >= in.rank())
      ops.error(1050, "normalises along axis ", options.axis, ", which is not an axis of an input of shape ", in,
                "; axis 0 is the batch, the last is ", in.rank());
    else if (!(options.momentum >= 0 && options.momentum <= 1))
      ops.error(1052, "has a momentum outside of 0 to 1; Keras's default is 0.99");
    else if (!(options.epsilon >= 0.0F && options.epsilon < 1e30F))
      ops.error(1053, "has an epsilon that is negative or not a number; Keras's default is 0.001");
    else
      return normalized(ops, x, in, along);
    return x;
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return 2LL * in[0].size(); }

 private:
  constexpr auto normalized(auto& ops, auto x, shape const& in, int along) const {
    shape const each = in[along];
    decltype(x) gamma{}, beta{};
    if (options.scale)
      gamma = ops.weight(parameter::with("gamma", each, options.gamma_initializer, options.gamma_regularizer,
                                         options.gamma_constraint));
    if (options.center)
      beta = ops.weight(
          parameter::with("beta", each, options.beta_initializer, options.beta_regularizer, options.beta_constraint));
    auto const moving_mean = ops.weight(
        {.name = "moving_mean", .shape = each, .initializer = options.moving_mean_initializer, .trainable = false});
    auto const moving_variance = ops.weight({.name = "moving_variance",
                                             .shape = each,
                                             .initializer = options.moving_variance_initializer,
                                             .trainable = false});
    if constexpr (requires { x.mapped(); }) return x;  // only shapes are traced
    operations::extents beside(1);                     // extents of numbers of each channel, aligned with x
    axis_list others = axis_list::none();
    others.axes[others.count++] = 0;
    for (int axis = 0; axis < in.rank(); ++axis) {
      beside.push_back(axis == along ? in[axis] : 1);
      if (axis != along) others.axes[others.count++] = axis + 1;
    }
    bool const looks_at_batch = ops.training() && trainable && !ops.is_frozen();
    if constexpr (requires { ops.list().step; })
      if (ops.list().step != nullptr && looks_at_batch && along == in.rank() - 1) {
        auto const statistics = channel_statistics(ops, x);
        move(ops, in, along, x, moving_mean, ops.slice(statistics, 0, 0, 1), moving_variance,
             ops.slice(statistics, 0, 1, 1));
        return normalize_channels(ops, x, statistics, gamma, beta, options.epsilon);
      }
    auto const mean = looks_at_batch ? ops.mean(x, others) : ops.reshape(moving_mean, beside);
    auto const centred = x - mean;
    auto const variance = looks_at_batch ? ops.mean(square(centred), others) : ops.reshape(moving_variance, beside);
    if (looks_at_batch) move(ops, in, along, x, moving_mean, mean, moving_variance, variance);
    auto factor = rsqrt(variance + options.epsilon);
    if (options.scale) factor *= ops.reshape(gamma, beside);
    auto y = centred * factor;
    if (options.center) y += ops.reshape(beta, beside);
    return y;
  }
  /// Moves the moving statistics by those of the batch.
  constexpr void move(auto& ops, shape const& in, int along, auto x, auto moving_mean, auto mean, auto moving_variance,
                      auto variance) const {
    double const values = static_cast<double>(x.shape().size() / in[along]), part = 1 - options.momentum;
    double const unbiased = moves_unbiased_variance(in) && values > 1 ? values / (values - 1) : 1;
    auto const moved = [&](auto weight, auto batch, double by) {
      ops.update(weight, weight * static_cast<float>(options.momentum) +
                             ops.reshape(batch, operations::extents::of(shape{in[along]})) * static_cast<float>(by));
    };
    moved(moving_mean, mean, part);
    moved(moving_variance, variance, part * unbiased);
  }
};

}  // namespace stagecraft::layers
