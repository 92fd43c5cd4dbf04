// SPDX-License-Identifier: BSD-3-Clause
// A tensor that exists only while a model is traced: what a layer's call gives, and the next one takes. Level 1.
#pragma once

#include <array>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/shape.hpp>

namespace stagecraft {

class model_builder;

/// Keras's symbolic tensor: the output of one call, known by its index. Copies stand for the same tensor.
struct symbolic_tensor {
  model_builder* model = nullptr;
  int call = 0;

  /// Its shape, without the batch.
  [[nodiscard]] constexpr stagecraft::shape const& shape() const;
  [[nodiscard]] constexpr dtype type() const;
};

/// Several tensors as a model's outputs: `return sc::outputs(a, b);`.
template <class... Tensors>
[[nodiscard]] constexpr auto outputs(Tensors... tensor) {
  return std::array<symbolic_tensor, sizeof...(Tensors)>{tensor...};
}

}  // namespace stagecraft
