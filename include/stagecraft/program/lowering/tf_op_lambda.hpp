// SPDX-License-Identifier: BSD-3-Clause
// Lowering of operators between tensors. Level 4.
#pragma once

#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/layers/tf_op_lambda.hpp>
#include <stagecraft/program/lowering/broadcast.hpp>
#include <stagecraft/program/lowering/lowering.hpp>

namespace stagecraft {

template <tensor_operator Operator>
struct lowering<layers::tf_op_lambda<Operator>> {
  static constexpr bool is_product = Operator == tensor_operator::multiply || Operator == tensor_operator::negative;
  static constexpr map_function function = Operator == tensor_operator::add        ? map_function::add
                                           : Operator == tensor_operator::subtract ? map_function::subtract
                                           : is_product                            ? map_function::multiply
                                                                                   : map_function::divide;

  template <class Call>
  static constexpr void forward(lowered_step& step) {
    int const y = Call::output(step);
    if constexpr (Call::input_count == 2) {
      int const a = detail::append_broadcast_input<Call>(step, 0), b = detail::append_broadcast_input<Call>(step, 1);
      append_map(step, function, y, {{a}, {b}});
    } else {
      constexpr float number = Call::layer.number;
      constexpr bool is_left = Call::layer.number_place == 0;
      int const x = Call::input(step);
      if constexpr (Operator == tensor_operator::add) {
        append_map(step, map_function::offset, y, {{x}}, {number});
      } else if constexpr (Operator == tensor_operator::subtract) {
        if (is_left) append_map(step, map_function::scale, y, {{x}}, {-1});
        append_map(step, map_function::offset, y, {{is_left ? y : x}}, {is_left ? number : -number});
      } else if constexpr (is_product || !is_left) {
        append_map(step, map_function::scale, y, {{x}}, {factor_of_number<Call>()});
      } else {
        append_map(step, map_function::divide, y, {{append_number<Call>(step)}, {x}});
      }
    }
  }

  template <class Call>
  static constexpr void backward(lowered_step& step) {
    constexpr bool has_number = Call::input_count == 1;
    for (int input = 0; input < Call::input_count; ++input) {
      if (!Call::wants_input_gradient(input)) continue;
      bool const is_left = has_number ? Call::layer.number_place == 1 : input == 0;
      if constexpr (Operator == tensor_operator::add || Operator == tensor_operator::subtract) {
        bool const is_negative = Operator == tensor_operator::subtract && !is_left;
        detail::append_scaled_gradient<Call>(step, input, is_negative ? -1.0F : 1.0F);
      } else if (has_number && (is_product || is_left)) {
        detail::append_scaled_gradient<Call>(step, input, factor_of_number<Call>());
      } else {
        append_product_gradient<Call>(step, input, is_left);
      }
    }
  }

 private:
  template <class Call>
  static constexpr float factor_of_number() {
    return Operator == tensor_operator::divide ? 1 / Call::layer.number : Call::layer.number;
  }
  template <class Call>
  static constexpr int append_number(lowered_step& step) {
    int const result = step.temporary(Call::output_elements(), Call::type);
    append_map(step, map_function::fill, result, {}, {Call::layer.number});
    return result;
  }
  template <class Call>
  static constexpr int append_operand(lowered_step& step, int operand) {
    if (Call::layer.number_place == operand) return append_number<Call>(step);
    return detail::append_broadcast_input<Call>(step, Call::input_count == 1 ? 0 : operand);
  }

  /// Of a product: the output's gradient times the other operand. Of a quotient: dy / b, and dy times -(a / b / b).
  template <class Call>
  static constexpr void append_product_gradient(lowered_step& step, int input, bool is_left) {
    int const dy = Call::output_gradient(step), dx = detail::elementwise_gradient<Call>(step, input);
    float scale = 1;
    if constexpr (Operator == tensor_operator::multiply) {
      append_map(step, map_function::multiply, dx, {{dy}, {append_operand<Call>(step, is_left ? 1 : 0)}});
    } else if (is_left) {
      append_map(step, map_function::divide, dx, {{dy}, {append_operand<Call>(step, 1)}});
    } else {
      int const a = append_operand<Call>(step, 0), b = append_operand<Call>(step, 1);
      append_map(step, map_function::divide, dx, {{a}, {b}});
      append_map(step, map_function::divide, dx, {{dx}, {b}});
      append_map(step, map_function::multiply, dx, {{dx}, {dy}});
      scale = -1;
      if (!detail::axes_of_input<Call>(input).shares()) append_map(step, map_function::scale, dx, {{dx}}, {scale});
    }
    detail::append_gradient_sums<Call>(step, input, dx, scale);
  }
};

}  // namespace stagecraft
