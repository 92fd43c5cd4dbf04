// SPDX-License-Identifier: BSD-3-Clause
// The input of a model: tf.keras.Input and tf.keras.layers.InputLayer.
#pragma once

#include <stagecraft/graph/model_builder.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::layers {

/// An input of the given shape, without the batch dimension: the first entry of `sequential`, or an argument of
/// `build`. In a functional model's `build` it is spelled `model.input(28, 28)`, `model.input(input{28, 28})` or
/// `input{28, 28}(model)`.
/// E1003 if a dimension is below 1, E1029 if a batch size is, or differs from that of another input.
struct input : tracing::layer_base {
  static constexpr std::string_view class_name = "InputLayer";
  static constexpr std::string_view usage = "input{28, 28} with the dimensions of one sample";

  shape dimensions;
  dtype type = dtype::float32;
  int batch_size = 0;  ///< the batch size that a training must have; 0: any

  template <std::integral... Dimensions>
    requires(sizeof...(Dimensions) >= 1)
  constexpr input(Dimensions... dimension) : dimensions(dimension...) {}
  constexpr explicit input(shape const& dimensions_, dtype type_ = dtype::float32, std::string_view name = {},
                           int batch_size_ = 0)
      : tracing::layer_base{name}, dimensions(dimensions_), type(type_), batch_size(batch_size_) {}

  /// No argument, or any other: E1025.
  template <class L = input>
  constexpr explicit input(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                           detail::wrong_options = {})
      : input(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr symbolic_tensor operator()(tracing::model_builder& model) const {
    return model.input(dimensions, layer_name, type, batch_size);
  }

  /// A copy with Keras's `name` argument.
  [[nodiscard]] constexpr input named(std::string_view name) const { return input(dimensions, type, name, batch_size); }
  /// A copy with Keras's `dtype` argument.
  [[nodiscard]] constexpr input of_type(dtype new_type) const {
    return input(dimensions, new_type, layer_name, batch_size);
  }
  /// A copy with Keras's `batch_size` argument: E4029 where a training has another one, E1029 where another
  /// input has. Summaries show it in place of None.
  [[nodiscard]] constexpr input of_batch_size(int size) const {
    return input(dimensions, type, layer_name, size < 1 ? -1 : size);
  }
};

}  // namespace stagecraft::layers
