// SPDX-License-Identifier: BSD-3-Clause
// Elementwise steps whose operands differ in shape, on the host: rows of results, and sums of gradients over what an
// operand is repeated along. Sums have one order, whatever the number of threads. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/kernels/broadcast.hpp>
#include <stagecraft/layers/broadcast.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::detail {

/// The operands of a call: its inputs, and the number of an operator in its place.
template <class Call>
struct broadcast_operation {
  static constexpr int number_place = [] {
    if constexpr (requires { Call::layer.number_place; })
      return Call::layer.number_place;
    else
      return -1;
  }();
  static constexpr int operands = Call::input_count + (number_place >= 0 ? 1 : 0);
  static constexpr int input_of(int operand) {
    return number_place >= 0 && operand > number_place ? operand - 1 : operand;
  }
  static constexpr broadcast_axes axes_of(int operand) {
    return {Call::batch, Call::output_shape(), Call::input_shape(input_of(operand))};
  }

  static constexpr bool needed = [] {
    for (int i = 0; i < operands; ++i)
      if (i == number_place || axes_of(i).shares()) return true;
    return false;
  }();

  /// A row: as many elements of the output as each operand has either of its own, one after the other, or one for.
  static constexpr std::int64_t row = [] {
    std::int64_t shortest = std::int64_t{Call::batch} * Call::size;
    for (int i = 0; i < operands; ++i) {
      if (i == number_place) continue;
      auto const axes = axes_of(i);
      auto const last = axes.length[axes.count - 1];
      shortest = last < shortest ? last : shortest;
    }
    return shortest;
  }();
  static constexpr std::int64_t rows = std::int64_t{Call::batch} * Call::size / row;

  template <class Rule>
  static void forward(Call const& call) {
    auto const [first, last] = call.share().of(rows);
    for (auto i = first; i < last; ++i) {
      auto const from = operands_at(call, i * row);
      kernels::broadcast_row<Rule, typename Call::architecture>(from.data(), operands, call.output() + i * row, row);
    }
  }

  template <class Rule>
  static void backward(Call const& call) {
    [&]<int... Operand>(std::integer_sequence<int, Operand...>) {
      (operand_backward<Rule, Operand>(call), ...);
    }(std::make_integer_sequence<int, operands>{});
  }

 private:
  static auto operands_at(Call const& call, std::int64_t element) {
    static constexpr float number = [] {
      if constexpr (number_place >= 0) return Call::layer.number;
      return 0.0F;
    }();
    std::array<kernels::row_operand, static_cast<std::size_t>(operands)> result{};
    [&]<int... Operand>(std::integer_sequence<int, Operand...>) {
      ((result[Operand] = operand_at<Operand>(call, element, number)), ...);
    }(std::make_integer_sequence<int, operands>{});
    return result;
  }
  template <int Operand>
  static kernels::row_operand operand_at(Call const& call, std::int64_t element, float const& number) {
    if constexpr (Operand == number_place) {
      return {&number, true};
    } else {
      static constexpr auto axes = axes_of(Operand);
      return {call.input(input_of(Operand)) + axes.element(element), axes.shared[axes.count - 1]};
    }
  }

  template <class Rule, int Operand>
  static void operand_backward(Call const& call) {
    if constexpr (Operand != number_place) {
      if constexpr (Call::wants_input_gradient(input_of(Operand))) sum_gradients<Rule, Operand>(call);
    }
  }
  template <class Rule, int Operand>
  static void sum_gradients(Call const& call) {
    using arch = typename Call::architecture;
    constexpr int input = input_of(Operand);
    static constexpr auto axes = axes_of(Operand);
    constexpr bool row_is_one = axes.shared[axes.count - 1];
    constexpr std::int64_t elements = axes.own_size(0, axes.count), repeats = axes.size(0, axes.count) / elements;
    constexpr std::int64_t step = row_is_one ? 1 : row;  // elements of the operand in a row
    constexpr std::int64_t rows_of_one = row_is_one ? repeats / row : repeats;
    auto const [first, last] = call.share().of(elements / step);
    for (auto unit = first; unit < last; ++unit) {
      float* const dx = call.input_gradient(input) + unit * step;
      float sum = 0;
      for (std::int64_t repeat = 0; repeat < rows_of_one; ++repeat) {
        auto const element = axes.reader(unit * step, row_is_one ? repeat * row : repeat);
        auto const from = operands_at(call, element);
        float const* const dy = call.output_gradient() + element;
        if constexpr (row_is_one)
          sum += kernels::broadcast_gradient_sum<Rule, arch>(from.data(), operands, Operand, dy, row);
        else
          kernels::broadcast_gradient_row<Rule, arch>(from.data(), operands, Operand, dy, dx,
                                                      Call::adds_input_gradient(input) || repeat > 0, row);
      }
      if constexpr (row_is_one) *dx = Call::adds_input_gradient(input) ? *dx + sum : sum;
    }
  }
};

}  // namespace stagecraft::detail
