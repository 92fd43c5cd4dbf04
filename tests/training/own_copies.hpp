// SPDX-License-Identifier: BSD-3-Clause
// Layers of a user's own that compute what layers of the library do, under other names and with the same traits.
#pragma once

#include <stagecraft/layers/layers.hpp>
#include <string_view>

namespace own_copies {

namespace sc = stagecraft;
using sc::fixed_name;
using sc::parameter;

struct bias_option {
  bool use_bias = true;
  fixed_name name = {};
};

/// dense.
struct fully_connected : sc::layer<fully_connected> {
  static constexpr std::string_view class_name = "FullyConnected";
  static constexpr auto steps_by = sc::layer_kernel::product;
  static constexpr bool ends_with_activation = true;

  int units = 1;
  sc::activation activation = sc::linear;
  bias_option options;

  constexpr explicit fully_connected(int units_, sc::activation activation_ = sc::linear,
                                     bias_option const& options_ = {})
      : units(units_), activation(activation_), options(options_) {}

  constexpr auto call(auto& ops, auto x) const {
    auto y = ops.matmul(x, ops.weight({.name = "kernel",
                                       .shape = {x.length(-1), units},
                                       .initializer = sc::initializers::glorot_uniform{},
                                       .layout = sc::tracing::parameter_layout::matrix}));
    if (options.use_bias) y += ops.weight({.name = "bias", .shape = {units}});
    return activation(y);
  }
};

/// embedding.
struct word_vectors : sc::layer<word_vectors> {
  static constexpr std::string_view class_name = "WordVectors";

  int rows = 1, columns = 1;

  constexpr word_vectors(int rows_, int columns_) : rows(rows_), columns(columns_) {}

  constexpr auto call(auto& ops, auto x) const {
    return ops.take(
        ops.weight({.name = "embeddings", .shape = {rows, columns}, .initializer = sc::initializers::random_uniform{}}),
        x);
  }
};

/// batch_normalization along the last axis.
struct channel_normalization : sc::layer<channel_normalization> {
  static constexpr std::string_view class_name = "ChannelNormalization";
  static constexpr auto steps_by = sc::layer_kernel::batch_normalization;

  struct option_list {
    double momentum = 0.99;
    float epsilon = 1e-3F;
    bool center = true, scale = true;
  };
  option_list options;

  [[nodiscard]] static constexpr int shape_axis(sc::shape const& in) { return in.rank() - 1; }
  [[nodiscard]] static constexpr int channels(sc::shape const& in) { return in.back(); }
  [[nodiscard]] static constexpr bool moves_unbiased_variance(sc::shape const& in) {
    return in.rank() == 3 || in.rank() == 4;
  }

  constexpr auto call(auto& ops, auto x) const {
    auto const weight = [&](std::string_view name, auto initializer, bool trained) {
      return ops.weight({.name = name, .shape = {x.length(-1)}, .initializer = initializer, .trainable = trained});
    };
    auto const gamma = weight("gamma", sc::initializers::ones{}, true);
    auto const beta = weight("beta", sc::initializers::zeros{}, true);
    auto const mean = weight("moving_mean", sc::initializers::zeros{}, false);
    auto const variance = weight("moving_variance", sc::initializers::ones{}, false);
    if constexpr (requires { x.mapped(); }) return x;  // shapes alone are asked for
    bool const looks_at_batch = ops.training() && trainable;
    sc::axis_list others = sc::axis_list::none();
    for (int axis = 0; axis + 1 < x.rank(); ++axis) others.axes[others.count++] = axis;
    auto const of_batch = ops.mean(x, others);
    auto const centred = x - (looks_at_batch ? of_batch : mean);
    auto const squares = looks_at_batch ? ops.mean(square(centred), others) : variance;
    if (looks_at_batch) {
      auto const count = static_cast<double>(x.shape().size() / x.length(-1));
      auto const moved = [&](auto to, auto batch, double by) {
        ops.update(to, to * static_cast<float>(options.momentum) +
                           ops.reshape(batch, {x.length(-1)}) * static_cast<float>(by));
      };
      moved(mean, of_batch, 1 - options.momentum);
      moved(variance, squares, (1 - options.momentum) * (x.rank() > 2 ? count / (count - 1) : 1));
    }
    return centred * rsqrt(squares + options.epsilon) * gamma + beta;
  }
  [[nodiscard]] constexpr long long flops(sc::layer_inputs const& in) const { return 2LL * in[0].size(); }
};

/// What ends with an activation, without a kernel.
struct scaled_sums : sc::layer<scaled_sums> {
  static constexpr std::string_view class_name = "ScaledSums";
  static constexpr bool ends_with_activation = true;

  int units = 1;
  sc::activation activation = sc::linear;

  constexpr scaled_sums(int units_, sc::activation activation_) : units(units_), activation(activation_) {}

  constexpr auto call(auto& ops, auto x) const {
    return activation(ops.matmul(x, ops.weight({.name = "kernel", .shape = {x.length(-1), units}})) * 2.0F);
  }
};

}  // namespace own_copies
