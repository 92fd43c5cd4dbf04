// SPDX-License-Identifier: BSD-3-Clause
// Lowering of calls that are sums of products, a bias and an activation, and have a kernel on the host: dense and all
// convolutions; with casts of their weights, and activations as parts of them or as layers of their own.
#pragma once

#include <stagecraft/activations/activation_formula.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/lowering/traced/traced_convolution.hpp>
#include <stagecraft/ipu/tasks/convolution.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/reduce.hpp>
#include <stagecraft/ipu/tasks/rows.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <array>
#include <cstdint>
#include <utility>

namespace stagecraft::tiles {

/// The number of a weight's tensor of Call::type: the stored weight itself, or a temporary copy, rounded to that type.
/// Ask once per step and weight.
template <class Call>
constexpr int append_weight(lowered_step& step, int index) {
  int const stored = Call::stored_weight(step, index);
  if (Call::variable_type == Call::type) return stored;
  int const copy = step.temporary(Call::parameter_info(index).size(), Call::type, Call::planned_weight(index));
  append_map(step, map_function::copy, copy, {{stored}});
  return copy;
}

/// Appends the activation of a layer's sums (bias included), into Call::output. The sums may be the output already, or
/// Call::saved. Training keeps them from float number `saved_offset` of the saved floats on, if the activation's
/// gradient needs them.
template <class Call>
constexpr void append_activation(lowered_step& step, activation const& function, int sums,
                                 std::int64_t saved_offset = 0) {
  int const output = Call::output(step);
  if (Call::trains && Call::planned.needs.saved > 0 && function.gradient_needs_input()) {
    int const saved = Call::saved(step, static_cast<int>(saved_offset), Call::output_elements());
    if (saved != sums) append_map(step, map_function::copy, saved, {{sums}});
  }
  if (function.kind == activation_kind::softmax) {
    std::int64_t const columns = Call::output_shape().back();
    append_softmax(step, sums, output, Call::output_elements() / columns, columns, 1);
  } else if (function != linear) {
    append_activation_map(step, function, sums, output, own_formula<Call::layer.activation, false>());
  } else if (sums != output) {
    append_map(step, map_function::copy, output, {{sums}});
  }
}

/// Turns the gradient of a layer's output into that of its sums, in place. Nothing is done if the activation is linear,
/// or if its reader has applied its gradient already.
template <class Call>
constexpr int append_activation_gradient(lowered_step& step, activation const& function,
                                         std::int64_t saved_offset = 0) {
  int const gradient = Call::output_gradient(step);
  if (Call::planned.activation_in_consumer || function == linear) return gradient;
  if (function.kind == activation_kind::softmax) {
    std::int64_t const columns = Call::output_shape().back();
    append_softmax_gradient(step, gradient, Call::output(step), gradient, Call::output_elements() / columns, columns,
                            1);
  } else {
    int const known = function.gradient_needs_input()
                          ? Call::saved(step, static_cast<int>(saved_offset), Call::output_elements())
                          : Call::output(step);
    append_activation_gradient_map(step, function, gradient, known, gradient,
                                   own_formula<Call::layer.activation, true>());
  }
  return gradient;
}

/// A product of a call's input, or of the result of the product before it, with the weight of its own number.
struct product_of_sums {
  convolution_shape shape;      ///< shape of a forward pass
  bool is_transposed = false;   ///< true: the product is the gradient of that pass
  bool is_convolution = false;  ///< false: a matrix product
  std::int64_t elements = 0;    ///< elements of its result
};
/// The products in their order; the result of the last one is the sums.
struct products_of_sums {
  std::array<product_of_sums, 2> steps{};
  int count = 0;

  constexpr products_of_sums(operations::trace const& traced, dtype type) {
    auto const& list = traced.list;
    for (int id = 0; id < traced.forward_count; ++id) {
      auto const& node = list.node_of(id);
      if (node.operand_count < 2) continue;
      auto const &first = list.node_of(list.operand(id, 0)).shape, &result = node.shape;
      product_of_sums step;
      step.elements = result.size();
      if (node.what.is<operations::product>()) {
        step.shape = convolution_shape::matmul(type, result.size() / result[-1], first[-1], result[-1]);
      } else if (auto const* forward = node.what.if_is<operations::convolution>()) {
        step.is_convolution = true;
        step.shape = traced_convolution(forward->windows, forward->groups, first, result, type);
      } else if (auto const* back = node.what.if_is<operations::convolution_input_gradient>()) {
        step.is_convolution = step.is_transposed = true;
        step.shape = traced_convolution(back->windows, back->groups, result, first, type);
      } else {
        continue;
      }
      steps[count++] = step;
    }
  }
};

template <class L>
constexpr products_of_sums find_products(L const& layer, int batch, dtype type,
                                         tracing::array_view<shape const> inputs) {
  return {trace_layer(layer, inputs, batch, true), type};
}
// One constant serves all layers that are alike.
template <auto Layer, int Batch, dtype Type, shape Input>
inline constexpr products_of_sums products_of_layer = find_products(Layer, Batch, Type, std::array{Input});

template <class Call>
inline constexpr products_of_sums products_of_call =
    find_products(Call::layer, Call::batch, Call::type, std::array{Call::input_shape(0)});
template <LayerIsArgument Call>
inline constexpr products_of_sums const& products_of_call<Call> =
    products_of_layer<anonymous(Call::layer), Call::batch, Call::type, Call::input_shape(0)>;

/// A layer whose call is sums of products and has a kernel.
template <class L>
concept HasSums = HasCall<L> && requires(L const& layer) {
  L::steps_by;
  layer.activation;
};
template <class Call>
inline constexpr bool has_sums =
    HasSums<std::remove_cvref_t<decltype(Call::layer)>> && !runs_by_operations(Call::layer);

template <class Call>
class sums_lowering {
  static constexpr auto const& products = products_of_call<Call>;
  static constexpr int count = products.count;
  static constexpr product_of_sums const& product(int index) { return products.steps[index]; }
  template <int Index>
  static constexpr convolution_shape shape_of = product(Index).shape;
  static constexpr poplar_options const& options =
      products.steps[0].is_convolution ? Call::config.convolutions : Call::config.matmuls;
  static constexpr bool keeps_sums = Call::trains && Call::layer.activation.gradient_needs_input();

