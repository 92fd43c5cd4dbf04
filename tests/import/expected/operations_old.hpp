// The model 'operations_old' of operations_old.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace operations_old_parts {

struct limited_part_shaped : sc::layer<limited_part_shaped> {
  static constexpr std::string_view class_name = "limited_part_shaped";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = sc::minimum(sc::maximum(x, -0.5F), 0.75F);
    auto const b = ops.slice(a, 3, 0, 1);
    auto const c = ops.slice(a, 3, 1, 3);
    auto const d = ops.reshape(b, {b.length(0), 4, 6, 1});
    return c * d;
  }
};

struct own_padded : sc::layer<own_padded> {
  static constexpr std::string_view class_name = "own_padded";

  constexpr auto call(auto& ops, auto x) const {
    return ops.pad(x, 1, 0, 1) + 0.5F * (1.0F - ops.pad(ops.full(x.shape(), 1.0F), 1, 0, 1));
  }
};

struct largest_difference_exponential : sc::layer<largest_difference_exponential> {
  static constexpr std::string_view class_name = "largest_difference_exponential";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = ops.max(x, {1, 2, 3});
    auto const b = x - a;
    auto const c = exp(b);
    auto const d = ops.sum(c, {1, 2, 3});
    return c / d;
  }
};

struct largest_shaped : sc::layer<largest_shaped> {
  static constexpr std::string_view class_name = "largest_shaped";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = ops.max(x, {1});
    return ops.reshape(a, {a.length(0), 8, 3});
  }
};

}  // namespace operations_old_parts

struct operations_old : sc::functional<operations_old> {
  static constexpr std::string_view name = "operations_old";

  static constexpr auto build(auto& model) {
    using namespace operations_old_parts;  // NOLINT
    auto x = model.input({4, 6, 3}, "x");
    x = conv2d{4, 1, {.use_bias = false}}(x);
    x = limited_part_shaped{}(x);
    x = cropping2d{{{1, 0}, {2, 0}}}(x);
    x = own_padded{}(x);
    x = up_sampling2d{2}(x);
    auto y = largest_difference_exponential{}(x);
    x = dropout{0.5F}(x);
    x = largest_shaped{}(x);
    return sc::outputs(y, x);
  }
};

}  // namespace models
