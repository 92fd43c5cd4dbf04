// SPDX-License-Identifier: BSD-3-Clause
// A layer, a loss, an optimizer and more that the library does not know, in the words of keras.ops: shapes, weights,
// costs, gradients, and the steps on each machine follow from what they say. They work like built-in ones: here on the
// host, and on an emulated IPU.
#include <stagecraft/ipu.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

/// Divides each row by its root mean square, and multiplies each column by a weight that is learnt.
struct rms_normalization : sc::layer<rms_normalization> {
  static constexpr std::string_view class_name = "RMSNormalization";
  float epsilon = 1e-6F;

  constexpr auto call(auto& ops, auto x) const {
    auto const scale = ops.weight({.name = "scale", .shape = {x.length(-1)}, .initializer = sc::initializers::ones{}});
    return x * rsqrt(ops.mean(square(x), -1) + epsilon) * scale;
  }
};

/// Cross-entropy of logits that counts the less the surer the model is: Lin et al., "Focal Loss for Dense Object
/// Detection".
struct focal_loss : sc::loss<focal_loss> {
  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const probability = ops.softmax(output);
    return ops.sum(-target * square(1 - probability) * log(probability + 1e-7F), -1);
  }
};

/// Steps of one length, in the direction of a mean of gradients: Chen et al., "Symbolic Discovery of Optimization
/// Algorithms".
struct lion : sc::optimizer<lion> {
  float learning_rate = 1e-3F;
  float beta_1 = 0.9F, beta_2 = 0.99F;

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const m = ops.slot("m");
    ops.update(weight, weight - ops.learning_rate() * sign(m * beta_1 + gradient * (1 - beta_1)));
    ops.update(m, m * beta_2 + gradient * (1 - beta_2));
  }
};

/// Misra, "Mish: A Self Regularized Non-Monotonic Activation Function".
struct mish : sc::own_activation<mish> {
  static constexpr std::string_view name = "mish";
  constexpr auto call(auto x) const { return x * tanh(softplus(x)); }
};

/// The distance of the right class's probability from 1.
struct doubt : sc::own_metric<doubt> {
  static constexpr std::string_view name = "doubt";
  constexpr auto call(auto& ops, auto target, auto output) const {
    return 1 - ops.sum(target * ops.softmax(output), -1);
  }
};

/// Half of the weights begin as 0.
struct sparse_uniform : sc::own_initializer<sparse_uniform> {
  constexpr auto call(auto& ops, auto const& shape) const {
    auto const values = ops.uniform(shape) * 0.2F - 0.1F;
    auto const kept = ops.uniform(shape) < 0.5F;
    return values * kept;
  }
};

/// The share of a weight that is not 0, as something that has a gradient: Hoyer, "Non-negative Matrix Factorization
/// with Sparseness Constraints".
struct hoyer : sc::own_regularizer<hoyer> {
  constexpr auto call(auto& ops, auto weight) const {
    return square(ops.sum(abs(weight), {0, 1})) / ops.sum(square(weight), {0, 1}) * 1e-6F;
  }
};

/// No weight leaves [-0.5, 0.5].
struct at_most_half : sc::own_constraint<at_most_half> {
  constexpr auto call(auto&, auto weight) const { return sc::minimum(sc::maximum(weight, -0.5F), 0.5F); }
};

using mlp = sc::sequential<
    input{28, 28}, flatten{}, rms_normalization{},
    dense{128,
          mish{},
          {.kernel_initializer = sparse_uniform{}, .kernel_regularizer = hoyer{}, .kernel_constraint = at_most_half{}}},
    rms_normalization{}.named("second_normalization"), dense{10}>;

inline constexpr auto training = sc::training{.optimizer = lion{},
                                              .loss = focal_loss{},
                                              .metrics = {sc::metrics::categorical_accuracy{}, doubt{}},
                                              .batch_size = 64};

/// The loss takes a number for each output.
inline xt::xtensor<float, 2> one_hot(xt::xtensor<std::int32_t, 1> const& labels) {
  xt::xtensor<float, 2> result = xt::zeros<float>({labels.size(), std::size_t{10}});
  for (std::size_t i = 0; i < labels.size(); ++i) result(i, static_cast<std::size_t>(labels(i))) = 1;
  return result;
}

int main(int argc, char** argv) {
  auto const given =
      read_arguments(argc, argv, "Trains with a layer, a loss, an optimizer and more of the user's own.", 3);
  auto const [train, test] = load_data(given);
  auto const targets = one_hot(train.y), test_targets = one_hot(test.y);
  sc::summary<mlp>();

  sc::trainer<mlp, training> model;
  model.fit(train.x, targets, {.epochs = given.epochs, .validation_data = {test.x, test_targets}});
  auto const weights = model.weight<"second_normalization/scale">();
  std::printf("the first column is scaled by %.4f, the last by %.4f\n", weights(0), weights(127));

  std::printf("\nthe same on an emulated IPU, three steps:\n");
  sc::trainer<mlp, training, sc::ipu<>> on_ipu;
  on_ipu.fit(train.x, targets, {.epochs = 1, .steps_per_epoch = 3});
}
