// SPDX-License-Identifier: BSD-3-Clause
// A tensor that exists only while a model is traced: what a layer's call gives, and the next one takes.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/slice.hpp>
#include <array>
#include <concepts>

namespace stagecraft::tracing {

class model_builder;

}  // namespace stagecraft::tracing

namespace stagecraft {

/// Keras's symbolic tensor: the output of one call, known by its index. Copies stand for the same tensor. Without a
/// model it is what an invalid call gave, which has had its compile error.
struct symbolic_tensor {
  tracing::model_builder* model = nullptr;
  int call = 0;

  /// Its shape, without the batch.
  [[nodiscard]] constexpr stagecraft::shape const& shape() const;
  [[nodiscard]] constexpr dtype type() const;
  /// A part of it: Python's x[:, 1:3] is x[{sc::all(), sc::slice(1, 3)}]. See layers/core/op_lambda.hpp.
  template <class Part = tracing::slice_list>  // so that a program that has none need not compile it
  [[nodiscard]] constexpr symbolic_tensor operator[](tracing::slice_list const& part) const;
};

/// Several tensors as a model's outputs: `return sc::outputs(a, b);`.
template <class... Tensors>
[[nodiscard]] constexpr auto outputs(Tensors... tensor) {
  return std::array<symbolic_tensor, sizeof...(Tensors)>{tensor...};
}

}  // namespace stagecraft

namespace stagecraft::tracing {

/// The first tensor that a layer or model is called with. Converting to it, the compiler fills in the line of the call.
struct first_tensor {
  symbolic_tensor tensor;
  source_line where;

  constexpr first_tensor(symbolic_tensor given, char const* file = __builtin_FILE(), int line = __builtin_LINE())
      : tensor(given), where{file, line} {}
};

/// Whether a call's arguments are one or more symbolic tensors.
template <class... Arguments>
inline constexpr bool are_tensors = sizeof...(Arguments) > 0 && ((std::derived_from<Arguments, symbolic_tensor> ||
                                                                  std::same_as<Arguments, first_tensor>) &&
                                                                 ...);

}  // namespace stagecraft::tracing
