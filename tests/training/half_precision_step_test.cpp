// SPDX-License-Identifier: BSD-3-Clause
// A step of training in pairs of bfloat16, on threads, against one in floats: what the sanitizers see of half
// precision.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

/// Convolutions with even and odd channels and filters, in groups, with strides and dilation, and one of a single
/// channel, which makes pairs of samples alone; transposed ones; layers that are called twice; dense layers of odd
/// sizes.
struct windows : sc::functional<windows> {
  static constexpr auto build(auto& model) {
    constexpr auto same = sc::padding::same;
    auto again = conv2d(8, 3, {.padding = same, .dilation_rate = 2});
    auto input = model.input(9, 8, 4);
    auto x = conv2d(6, 3, sc::tanh)(input);
    x = again(again(conv2d(8, 3, sc::tanh, {.strides = 2, .padding = same, .groups = 2})(x)));
    x = conv2d(6, 1, sc::tanh)(conv2d(4, 1)(conv2d(7, 1, sc::tanh)(x)));
    x = conv1d(8, 3, sc::tanh, {.groups = 2})(reshape(12, 6)(x));
    auto hidden = dense(33, sc::tanh);
    x = hidden(hidden(dense(33, sc::tanh)(flatten()(x))));
    // Those without a bias would have one whose gradient is next to nothing: a sum of numbers that cancel out.
    auto y = conv2d(9, 3, sc::tanh, {.groups = 3})(
        conv2d(3, 2, sc::tanh, {.use_bias = false})(conv2d(1, 3, {.padding = same, .use_bias = false})(input)));
    y = conv2d_transpose(6, 2, sc::tanh)(conv2d_transpose(5, 3, {.strides = 2, .padding = same})(y));
    return dense(5)(concatenate()(x, flatten()(y)));
  }
};

/// A convolution of one's own.
struct own_convolution : sc::layer<own_convolution> {
  static constexpr std::string_view class_name = "OwnConvolution";
  constexpr auto call(auto& ops, auto x) const {
    using sc::operations::window;
    auto const kernel = ops.weight(
        {.name = "kernel", .shape = {2, 3, x.length(-1), 5}, .initializer = sc::initializers::glorot_uniform{}});
    return tanh(ops.conv(x, kernel, {window{.size = 2, .dilation = 2}, window{.size = 3}}));
  }
};

/// Layers whose convolutions are operations, separable ones, and one too narrow for pairs.
struct volumes : sc::functional<volumes> {
  static constexpr auto build(auto& model) {
    constexpr auto same = sc::padding::same;
    auto input = model.input(9, 8, 4);
    auto x = separable_conv2d(17, 3, sc::tanh, {.padding = same, .depth_multiplier = 5})(input);
    x = conv1d_transpose(6, 3, sc::tanh, {.strides = 2})(separable_conv1d(16, 3, sc::tanh)(reshape(9, 136)(x)));
    auto y = conv3d(8, {2, 3, 3}, sc::tanh, {.padding = same})(reshape(3, 6, 4, 4)(input));
    y = conv3d(16, 3, sc::tanh, {.strides = 2, .padding = same, .groups = 2})(y);
    y = conv3d_transpose(9, 2, sc::tanh, {.strides = 2})(y);
    auto z = conv_lstm2d(5, {2, 3}, {.padding = same})(reshape(3, 6, 4, 4)(input));
    return dense(5)(concatenate()(flatten()(x), flatten()(y), flatten()(own_convolution{}(z))));
  }
};

/// What a step of gradient descent from the same weights adds to them.
template <class Model, sc::dtype_policy Policy, class Machine>
std::vector<std::vector<float>> changes_of_weights() {
  constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 1},
                                         .loss = sc::losses::mean_squared_error{},
                                         .batch_size = 7,
                                         .dtype_policy = Policy};
  sc::trainer<Model, training, Machine> model;
  unsigned state = 1;
  auto const fill = [&](auto& values) {
    for (float& value : values) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(state >> 8U) * 0x1p-23F - 1;
    }
  };
  xt::xtensor<float, 4> x = xt::xtensor<float, 4>::from_shape({7, 9, 8, 4});
  xt::xtensor<float, 2> y = xt::xtensor<float, 2>::from_shape({7, 5});
  fill(x);
  fill(y);
  auto weights = model.get_weights();
  for (auto& weight : weights) {
    fill(weight.values);
    for (float& value : weight.values) value *= 0.3F;
  }
  model.set_weights(weights);
  sc::predictor<Model, sc::inference{.batch_size = 7, .dtype_policy = Policy}> predictor;
  predictor.set_weights(weights);
  CHECK(predictor.predict(x) == model.predict(x));
  model.train_on_batch(x, y);
  auto const trained = model.get_weights();
  std::vector<std::vector<float>> changes;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto& change = changes.emplace_back();
    for (std::size_t k = 0; k < weights[i].values.size(); ++k)
      change.push_back(trained[i].values[k] - weights[i].values[k]);
  }
  return changes;
}

template <class Model>
void check() {
  using sc::dtype_policies::float32, sc::dtype_policies::mixed_bfloat16;
  auto const expected = changes_of_weights<Model, float32, sc::host<>>(),
             found = changes_of_weights<Model, mixed_bfloat16, sc::host<3>>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    double difference = 0, all = 0;
    for (std::size_t k = 0; k < expected[i].size(); ++k) {
      double const change = static_cast<double>(expected[i][k]), error = static_cast<double>(found[i][k]) - change;
      difference += error * error;
      all += change * change;
    }
    CHECK(std::sqrt(difference / all) < 0.03);
  }
}

}  // namespace

TEST_CASE("pairs of bfloat16 give the gradients of floats but for their rounding, and predict what a predictor does") {
  check<windows>();
  check<volumes>();
}
