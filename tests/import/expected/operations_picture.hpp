// The model 'operations_picture' of operations_picture.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace operations_picture_parts {

struct own_hard_swish : sc::layer<own_hard_swish> {
  static constexpr std::string_view class_name = "own_hard_swish";

  constexpr auto call(auto&, auto x) const {
    return x * sc::minimum(sc::maximum(x / 6.0F + 0.5F, 0.0F), 1.0F);
  }
};

struct hard_slope_product : sc::layer<hard_slope_product> {
  static constexpr std::string_view class_name = "hard_slope_product";

  constexpr auto call(auto&, auto x, auto y) const {
    auto const a = sc::minimum(sc::maximum(x * 0.16666667F + 0.5F, 0.0F), 1.0F);
    return a * y;
  }
};

struct part_joined_mean : sc::layer<part_joined_mean> {
  static constexpr std::string_view class_name = "part_joined_mean";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = ops.flip(ops.slice(x, 1, 0, 2), 1);
    auto const b = ops.slice(x, 1, 1, 7);
    auto const c = ops.flip(ops.slice(x, 1, 5, 2), 1);
    auto const d = ops.concatenate({a, b, c}, 1);
    auto const e = ops.flip(ops.slice(d, 2, 0, 3), 2);
    auto const f = ops.slice(d, 2, 1, 5);
    auto const g = ops.slice(d, 2, 4, 1);
    auto const h = ops.concatenate({e, f, g}, 2);
    auto const t8 = ops.slice(h, 1, 1, 5, 2);
    auto const t9 = ops.flip(ops.slice(t8, 2, 2, 4, 2), 2);
    auto const t10 = ops.mean(t9, {3});
    auto const t11 = t9 - t10;
    auto const t12 = t11 * t11;
    auto const t13 = ops.mean(t12, {3});
    auto const t14 = t13 + 0.001F;
    auto const t15 = sqrt(t14);
    return t11 / t15;
  }
};

struct sum_limited : sc::layer<sum_limited> {
  static constexpr std::string_view class_name = "sum_limited";

  constexpr auto call(auto& ops, auto x) const {
    auto const w1 = ops.weight({.name = "constant", .shape = {1, 1, 4, 8}, .trainable = false});
    auto const a = x + w1;
    return sc::minimum(sc::maximum(a, -0.75F), 1.25F);
  }
};

struct square_sum_root : sc::layer<square_sum_root> {
  static constexpr std::string_view class_name = "square_sum_root";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = x * x;
    auto const b = ops.sum(a, {1, 3});
    auto const c = sqrt(b);
    return ops.reshape(c, {c.length(0), 4});
  }
};

}  // namespace operations_picture_parts

struct operations_picture : sc::functional<operations_picture> {
  static constexpr std::string_view name = "operations_picture";

  static constexpr auto build(auto& model) {
    using namespace operations_picture_parts;  // NOLINT
    auto x = model.input({8, 6, 4}, "x");
    x = conv2d{8, 3, {.padding = sc::padding::same, .groups = 2}}(x);
    x = own_hard_swish{}(x);
    auto y = global_average_pooling2d{}(x);
    y = reshape{1, 1, 8}(y);
    y = conv2d{8, 1}(y);
    y = hard_slope_product{}(y, x);
    y = group_normalization{{.groups = 8}}(y);
    y = part_joined_mean{}(y);
    y = batch_normalization{{.epsilon = 0.0F}}(y);
    y = sum_limited{}(y);
    x = square_sum_root{}(y);
    return sc::outputs(x, y);
  }
};

}  // namespace models
