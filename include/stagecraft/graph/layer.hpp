// SPDX-License-Identifier: BSD-3-Clause
// What makes a struct a layer: the base that lets it be called on symbolic tensors, and the concept that says what its
// rules are. Keras counterpart: tf.keras.layers.Layer. Level 1.
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <span>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/model_builder.hpp>
#include <string_view>

namespace stagecraft {

/// A layer says its class name and the shape of its output; the other rules have defaults.
template <class L>
concept Layer = std::derived_from<L, layer_base> && requires(L const& layer, layer_inputs const& in) {
  { L::class_name } -> std::convertible_to<std::string_view>;
  { layer.output_shape(in) } -> std::convertible_to<shape>;
};

/// Base of every layer. A layer of your own:
///
///     struct scale : sc::layer<scale> {
///       static constexpr std::string_view class_name = "Scale";
///       constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
///       constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
///         weights.add({.name = "factor", .shape = {in[0].back()}, .initializer = sc::initializers::ones{}});
///       }
///       // what it computes: `forward` and `backward`, see execution/operation.hpp
///     };
///
/// Options are public members, so that a layer can be a template argument of `sequential`. Called as a named variable,
/// a layer keeps its weights from call to call; called as a temporary, it is a new one each time.
template <class Derived>
struct layer : layer_base {
  /// Calls the layer. E1001 and the codes of its own rules.
  template <std::same_as<symbolic_tensor>... Tensors>
    requires(sizeof...(Tensors) > 0)
  constexpr symbolic_tensor operator()(Tensors... tensor) & {
    symbolic_tensor const given[]{tensor...};
    return trace(static_cast<Derived&>(*this), given);
  }
  template <std::same_as<symbolic_tensor>... Tensors>
    requires(sizeof...(Tensors) > 0)
  constexpr symbolic_tensor operator()(Tensors... tensor) && {
    symbolic_tensor const given[]{tensor...};
    return trace(static_cast<Derived&>(*this), given);
  }
  /// A const layer cannot remember which weights are its own from one call to the next.
  template <std::same_as<symbolic_tensor>... Tensors>
    requires(sizeof...(Tensors) > 0)
  constexpr symbolic_tensor operator()(Tensors... tensor) const& {
    static_assert(sizeof...(Tensors) == 0,
                  "stagecraft: a layer that is const cannot be called, since a call gives it its weights; "
                  "make the variable (or the model's `call`) non-const [E1006]");
    return symbolic_tensor{tensor...};
  }
  /// Keras's spelling with a list: `add{}({a, b})`.
  constexpr symbolic_tensor operator()(std::initializer_list<symbolic_tensor> tensors) & {
    return trace(static_cast<Derived&>(*this), {tensors.begin(), tensors.size()});
  }
  constexpr symbolic_tensor operator()(std::initializer_list<symbolic_tensor> tensors) && {
    return trace(static_cast<Derived&>(*this), {tensors.begin(), tensors.size()});
  }

  /// The same layer with Keras's `name` argument.
  [[nodiscard]] constexpr Derived named(std::string_view name) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.layer_name = name;
    return copy;
  }
  /// The same layer as if it were constructed in the scope of a pipeline stage.
  [[nodiscard]] constexpr Derived in_pipeline_stage(int stage) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.pipeline_stage = stage;
    return copy;
  }

 private:
  static constexpr symbolic_tensor trace(Derived& self, std::span<symbolic_tensor const> given) {
    static_assert(Layer<Derived>,
                  "stagecraft: a layer needs `static constexpr std::string_view class_name` and "
                  "`constexpr shape output_shape(layer_inputs const&) const` [E1007]");
    auto& model = *given[0].model;
    constexpr std::size_t most = 64;
    shape shapes[most]{};
    auto const count = given.size() < most ? given.size() : most;
    for (std::size_t i = 0; i < count; ++i) shapes[i] = given[i].shape();

    detail::call_record record{};
    record.layer = &self;
    record.class_name = Derived::class_name;
    record.type = tag_of<Derived>;
    record.inputs = given;
    auto const layer_id = model.layer_of(record);
    layer_inputs const in(shapes, static_cast<int>(given.size()), model.name_of(layer_id), model.problem);
    record.shape = self.output_shape(in);
    record.type_of_output = given[0].type();
    if constexpr (requires { self.flops(in); }) record.flops = self.flops(in);
    parameter_list weights;
    if constexpr (requires { self.parameters(in, weights); }) {
      if (!model.problem.failed()) self.parameters(in, weights);
    }
    record.parameters = &weights;
    return model.add_call(record);
  }
};

}  // namespace stagecraft
