// SPDX-License-Identifier: BSD-3-Clause
// Lowering of slices: one axis after the other. Level 4.
#pragma once

#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/ipu/operations/rearrange.hpp>
#include <stagecraft/layers/slicing_op_lambda.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <cstdint>

namespace stagecraft {

template <>
struct lowering<layers::slicing_op_lambda> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    using s = sliced<Call>;
    int tensor = Call::input(step);
    if (s::count == 0) append_map(step, map_function::copy, Call::output(step), {{tensor}});
    for (int i = 0; i < s::count; ++i) {
      int const result = i + 1 == s::count ? Call::output(step) : step.temporary(s::result_elements(i), Call::type);
      append_slice(step, tensor, result, s::before(i), {0, 0, s::axis(i).first, 0}, s::behind(i));
      tensor = result;
    }
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    using s = sliced<Call>;
    if (!Call::wants_input_gradient(0)) return;
    int tensor = Call::output_gradient(step);
    if (s::count == 0) append_map(step, map_function::copy, Call::input_gradient(step), {{tensor}});
    for (int i = s::count; i-- > 0;) {
      int const result = i == 0 ? Call::input_gradient(step) : step.temporary(s::result_elements(i - 1), Call::type);
      append_pad(step, tensor, result, s::behind(i), {0, 0, s::axis(i).first, 0}, s::before(i));
      tensor = result;
    }
  }

 private:
  /// The axes of which a part is taken, the outermost first; what is taken of one is taken before the next.
  template <class Call>
  struct sliced {
    static constexpr auto const& in = Call::input_shape();
    static constexpr auto part = Call::layer.part_of(Call::input_shape());
    static constexpr bool is_sliced(int of) { return part.axis[of].count < in[of]; }
    static constexpr int count = [] {
      int result = 0;
      for (int axis = 0; axis < in.rank(); ++axis) result += is_sliced(axis) ? 1 : 0;
      return result;
    }();
    static constexpr int number(int index) {
      int axis = 0;
      while (!is_sliced(axis) || index-- > 0) ++axis;
      return axis;
    }
    static constexpr auto axis(int index) { return part.axis[number(index)]; }
    static constexpr std::int64_t outer(int index) {
      std::int64_t result = Call::batch;
      for (int i = 0; i < number(index); ++i) result *= part.axis[i].count;
      return result;
    }
    static constexpr std::int64_t inner(int index) { return in.size(number(index) + 1, in.rank()); }
    static constexpr box_axes before(int index) { return {1, outer(index), in[number(index)], inner(index)}; }
    static constexpr box_axes behind(int index) { return {1, outer(index), axis(index).count, inner(index)}; }
    static constexpr std::int64_t result_elements(int index) { return outer(index) * axis(index).count * inner(index); }
  };
};

}  // namespace stagecraft
