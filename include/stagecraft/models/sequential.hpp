// SPDX-License-Identifier: BSD-3-Clause
// A linear stack of layers: tf.keras.Sequential. Level 3.
#pragma once

#include <span>
#include <stagecraft/layers/input.hpp>
#include <stagecraft/models/model_base.hpp>
#include <stagecraft/models/model_graph.hpp>

namespace stagecraft {

/// The type behind `sequential<...>`.
template <auto... Layers>
struct sequential_model : callable_model<sequential_model<Layers...>> {
  static constexpr model_kind kind = model_kind::sequential;

  /// Calls one layer after the other. Inside another model the input comes from there; an own `input` must agree.
  static constexpr symbolic_tensor trace(model_builder& builder, std::span<symbolic_tensor const> bound) {
    symbolic_tensor x{&builder, 0};
    bool has_input = false;
    if (!bound.empty() && !detail::begins_with_input<Layers...>()) {
      x = builder.take_input();
      has_input = true;
    }
    int position = 0;
    // A list in braces runs from left to right, and may be longer than a fold.
    [[maybe_unused]] int const calls[]{(call_one(builder, Layers, x, has_input, position++), 0)...};
    return x;
  }

 private:
  static constexpr void call_one(model_builder& builder, auto layer, symbolic_tensor& x, bool& has_input, int position) {
    if constexpr (std::same_as<decltype(layer), layers::input>) {
      if (position == 0)
        x = builder.input(layer.dimensions, layer.layer_name, layer.type);
      else
        builder.problem.report(1009, "input ", layer.dimensions, " stands at position ", position,
                               " of a sequential model; an input can only be its first entry");
      has_input = true;
    } else {
      if (!has_input) {
        builder.problem.report(1010, "the first entry of this sequential model is not an input, so that its shapes are "
                               "not known; begin it with input{...}, or call it inside another model");
        x = builder.input(shape(1));
        has_input = true;
      }
      if constexpr (requires { layer.pipeline_stage; }) {
        if (layer.pipeline_stage != unassigned && builder.current_model() == 0)
          builder.problem.report(2013, "entry ", position, " of a sequential model has a pipeline stage of its own; give "
                                 "the stages of a sequential model with pipelined<model, stages<...>>");
      }
      x = layer(x);
    }
  }
};

/// Keras's Sequential: `sequential<input{28, 28}, flatten{}, dense{10}>`. An entry is a layer or another model; layers
/// are written with braces. Checked where it is named, if it begins with an input; without one it can be called inside
/// another model.
template <auto... Layers>
using sequential = typename detail::layer_verdict<
    sequential_model<Layers...>, detail::begins_with_input<Layers...>()>::template model<sequential_model<Layers...>>;

}  // namespace stagecraft
