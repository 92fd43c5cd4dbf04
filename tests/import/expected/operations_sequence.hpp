// The model 'operations_sequence' of operations_sequence.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace operations_sequence_parts {

struct constant_joined_sum : sc::layer<constant_joined_sum> {
  static constexpr std::string_view class_name = "constant_joined_sum";

  constexpr auto call(auto& ops, auto x) const {
    auto const w1 = ops.weight({.name = "constant", .shape = {1, 1, 6}, .trainable = false});
    auto const a = ops.broadcast(w1, {x.length(0), 1, 6});
    auto const b = ops.concatenate({a, x}, 1);
    auto const w2 = ops.weight({.name = "positions", .shape = {1, 7, 6}, .trainable = false});
    return b + w2;
  }
};

struct comparison_choice : sc::layer<comparison_choice> {
  static constexpr std::string_view class_name = "comparison_choice";

  constexpr auto call(auto&, auto x) const {
    auto const a = x > -0.5F;
    return where(a, x, -2.0F);
  }
};

struct own_last_state : sc::layer<own_last_state> {
  static constexpr std::string_view class_name = "own_last_state";

  constexpr auto call(auto& ops, auto x) const {
    return ops.concatenate({ops.slice(ops.slice(x, 1, 6, 1), 2, 0, 5), ops.slice(ops.slice(x, 1, 0, 1), 2, 5, 5)}, 1);
  }
};

struct shaped_part_joined : sc::layer<shaped_part_joined> {
  static constexpr std::string_view class_name = "shaped_part_joined";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = ops.reshape(x, {x.length(0), 7, 2, 5});
    auto const b = ops.slice(a, 2, 0, 1);
    auto const c = ops.reshape(b, {b.length(0), 7, 5});
    auto const d = ops.flip(ops.slice(c, 1, 0, 2, 6), 1);
    auto const e = ops.slice(c, 1, 3, 1);
    auto const f = ops.slice(c, 1, 3, 1);
    return ops.concatenate({d, e, f}, 1);
  }
};

struct own_absolute : sc::layer<own_absolute> {
  static constexpr std::string_view class_name = "own_absolute";

  constexpr auto call(auto&, auto x) const {
    return abs(x);
  }
};

struct shaped_smallest_exp : sc::layer<shaped_smallest_exp> {
  static constexpr std::string_view class_name = "shaped_smallest_exp";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = ops.reshape(x, {x.length(0), 4});
    auto const b = sc::minimum(a, 1.5F);
    auto const c = exp(b);
    auto const d = abs(a);
    auto const e = ops.sum(d, {1});
    auto const f = sc::maximum(e, 0.25F);
    return c / f;
  }
};

struct largest_difference_exponential : sc::layer<largest_difference_exponential> {
  static constexpr std::string_view class_name = "largest_difference_exponential";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = ops.max(x, {1});
    auto const b = x - a;
    auto const c = exp(b);
    auto const d = ops.sum(c, {1});
    auto const e = log(d);
    return b - e;
  }
};

}  // namespace operations_sequence_parts

struct operations_sequence : sc::functional<operations_sequence> {
  static constexpr std::string_view name = "operations_sequence";

  static constexpr auto build(auto& model) {
    using namespace operations_sequence_parts;  // NOLINT
    auto x = model.input({7, 6}, "x");
    x = cropping1d{{1, 0}}(x);
    x = constant_joined_sum{}(x);
    auto y = dense{4, {.use_bias = false}}(x);
    auto z = dense{4, {.use_bias = false}}(x);
    z = permute{2, 1}(z);
    y = dot{{2, 1}}(y, z);
    y = comparison_choice{}(y);
    z = softmax_layer{1}(y);
    x = dense{4, {.use_bias = false}}(x);
    z = dot{{2, 1}}(z, x);
    x = bidirectional{lstm{5, {.return_sequences = true}}}(z);
    auto a = own_last_state{}(x);
    a = flatten{}(a);
    z = own_absolute{}(z);
    z = cropping1d{{6, 0}}(z);
    z = shaped_smallest_exp{}(z);
    a = concatenate{}(a, z);
    x = shaped_part_joined{}(x);
    y = largest_difference_exponential{}(y);
    return sc::outputs(a, x, y);
  }
};

}  // namespace models
