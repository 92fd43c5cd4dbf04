// SPDX-License-Identifier: BSD-3-Clause
// Random compositions of operations.
#pragma once

#include <stagecraft/operations/tracer.hpp>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace stagecraft::operations::runs {

/// Writes down operations at random; no value becomes large, so that differences keep their digits.
class random_operations {
 public:
  explicit random_operations(unsigned seed) : engine_(seed) {}

  tensor write(tracer& ops, std::span<tensor const> inputs) {
    std::vector<tensor> values(inputs.begin(), inputs.end());
    values.push_back(ops.weight({.name = "a", .shape = {4}}));
    values.push_back(ops.weight({.name = "b", .shape = {4, 4}}));
    int const count = 3 + draw(9);
    for (int i = 0; i < count; ++i) {
      tensor const x = values[static_cast<std::size_t>(draw(static_cast<int>(values.size())))];
      if (tensor const y = apply_one(ops, x, values); y.shape().size() <= 200) values.push_back(y);
    }
    if (draw(3) == 0) {  // gradients are those of the step that has read the old weight
      tensor const old = values[inputs.size() + static_cast<std::size_t>(draw(2))];
      ops.update(old, cos(old) * 0.5F);
    }
    return values.back();
  }

 private:
  int draw(int below) { return static_cast<int>(engine_() % static_cast<unsigned>(below)); }

  /// Some other value that broadcasts with x, or x.
  tensor partner(tensor x, std::vector<tensor> const& values) {
    tensor const other = values[static_cast<std::size_t>(draw(static_cast<int>(values.size())))];
    extents shape = x.shape();
    return shape.broadcast_with(other.shape()) ? other : x;
  }
  tensor apply_one(tracer& ops, tensor x, std::vector<tensor> const& values) {
    int const rank = x.rank(), axis = rank > 0 ? draw(rank) : 0;
    switch (draw(18)) {
      case 0: return tanh(x);
      case 1: return sigmoid(x) - 0.25F;
      case 2: return exp(tanh(x)) * 0.5F;
      case 3: return rsqrt(square(x) + 1.0F);
      case 4: return erf(x) + sin(x);
      case 5: return tanh(x + partner(x, values));
      case 6: return tanh(x * partner(x, values));
      case 7: return x / (square(partner(x, values)) + 1.0F);
      case 8: return where(x < 0.1F, x * 0.5F, partner(x, values));
      case 9: return ops.mean(x, axis);
      case 10: return ops.softmax(x, axis);
      case 11: return x - ops.max(x, axis);
      case 12: {
        std::vector<int> order;
        for (int i = 0; i < rank; ++i) order.push_back((i + 1) % rank);
        return rank == 3 ? ops.transpose(x, {order[0], order[1], order[2]}) : rank == 2 ? ops.transpose(x, {1, 0}) : x;
      }
      case 13: return ops.reshape(x, {static_cast<int>(x.shape().size())});
      case 14: return x.length(axis) > 1 ? ops.slice(x, axis, 1, x.length(axis) - 1) : x;
      case 15: return ops.pad(ops.flip(x, axis), axis, 1, 0);
      case 16: return ops.concatenate({x, tanh(x)}, axis);
      default: return rank >= 2 ? tanh(ops.matmul(x, x, {.transpose_b = true})) : square(tanh(x));
    }
  }

  std::mt19937 engine_;
};

}  // namespace stagecraft::operations::runs
