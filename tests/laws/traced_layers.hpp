// SPDX-License-Identifier: BSD-3-Clause
// Layers that are written as a `call`, as users define them.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <array>

namespace laws {

namespace sc = stagecraft;

struct normalize : sc::layer<normalize> {
  static constexpr std::string_view class_name = "Normalize";
  float epsilon = 1e-3F;

  constexpr auto call(auto& ops, auto x) const {
    sc::shape const channels(x.length(-1));
    auto const gamma = ops.weight({.name = "gamma", .shape = channels, .initializer = sc::initializers::ones{}});
    auto const beta = ops.weight({.name = "beta", .shape = channels, .initializer = sc::initializers::zeros{}});
    auto const centred = x - ops.mean(x, -1);
    return centred * rsqrt(ops.mean(square(centred), -1) + epsilon) * gamma + beta;
  }
};

/// Two inputs, of which one may be given twice, and another shape than theirs.
struct gate : sc::layer<gate> {
  static constexpr std::string_view class_name = "Gate";
  constexpr auto call(auto& ops, auto a, auto b) const {
    auto const product = sigmoid(a) * b + a;
    return ops.reshape(product, {product.length(0), product.length(1), 1});
  }
};

/// As many inputs as there are.
struct weighted_sum : sc::layer<weighted_sum> {
  static constexpr std::string_view class_name = "WeightedSum";
  constexpr auto call(auto& ops, sc::tensor_list inputs) const {
    auto const weights = ops.weight({.name = "weights",
                                     .shape = {static_cast<int>(inputs.size())},
                                     .initializer = sc::initializers::random_normal{.stddev = 1}});
    auto sum = inputs[0] * ops.slice(weights, 0, 0, 1);
    for (std::size_t i = 1; i < inputs.size(); ++i) sum += inputs[i] * ops.slice(weights, 0, static_cast<int>(i), 1);
    return sum;
  }
};

struct project : sc::layer<project> {
  static constexpr std::string_view class_name = "Project";
  int units = 1;
  constexpr explicit project(int units_ = 1) : units(units_) {}
  constexpr auto call(auto& ops, auto x) const {
    return tanh(ops.matmul(
        x, ops.weight(
               {.name = "kernel", .shape = {x.length(-1), units}, .initializer = sc::initializers::glorot_uniform{}})));
  }
};

/// Attention of one head, with a softmax over places.
struct attend : sc::layer<attend> {
  static constexpr std::string_view class_name = "Attend";
  constexpr auto call(auto& ops, auto x) const {
    auto const kernel = ops.weight(
        {.name = "query", .shape = {x.length(-1), x.length(-1)}, .initializer = sc::initializers::glorot_uniform{}});
    return ops.matmul(ops.softmax(ops.matmul(ops.matmul(x, kernel), x, {.transpose_b = true})), x);
  }
};

/// A loop over places.
struct recur : sc::layer<recur> {
  static constexpr std::string_view class_name = "Recur";
  bool reversed = false;
  constexpr explicit recur(bool reversed_ = false) : reversed(reversed_) {}
  constexpr auto call(auto& ops, auto x) const {
    int const features = x.length(-1);
    auto const kernel = ops.weight(
        {.name = "kernel", .shape = {features, features}, .initializer = sc::initializers::orthogonal{.gain = 0.5F}});
    auto const step = [&](auto at, auto state) { return std::array{tanh(at + ops.matmul(state[0], kernel))}; };
    return ops.scan(x, 1, std::array{ops.full({x.length(0), features}, 0)}, step, reversed).all[0];
  }
};

/// All that windows can do.
struct windowed : sc::layer<windowed> {
  static constexpr std::string_view class_name = "Windowed";
  constexpr auto call(auto& ops, auto x) const {
    using sc::operations::window;
    auto const kernel = ops.weight(
        {.name = "kernel", .shape = {3, x.length(-1), 4}, .initializer = sc::initializers::glorot_uniform{}});
    auto const y = ops.conv(x, kernel, window::same(x.length(1), 3));
    auto const back = ops.conv_transpose(y, kernel, window::same(x.length(1), 3), x.shape());
    return ops.concatenate({ops.max_pool(y, window{2}), ops.average_pool(y, window{2}),
                            ops.slice(ops.pad(back, 1, 1, 0), 1, 1, x.length(1) - 1)});
  }
};

/// Rows of a table, by the place.
struct positions : sc::layer<positions> {
  static constexpr std::string_view class_name = "Positions";
  constexpr auto call(auto& ops, auto x) const {
    auto const table = ops.weight({.name = "table",
                                   .shape = {x.length(1), x.length(2)},
                                   .initializer = sc::initializers::random_normal{.stddev = 1}});
    return x + ops.take(table, ops.iota({x.length(0), x.length(1)}));
  }
};

/// A moving mean, that is not trained.
struct centre : sc::layer<centre> {
  static constexpr std::string_view class_name = "Centre";
  constexpr auto call(auto& ops, auto x) const {
    auto const moving = ops.weight(
        {.name = "moving_mean", .shape = {x.length(-1)}, .initializer = sc::initializers::zeros{}, .trainable = false});
    if (!ops.training()) return x - moving;
    auto const mean = ops.mean(x, 0);
    ops.update(moving, moving * 0.5F + ops.reshape(mean, {x.length(-1)}) * 0.5F);
    return x - mean;
  }
};

struct same : sc::layer<same> {
  static constexpr std::string_view class_name = "Same";
  constexpr auto call(auto&, auto x) const { return x; }
};

}  // namespace laws
