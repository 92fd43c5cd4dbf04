// SPDX-License-Identifier: BSD-3-Clause
// Lowering of concatenate: one operation for each input. Level 4.
#pragma once

#include <stagecraft/ipu/operations/rearrange.hpp>
#include <stagecraft/layers/concatenate.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <cstdint>

namespace stagecraft {

template <>
struct lowering<layers::concatenate> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    blocks<Call> at;
    for (int i = 0; i < Call::input_count; ++i, at.next(i))
      append_part(step, Call::input(step, i), Call::output(step), at.input(i), at.first, at.output);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    blocks<Call> at;
    for (int i = 0; i < Call::input_count; ++i, at.next(i))
      if (Call::wants_input_gradient(i))
        append_slice(step, Call::output_gradient(step), Call::input_gradient(step, i), at.output, at.first,
                     at.input(i));
  }

 private:
  /// Each input is blocks of elements that lie behind each other, at the same place of each block of the output.
  template <class Call>
  struct blocks {
    static constexpr int axis = Call::layer.shape_axis(Call::output_shape());
    static constexpr std::int64_t outer = std::int64_t{Call::batch} * Call::output_shape().size(0, axis);
    static constexpr std::int64_t length(shape const& of) { return of.size(axis, of.rank()); }

    box_axes output{1, 1, outer, length(Call::output_shape())};
    box_axes first{0, 0, 0, 0};

    static constexpr box_axes input(int index) { return {1, 1, outer, length(Call::input_shape(index))}; }
    /// To the input behind the one whose number is `index` - 1.
    constexpr void next(int index) { first.of[3] += length(Call::input_shape(index - 1)); }
  };
};

}  // namespace stagecraft
