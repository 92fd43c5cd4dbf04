// SPDX-License-Identifier: BSD-3-Clause
// A linear stack of layers: tf.keras.Sequential.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/rooms.hpp>

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/layers/core/input.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/models/model_base.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft::models {

/// E1019 an entry is no layer, E1007 it is a layer that lacks something.
template <class Entry>
constexpr void check_entry(diagnostic& problem, int position) {
  if constexpr (std::derived_from<Entry, layer_base>) {
    if constexpr (!std::same_as<Entry, layers::input> && !Layer<Entry>) {
      if (!problem.failed()) problem = check_layer<Entry>();
    }
  } else if constexpr (std::same_as<Entry, activation>) {
    problem.report(1019, "entry ", position,
                   " of a sequential model is a value of type 'activation', which is neither a layer nor a model; the "
                   "layer is activation{...}, with the function in its braces");
  } else if constexpr (!std::derived_from<Entry, callable_model<Entry>>) {
    problem.report(1019, "entry ", position, " of a sequential model is a value of type '", type_name<Entry>(),
                   "', which is neither a layer nor a model that can be called; a layer is a struct with base layer<",
                   std::is_class_v<Entry> ? type_name<Entry>() : std::string_view("itself"), ">");
  }
}

/// True if the first entry is an input, so that the model can be checked where it is named. Compiles the `call` of each
/// entry, known by its type alone: a mistake in one's own is reported here, where GCC prints no model on the way to it.
template <class... Entries>
inline constexpr bool compiled_with_input = false;
template <class First, class... Others>
inline constexpr bool compiled_with_input<First, Others...> =
    (static_cast<void>(layers::detail::HasCall<First>), (static_cast<void>(layers::detail::HasCall<Others>), ...),
     std::same_as<std::remove_cv_t<First>, layers::input>);

/// The type that `sequential<...>` names.
template <auto... Layers>
struct sequential_model : callable_model<sequential_model<Layers...>> {
  static constexpr model_kind kind = model_kind::sequential;

  /// E1021 there is no entry, E1019 and E1007 an entry is no layer.
  template <std::size_t>
  static constexpr diagnostic check_definition() {
    diagnostic problem;
    if (sizeof...(Layers) == 0)
      problem.report(1021,
                     "a sequential model without layers; name its input and its layers: sequential<input{28, 28}, "
                     "flatten{}, dense{10}>");
    [[maybe_unused]] int position = 0;
    [[maybe_unused]] int const checks[]{
        0, (check_entry<std::remove_cvref_t<decltype(Layers)>>(problem, position++), 0)...};
    return problem;
  }

  /// Calls one layer after the other. Inside another model the input comes from there; an own `input` must agree.
  static constexpr symbolic_tensor trace(model_builder& builder, tracing::array_view<symbolic_tensor const> bound) {
    symbolic_tensor x{&builder, 0};
    bool has_input = false;
    if (!bound.empty() && !begins_with_input<Layers...>()) {
      x = builder.take_input();
      has_input = true;
    }
    int position = 0;
    // A list in braces runs from left to right, and may be longer than a fold.
    [[maybe_unused]] int const calls[]{(call_one(builder, Layers, x, has_input, position++), 0)...};
    return x;
  }

 private:
  static constexpr void call_one(model_builder& builder, auto layer, symbolic_tensor& x, bool& has_input,
                                 int position) {
    if constexpr (std::same_as<decltype(layer), layers::input>) {
      if (position == 0)
        x = builder.input(layer.dimensions, layer.layer_name, layer.type, layer.batch_size);
      else
        builder.problem.report(1009, "input ", layer.dimensions, " stands at position ", position,
                               " of a sequential model; an input can only be its first entry");
      has_input = true;
    } else {
      if (!has_input) {
        builder.problem.report(
            1010,
            "the first entry of this sequential model is not an input, so that its shapes are "
            "not known; begin it with input{...}, give it one with build<model, input{...}>, or call "
            "it inside another model");
        x = builder.input(shape(1));
        has_input = true;
      }
      if constexpr (requires { layer.pipeline_stage; }) {
        if (layer.pipeline_stage != unassigned && builder.current_model() == 0)
          builder.problem.report(2013, "entry ", position,
                                 " of a sequential model has a pipeline stage of its own; give "
                                 "the stages of a sequential model with pipelined<model, stages<...>>");
      }
      auto const result = layer(first_tensor(x, "", 0));  // no line: this one is not the user's
      if constexpr (requires { result.count; })
        if (result.count > 1)
          builder.problem.report(1084, "entry ", position, " of a sequential model gives ", result.count,
                                 " outputs; in a sequential model each layer gives one, without `return_state`");
      x = result;
    }
  }
};

}  // namespace stagecraft::models

namespace stagecraft {

/// Keras's Sequential: `sequential<input{28, 28}, flatten{}, dense{10}>`. An entry is a layer or another model; layers
/// are written with braces. Checked where it is named, if it begins with an input; without one it can be called inside
/// another model.
template <auto... LayersInBraces>  // values: flatten{}, since flatten() and flatten would be types
using sequential = models::checked_model<models::sequential_model<LayersInBraces...>,
                                         models::compiled_with_input<decltype(LayersInBraces)...>>;

}  // namespace stagecraft
