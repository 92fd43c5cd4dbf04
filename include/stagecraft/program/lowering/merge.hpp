// SPDX-License-Identifier: BSD-3-Clause
// Lowering of the merging layers: add, subtract, multiply, average, maximum. Level 4.
#pragma once

#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/layers/add.hpp>
#include <stagecraft/layers/average.hpp>
#include <stagecraft/layers/maximum.hpp>
#include <stagecraft/layers/multiply.hpp>
#include <stagecraft/layers/subtract.hpp>
#include <stagecraft/program/lowering/broadcast.hpp>
#include <stagecraft/program/lowering/lowering.hpp>

namespace stagecraft {

namespace detail {

/// The inputs' tensors, by their positions, with as many elements as the output.
template <class Call>
struct merge_inputs {
  int tensors[Call::input_count]{};

  constexpr explicit merge_inputs(lowered_step& step) {
    for (int i = 0; i < Call::input_count; ++i) tensors[i] = append_broadcast_input<Call>(step, i);
  }
};

template <class Call>
constexpr void append_merged_inputs(lowered_step& step, map_function function) {
  merge_inputs<Call> const inputs(step);
  append_merge(step, function, Call::output(step), inputs.tensors, Call::input_count);
}

/// The output's gradient is each input's, times `factor(input)`.
template <class Call, class Factor>
constexpr void append_scaled_gradients(lowered_step& step, Factor const& factor) {
  for (int i = 0; i < Call::input_count; ++i)
    if (Call::wants_input_gradient(i)) append_scaled_gradient<Call>(step, i, factor(i));
}

/// The output's gradient where the input with number `which` is the first of the largest. One operation compares it
/// with as many others as it has room for.
template <class Call>
constexpr void append_maximum_gradient(lowered_step& step, merge_inputs<Call> const& inputs, int which) {
  int gradient = Call::output_gradient(step);
  int const result = elementwise_gradient<Call>(step, which);
  constexpr int others = tile_operation::most_inputs - 2;
  for (int next = 0; next < Call::input_count;) {
    tile_operation& operation = append_map(step, map_function::maximum_gradient, result, {{gradient}});
    int room = others;
    bool has_own = false;
    auto const compare = [&](int input) { operation.inputs[operation.input_count++] = inputs.tensors[input]; };
    auto const add_own = [&] {
      operation.scalars[0] = static_cast<float>(operation.input_count - 1);
      compare(which);
      has_own = true;
    };
    for (; next < Call::input_count && (room > 0 || next == which); ++next) {
      if (next == which) continue;
      if (next > which && !has_own) add_own();
      compare(next);
      --room;
    }
    if (!has_own) add_own();
    for (int i = 0; i < operation.input_count; ++i) operation.sizes[2 * i] = 1;
    gradient = result;
  }
  append_gradient_sums<Call>(step, which, result);
}

}  // namespace detail

template <>
struct lowering<layers::add> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    detail::append_merged_inputs<Call>(step, map_function::add);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    detail::append_scaled_gradients<Call>(step, [](int) { return 1.0F; });
  }
};

template <>
struct lowering<layers::subtract> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    detail::merge_inputs<Call> const inputs(step);
    append_map(step, map_function::subtract, Call::output(step), {{inputs.tensors[0]}, {inputs.tensors[1]}});
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    detail::append_scaled_gradients<Call>(step, [](int input) { return input == 0 ? 1.0F : -1.0F; });
  }
};

template <>
struct lowering<layers::average> {
  static constexpr float share(int inputs) { return 1.0F / static_cast<float>(inputs); }

  template <class Call>
  static constexpr void forward(lowered_step& step) {
    if (Call::input_count <= tile_operation::most_inputs)
      return detail::append_merged_inputs<Call>(step, map_function::average);
    detail::append_merged_inputs<Call>(step, map_function::add);
    int const output = Call::output(step);
    append_map(step, map_function::scale, output, {{output}}, {share(Call::input_count)});
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    detail::append_scaled_gradients<Call>(step, [](int) { return share(Call::input_count); });
  }
};

template <>
struct lowering<layers::multiply> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    detail::append_merged_inputs<Call>(step, map_function::multiply);
  }
  /// The output's gradient times all other inputs.
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    detail::merge_inputs<Call> const inputs(step);
    for (int which = 0; which < Call::input_count; ++which) {
      if (!Call::wants_input_gradient(which)) continue;
      int factors[Call::input_count]{Call::output_gradient(step)};
      int count = 1;
      for (int i = 0; i < Call::input_count; ++i)
        if (i != which) factors[count++] = inputs.tensors[i];
      int const gradient = detail::elementwise_gradient<Call>(step, which);
      append_merge(step, map_function::multiply, gradient, factors, count);
      detail::append_gradient_sums<Call>(step, which, gradient);
    }
  }
};

template <>
struct lowering<layers::maximum> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    detail::append_merged_inputs<Call>(step, map_function::maximum);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    detail::merge_inputs<Call> const inputs(step);
    for (int which = 0; which < Call::input_count; ++which)
      if (Call::wants_input_gradient(which)) detail::append_maximum_gradient<Call>(step, inputs, which);
  }
};

}  // namespace stagecraft