 public:
  template <int Index = 0>
  static constexpr weight_mapping const* planned_weight(int index) {
    if (index == Index) return &weight_mapping_of<shape_of<Index>, Call::target, options, product(Index).is_transposed>;
    if constexpr (Index + 1 < count) return planned_weight<Index + 1>(index);
    return nullptr;
  }

  static constexpr void forward(lowered_step& step) { append_forward<0>(step, Call::input(step)); }
  static constexpr void backward(lowered_step& step) {
    append_backward<count - 1>(step, append_activation_gradient<Call>(step, Call::layer.activation));
  }

 private:
  template <int Index>
  static constexpr void append_forward(lowered_step& step, int input) {
    int const result = result_of<Index>(step), weight = append_weight<Call>(step, Index);
    if constexpr (product(Index).is_transposed)
      append_convolution_input_gradient<shape_of<Index>, Call::target, options>(step, input, weight, result);
    else
      append_convolution<shape_of<Index>, Call::target, options>(step, input, weight, result);
    if constexpr (Index + 1 < count)
      append_forward<Index + 1>(step, result);
    else
      append_bias_and_activation(step, result);
  }
  /// Appends the backward step. The gradient of a value between two products takes the value's place.
  template <int Index>
  static constexpr void append_backward(lowered_step& step, int gradient) {
    if constexpr (Index == 0) {
      if constexpr (Call::wants_input_gradient(0)) append_input_gradient<0>(step, gradient, Call::input_gradient(step));
      if constexpr (Call::parameter_info(0).trainable) append_weight_gradient<0>(step, Call::input(step), gradient);
      if constexpr (count == 1) append_bias_gradient(step, gradient);
    } else {
      int const between = result_of<Index - 1>(step);
      if constexpr (Call::parameter_info(Index).trainable) append_weight_gradient<Index>(step, between, gradient);
      if constexpr (Index + 1 == count) append_bias_gradient(step, gradient);
      if constexpr (Call::wants_input_gradient(0) || Call::parameter_info(0).trainable)
        append_input_gradient<Index>(step, gradient, between);
      append_backward<Index - 1>(step, between);
    }
  }
  template <int Index>
  static constexpr void append_input_gradient(lowered_step& step, int gradient, int result) {
    int const weight = append_weight<Call>(step, Index);
    if constexpr (product(Index).is_transposed)
      append_convolution<shape_of<Index>, Call::target, options>(step, gradient, weight, result);
    else
      append_convolution_input_gradient<shape_of<Index>, Call::target, options>(step, gradient, weight, result);
  }
  template <int Index>
  static constexpr void append_weight_gradient(lowered_step& step, int input, int gradient) {
    int const result = Call::weight_gradient(step, Index);
    if constexpr (product(Index).is_transposed) std::swap(input, gradient);
    append_convolution_filter_gradient<shape_of<Index>, Call::target, options>(step, input, gradient, result);
  }

  /// The tensor of a product's result. Sums go into the output, or into the saved floats for the gradient of the
  /// activation; results of earlier products are saved after them.
  template <int Index>
  static constexpr int result_of(lowered_step& step) {
    if constexpr (Index + 1 < count)
      return Call::saved(step, keeps_sums ? static_cast<int>((Call::output_elements() + 15) / 16 * 16) : 0,
                         product(Index).elements);
    else
      return keeps_sums ? Call::saved(step, 0, Call::output_elements()) : Call::output(step);
  }
  static constexpr void append_bias_and_activation(lowered_step& step, int sums) {
    if (Call::layer.options.use_bias)
      append_map(step, map_function::add, sums,
                 {{sums}, {append_weight<Call>(step, count), {1, Call::output_shape().back()}}});
    append_activation<Call>(step, Call::layer.activation, sums);
  }
  static constexpr void append_bias_gradient(lowered_step& step, int gradient) {
    if (!Call::layer.options.use_bias || !Call::parameter_info(count).trainable) return;
    std::int64_t const channels = Call::output_shape().back();
    append_reduce(step, reduce_function::sum, {gradient}, Call::weight_gradient(step, count), 1,
                  Call::output_elements() / channels, channels);
  }
};

}  // namespace stagecraft::tiles
