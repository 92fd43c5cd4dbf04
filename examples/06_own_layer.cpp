// SPDX-License-Identifier: BSD-3-Clause
// A layer that the library does not know: what it computes, in the words of keras.ops. Its shape, its weights, its
// cost, its gradient and its steps on each machine follow from that; it works like a built-in one, in all kinds of
// model.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

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

using mlp = sc::sequential<input{28, 28}, flatten{}, rms_normalization{}, dense{128, sc::relu},
                           rms_normalization{}.named("second_normalization"), dense{10}>;

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .nesterov = true},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 64};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a perceptron with a layer of the user's own.", 3);
  auto const [train, test] = load_data(given);
  sc::summary<mlp>();
  sc::trainer<mlp, training> model;
  model.fit(train.x, train.y, {.epochs = given.epochs, .validation_data = test});
  auto const weights = model.weight<"second_normalization/scale">();
  std::printf("the first column is scaled by %.4f, the last by %.4f\n", weights(0), weights(127));
}
