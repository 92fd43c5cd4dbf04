// SPDX-License-Identifier: BSD-3-Clause
// The lowerings of all layers, and that of time_distributed: the lowering of its layer, with all steps of the batch as
// samples.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/lowering/normalization.hpp>
#include <stagecraft/ipu/lowering/pooling.hpp>
#include <stagecraft/ipu/lowering/traced.hpp>

namespace stagecraft::tiles {

/// The call that the lowering of the inner layer sees.
template <class Call>
struct lowered_call_of_steps : Call {
  static constexpr auto const& layer = Call::layer.each;
  static constexpr int steps = Call::input_shape(0)[0];
  static constexpr int batch = Call::batch * steps;

  [[nodiscard]] static constexpr shape const& input_shape(int = 0) { return shape_of_input; }
  [[nodiscard]] static constexpr shape const& output_shape() { return shape_of_output; }

 private:
  using outer = std::remove_cvref_t<decltype(Call::layer)>;
  static constexpr shape shape_of_input = outer::of_step(Call::input_shape(0));
  static constexpr shape shape_of_output = outer::of_step(Call::output_shape());
};

template <class L>
  requires(kernel_of<L> == layer_kernel::each_step)
struct lowering<L> {
  template <class Call>
  static constexpr weight_mapping const* planned_weight(int index) {
    return tiles::planned_weight<lowering_of_each, lowered_call_of_steps<Call>>(index);
  }
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    lowering_of_each::template forward<lowered_call_of_steps<Call>>(step);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    lowering_of_each::template backward<lowered_call_of_steps<Call>>(step);
  }

 private:
  using lowering_of_each = lowering<decltype(L::each)>;
};

}  // namespace stagecraft::tiles
