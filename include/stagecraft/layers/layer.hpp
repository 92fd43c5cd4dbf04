// SPDX-License-Identifier: BSD-3-Clause
// The base that makes a struct a layer, which can be called on symbolic tensors.
// Keras counterpart: tf.keras.layers.Layer.
#pragma once

#include <stagecraft/diagnostics/any_argument.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/layer_outputs.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer_call.hpp>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace stagecraft {

/// A layer's positional arguments, as its members in Keras's order, for the list of its options
/// (layers/option_list.hpp):
///
///     int units = 1;
///     using arguments = sc::argument_list<&my_dense::units>;
template <auto... Members>
struct argument_list {};

namespace layers {

// The usage of a layer is written as "..."sv, whose characters no constant evaluation counts.
using std::string_view_literals::operator""sv;

}  // namespace layers

}  // namespace stagecraft

namespace stagecraft::layers::detail {

/// The error E1006.
template <class L>
inline constexpr diagnostic const_call_problem = [] {
  diagnostic problem;
  problem.report(1006, "a layer that is const (", name_of_layer<L>(),
                 ") cannot be called, since a call gives it "
                 "its weights; make the variable, or the model's `call`, non-const");
  return problem;
}();
/// The error E1018.
template <class L, std::size_t Arguments>
inline constexpr diagnostic wrong_call_problem = [] {
  diagnostic problem;
  problem.report(1018, "a layer (", name_of_layer<L>(), ") is called with ",
                 Arguments == 0 ? "nothing" : "something that is not a tensor of this model",
                 "; call it with the output of model.input(...) or of another layer");
  return problem;
}();

/// True. As a constraint it prefers a template to another with the same parameters.
template <class>
inline constexpr bool is_preferred = true;

}  // namespace stagecraft::layers::detail

namespace stagecraft {

/// Base of every layer. A layer of your own says what it computes in the words of keras.ops; shapes, weights, cost,
/// gradient and steps on each machine follow from that (operations/tracer.hpp has the words):
///
///     struct scale : sc::layer<scale> {
///       static constexpr std::string_view class_name = "Scale";
///       constexpr auto call(auto& ops, auto x) const {
///         return x * ops.weight({.name = "factor", .shape = {x.length(-1)}, .initializer = sc::initializers::ones{}});
///       }
///     };
///
/// A layer may bring loops of its own in place of `call`: `output_shape(in)`, `parameters(in, weights)`, and `forward`
/// and `backward` (host/steps/layer_steps.hpp); `forward_cycles` and `backward_cycles` say what they cost on an IPU
/// (ipu/tasks/custom.hpp).
///
/// Options are public members, so that a layer can be a template argument of `sequential`. Called as a named variable,
/// a layer keeps its weights from call to call; called as a temporary, it is a new one each time.
template <class Derived>
struct layer : tracing::layer_base {
  // A template: otherwise it would be a better match for `dense{}` than dense's own, which reports E1025.
  template <class L = Derived>
    requires layers::detail::is_preferred<L>
  constexpr layer() {}
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
  /// Options in braces that the layer does not have: Clang matches them with `...` only. Deleted, since Clang then
  /// converts no argument, which would be a second error.
  template <class L = Derived>
  explicit layer(...) = delete(
      "a layer cannot be made from what its braces hold, such as an option that it does not have, or "
      "one of another type [E1025]");
#pragma clang diagnostic pop
#else
  /// Options in braces that the layer does not have, after up to three other arguments; layers of the library inherit
  /// this with `using layer::layer`. GCC names the option at its line, then prints E1025. Clang takes such options for
  /// `...` only, and lists without designators for these; it has the likely ones, as each costs all layers something.
  template <class L = Derived, std::size_t Size>
  constexpr explicit layer(detail::any_options<Size>) noexcept(detail::report<detail::wrong_options_problem<L>>()) {}
  template <class L = Derived, std::size_t Size>
  constexpr layer(detail::any_argument, detail::any_argument, detail::any_argument,
                  detail::any_options<Size>) noexcept(detail::report<detail::wrong_options_problem<L>>()) {}
#endif
  template <class L = Derived, std::size_t Size>
  constexpr layer(detail::any_argument,
                  detail::any_options<Size>) noexcept(detail::report<detail::wrong_options_problem<L>>()) {}
  template <class L = Derived, std::size_t Size>
  constexpr layer(detail::any_argument, detail::any_argument,
                  detail::any_options<Size>) noexcept(detail::report<detail::wrong_options_problem<L>>()) {}

  /// Calls the layer. Returns a symbolic tensor, or layer_outputs if it may have several. E1001 and the codes of its
  /// own rules.
  template <std::derived_from<symbolic_tensor>... More>
  constexpr auto operator()(detail::first_tensor first, More... more) {
    symbolic_tensor const given[]{first.tensor, more...};
    return tracing::layer_call<Derived>::outputs_of(static_cast<Derived&>(*this), given, first.where);
  }
  /// A const layer cannot remember which weights are its own from one call to the next.
  template <std::derived_from<symbolic_tensor>... More>
  constexpr symbolic_tensor operator()(detail::first_tensor, More...) const {
    static_assert(detail::report<detail::const_call_problem<Derived>>());
    return {};
  }
  /// Keras's spelling with a list: `add{}({a, b})`.
  constexpr auto operator()(std::initializer_list<symbolic_tensor> inputs, char const* file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
    return tracing::layer_call<Derived>::outputs_of(static_cast<Derived&>(*this), {inputs.begin(), inputs.size()},
                                                    {file, line});
  }
  /// Called with anything else: E1018.
  template <class... Arguments>
    requires(!detail::are_tensors<Arguments...>)
  constexpr symbolic_tensor operator()(Arguments const&...) const {
    static_assert(detail::report<detail::wrong_call_problem<Derived, sizeof...(Arguments)>>());
    return {};
  }

  /// A copy of the layer with Keras's `name` argument.
  [[nodiscard]] constexpr Derived named(std::string_view name) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.layer_name = name;
    return copy;
  }
  /// A copy of the layer as if it were constructed in the scope of a pipeline stage.
  [[nodiscard]] constexpr Derived in_pipeline_stage(int stage) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.pipeline_stage = stage;
    return copy;
  }
  /// A copy of the layer with Keras's `dtype` argument: its weights are of this type, its inputs are cast to it, and
  /// its output is rounded to it, whatever the description's dtype_policy says. For layers without options.
  [[nodiscard]] constexpr Derived in_dtype(dtype type) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.layer_dtype = type;
    return copy;
  }
  /// A copy of the layer, carried out by the host where the machine has IPUs: Graphcore's outside_compilation_scope.
  /// Only predictors have such layers, at the beginning and at the end of a model (E1121, E1122).
  [[nodiscard]] constexpr Derived on_host() const {
    auto copy = static_cast<Derived const&>(*this);
    copy.is_on_host = true;
    return copy;
  }
};

}  // namespace stagecraft
