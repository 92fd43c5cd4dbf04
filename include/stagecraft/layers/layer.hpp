// SPDX-License-Identifier: BSD-3-Clause
// What makes a struct a layer: the base that lets it be called on symbolic tensors, and the concept that says what its
// rules are. Keras counterpart: tf.keras.layers.Layer.
#pragma once

#include <stagecraft/diagnostics/any_argument.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/layer_outputs.hpp>
#include <stagecraft/graph/model_builder.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/call_parts.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <array>
#include <concepts>
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace stagecraft {

/// A layer says its class name, and either what it computes or the shape of its output; the other rules have defaults.
template <class L>
concept Layer = std::derived_from<L, tracing::layer_base> && requires(L const& layer, layer_inputs const& in) {
  { L::class_name } -> std::convertible_to<std::string_view>;
  requires requires {
    { layer.output_shape(in) } -> std::convertible_to<shape>;
  } || detail::HasCall<L>;
};

namespace detail {

/// The class name of a layer, or what to say in its place.
template <class L>
constexpr std::string_view name_of_layer() {
  if constexpr (requires {
                  { L::class_name } -> std::convertible_to<std::string_view>;
                })
    return L::class_name;
  else
    return type_name<L>();
}

/// What a layer's default name is made from.
template <class L>
inline constexpr std::string_view default_name_of = [] {
  if constexpr (requires { L::default_name; })
    return std::string_view(L::default_name);
  else
    return std::string_view(L::class_name);
}();

/// Adds the default names of the layers inside a wrapper, from the innermost on.
template <class L>
constexpr void add_wrapped_names(L const& layer, wrapped_names& names) {
  if constexpr (requires { layer.wrapped(); }) {
    add_wrapped_names(layer.wrapped(), names);
    if (layer.wrapped().layer_name.empty()) names.add(default_name_of<std::remove_cvref_t<decltype(layer.wrapped())>>);
  }
}

/// A layer whose output has the mask of its input, or another one; what others give has none.
template <class L>
concept KnowsMasks = requires { L::supports_masking; };

/// E1007: what a struct lacks to be a layer.
template <class L>
constexpr diagnostic check_layer() {
  diagnostic problem;
  if constexpr (!requires {
                  { L::class_name } -> std::convertible_to<std::string_view>;
                })
    problem.report(1007, "layer type '", type_name<L>(),
                   "' has no class name; give it `static constexpr std::string_view "
                   "class_name = \"...\";`");
  else if constexpr (!Layer<L>)
    problem.report(1007, "layer type '", type_name<L>(),
                   "' does not say what it computes; give it `constexpr auto call(auto& ops, auto x) const`");
  return problem;
}

}  // namespace detail

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
/// and `backward` (host/steps/operation.hpp); `forward_cycles` and `backward_cycles` say what they cost on an IPU
/// (ipu/operations/custom.hpp).
///
/// Options are public members, so that a layer can be a template argument of `sequential`. Called as a named variable,
/// a layer keeps its weights from call to call; called as a temporary, it is a new one each time.
template <class Derived>
struct layer : tracing::layer_base {
  constexpr layer() = default;
#ifdef __clang__
  /// The same, if there is no argument before such options: Clang takes them for `...` only.
  template <class L = Derived>
  constexpr explicit layer(...) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
#endif
  /// What a layer of the library inherits with `using layer::layer`: options in braces that it does not have, behind up
  /// to three other arguments. GCC names the option at its line; then comes E1025.
  template <class L = Derived>
  constexpr explicit layer(detail::any_options) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  template <class L = Derived>
  constexpr layer(detail::any_argument, detail::any_options) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  template <class L = Derived>
  constexpr layer(detail::any_argument, detail::any_argument, detail::any_options) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  template <class L = Derived>
  constexpr layer(detail::any_argument, detail::any_argument, detail::any_argument, detail::any_options) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// Calls the layer: a symbolic tensor, or layer_outputs of one that may have several. E1001 and the codes of its own
  /// rules.
  template <std::derived_from<symbolic_tensor>... More>
  constexpr auto operator()(detail::first_tensor first, More... more) & {
    symbolic_tensor const given[]{first.tensor, more...};
    return outputs_of(static_cast<Derived&>(*this), given, first.where);
  }
  template <std::derived_from<symbolic_tensor>... More>
  constexpr auto operator()(detail::first_tensor first, More... more) && {
    symbolic_tensor const given[]{first.tensor, more...};
    return outputs_of(static_cast<Derived&>(*this), given, first.where);
  }
  /// A const layer cannot remember which weights are its own from one call to the next.
  template <std::derived_from<symbolic_tensor>... More>
  constexpr symbolic_tensor operator()(detail::first_tensor, More...) const& {
    static_assert(detail::report<const_call_problem<Derived>>());
    return {};
  }
  /// Keras's spelling with a list: `add{}({a, b})`.
  constexpr auto operator()(std::initializer_list<symbolic_tensor> inputs, char const* file = __builtin_FILE(),
                            int line = __builtin_LINE()) & {
    return outputs_of(static_cast<Derived&>(*this), {inputs.begin(), inputs.size()}, {file, line});
  }
  constexpr auto operator()(std::initializer_list<symbolic_tensor> inputs, char const* file = __builtin_FILE(),
                            int line = __builtin_LINE()) && {
    return outputs_of(static_cast<Derived&>(*this), {inputs.begin(), inputs.size()}, {file, line});
  }
  /// Called with anything else: E1018.
  template <class... Arguments>
    requires(!detail::are_tensors<Arguments...>)
  constexpr symbolic_tensor operator()(Arguments const&...) const {
    static_assert(detail::report<wrong_call_problem<Derived, sizeof...(Arguments)>>());
    return {};
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
  /// The same layer with Keras's `dtype` argument: its weights are of this type, its inputs are cast to it, and its
  /// output is rounded to it, whatever the description's dtype_policy says. For layers without options.
  [[nodiscard]] constexpr Derived in_dtype(dtype type) const {
    auto copy = static_cast<Derived const&>(*this);
    copy.layer_dtype = type;
    return copy;
  }
  /// The same layer, carried out by the host where the machine has IPUs: Graphcore's outside_compilation_scope. Only
  /// predictors have such layers, at the beginning and at the end of a model (E1121, E1122).
  [[nodiscard]] constexpr Derived on_host() const {
    auto copy = static_cast<Derived const&>(*this);
    copy.is_on_host = true;
    return copy;
  }

 private:
  template <class L>
  static constexpr diagnostics::diagnostic const_call_problem = [] {
    diagnostics::diagnostic problem;
    problem.report(1006, "a layer that is const (", detail::name_of_layer<L>(),
                   ") cannot be called, since a call gives it "
                   "its weights; make the variable, or the model's `call`, non-const");
    return problem;
  }();
  template <class L, std::size_t Arguments>
  static constexpr diagnostics::diagnostic wrong_call_problem = [] {
    diagnostics::diagnostic problem;
    problem.report(1018, "a layer (", detail::name_of_layer<L>(), ") is called with ",
                   Arguments == 0 ? "nothing" : "something that is not a tensor of this model",
                   "; call it with the output of model.input(...) or of another layer");
    return problem;
  }();
  template <class L>
  static constexpr diagnostics::diagnostic incomplete_problem = detail::check_layer<L>();

  static constexpr auto outputs_of(Derived& self, tracing::array_view<symbolic_tensor const> given,
                                   diagnostics::source_line const& where) {
    symbolic_tensor const packed = trace(self, given, where);
    constexpr int most = [] {
      if constexpr (requires { Derived::most_outputs; })
        return int{Derived::most_outputs};
      else
        return 1;
    }();
    constexpr int names = [] {
      if constexpr (requires { Derived::named_outputs; })
        return int{Derived::named_outputs};
      else
        return most;
    }();
    layer_outputs<most, names> result(packed);
    if (packed.model != nullptr && !packed.model->problem.failed()) find_parts(self, result, where);
    if constexpr (most > 1)
      return result;
    else
      return static_cast<symbolic_tensor>(result);
  }
  template <int Most, int Names>
  static constexpr void find_parts(Derived const& self, layer_outputs<Most, Names>& result,
                                   diagnostics::source_line const& where) {
    if constexpr (Most > 1) result.count = self.output_count();
    if (result.count > 1 || result.model->calls[result.call].loss_count > 0) {
      int masked = 1;
      if constexpr (requires { self.masked_outputs(); }) masked = self.masked_outputs();
      detail::split_call<layers::output_part>(result, result.count, masked, self.pipeline_stage, where, result.all);
      static_cast<symbolic_tensor&>(result) = result.all[0];
    }
    if (auto const rule = detail::activity_regularizer_of(self); !rule.empty())
      for (int i = 0; i < result.count; ++i)
        detail::penalize<layers::activity_penalty>(result.all[i], rule, self.pipeline_stage, where);
  }
  static constexpr symbolic_tensor trace(Derived& self, tracing::array_view<symbolic_tensor const> given,
                                         diagnostics::source_line const& where) {
    if constexpr (Layer<Derived>) {
      for (auto const& tensor : given)
        if (tensor.model == nullptr) return {};
      if (given.empty()) return {};
      auto& model = *given[0].model;
      auto const output = trace_call(self, model, given);
      model.problem.locate(where);
      return output;
    } else {
      static_assert(detail::report<incomplete_problem<Derived>>());
      return {};
    }
  }

  /// Finds the mask of the output, and of the input if the layer looks at it, which it then remembers.
  static constexpr detail::traced_mask trace_mask(Derived& self, tracing::model_builder& model,
                                                  tracing::array_view<symbolic_tensor const> given) {
    detail::traced_mask mask;
    if constexpr (requires { self.masks; }) {
      auto const all = model.mask_of(given.first(count_masked(given.size())), true);
      model.masks.check_length(all);
      if (self.layer_id >= 0) model.masks.check_same(self.masks, all, Derived::class_name);
      self.masks = all.masks;
      mask = model.mask_of(given.first(1));  // its output's steps are those of its first input
    } else {
      mask = model.mask_of(given);
    }
    if constexpr (requires { self.takes_no_mask(); })
      if (self.takes_no_mask()) model.masks.check_none(mask, Derived::class_name);
    if constexpr (requires { self.compute_mask(); })
      return detail::traced_mask(self.compute_mask(), given[0].call);
    else if constexpr (requires { self.passes_mask(); })
      return self.passes_mask() ? mask : detail::traced_mask();
    else
      return mask;
  }

  /// A call of a layer that looks at masks has no more inputs than these, its masks' sources among them.
  static constexpr std::size_t most_inputs = 28;
  /// How many of its inputs' masks a layer looks at.
  static constexpr std::size_t count_masked(std::size_t given) {
    std::size_t most = 1;
    if constexpr (requires { Derived::masked_inputs; }) most = Derived::masked_inputs;
    return given < most ? given : most;
  }
  /// Shape, weights and cost. Those of layers that are alike are found once.
  static constexpr void find_rules(Derived const& self, tracing::model_builder& model, layer_inputs const& in,
                                   detail::call_record& record, parameter_list& weights) {
    if constexpr (requires { self.rules_key(); })
      if (auto const* known = model.rules.find(record.type, self.rules_key(), in); known != nullptr)
        return record.take(known->output, known->flops, known->moves_only);
    detail::rules_of_layer<Derived> const rules(self, in, in.layer_name(), weights, model.problem);
    if (!rules.is_valid) return;
    record.take(rules.output, rules.flops, rules.moves_only);
    model.parts_of_call = rules.parts;
    model.losses_of_call = rules.losses;
    if constexpr (requires { self.rules_key(); })
      model.rules.add({.type = record.type,
                       .key = self.rules_key(),
                       .output = rules.output,
                       .flops = rules.flops,
                       .moves_only = rules.moves_only},
                      in);
  }

  static constexpr symbolic_tensor trace_call(Derived& self, tracing::model_builder& model,
                                              tracing::array_view<symbolic_tensor const> given) {
    detail::call_record record{};
    record.layer = &self;
    [[maybe_unused]] std::array<symbolic_tensor, most_inputs + tracing::step_masks::most> with_mask;
    if constexpr (detail::KnowsMasks<Derived>) record.mask = trace_mask(self, model, given);
    if constexpr (requires { self.masks; }) {
      auto const mask = model.mask_of(given.first(count_masked(given.size())), true);
      record.mask_inputs = given.size() > most_inputs ? 0 : mask.masks.count;
      if (record.mask_inputs > 0) {
        std::size_t count = 0;
        for (auto const& own : given) with_mask[count++] = own;
        for (int i = 0; i < record.mask_inputs; ++i) with_mask[count++] = {&model, mask.sources[i]};
        given = {with_mask.data(), count};
      }
    }
    tracing::growing_array<shape> shapes;
    if (given.size() > 1) {
      shapes.reserve(given.size());
      for (auto const& tensor : given) shapes.push_back(tensor.shape());
    }
    model.parts_of_call.clear();
    model.losses_of_call = 0;
    if constexpr (requires { self.is_penalty; }) {
      record.output_index = self.index;
      record.is_penalty = self.is_penalty;
    }
    record.class_name = Derived::class_name;
    record.default_name = detail::default_name_of<Derived>;
    detail::add_wrapped_names(self, record.wrapped);
    record.type = tracing::tag_of<Derived>;
    record.inputs = given;
    record.shape = given[0].shape();
    record.type_of_output = given[0].type();
    auto const layer_id = model.layer_of(record);
    layer_inputs const in(given.size() > 1 ? shapes.data() : &given[0].shape(), static_cast<int>(given.size()),
                          model.name_of(layer_id), model.problem);
    parameter_list& weights = model.weights_of_call;
    weights.count = 0;
    if (auto const* known = model.known_shape(); known != nullptr) {
      record.shape = *known;
      record.parameters = &weights;
      return model.add_call(record);
    }
    // After a broken rule shapes may be anything: no further rule is asked.
    if (!model.problem.failed()) find_rules(self, model, in, record, weights);
    if (!model.problem.failed()) {
      if (weights.count > parameter_list::most)
        in.error(1028, "has ", weights.count, " weights; a layer has at most ", parameter_list::most);
      if constexpr (requires { Derived::is_view; }) {
        if (Derived::is_view &&
            (given.size() != 1 || record.shape.size() != given[0].shape().size() || weights.count > 0))
          in.error(1027,
                   "says that it is a view, but a view takes one tensor, keeps its number of elements and has no "
                   "weights");
      }
      if (model.problem.failed()) weights.count = 0;
    }
    record.parameters = &weights;
    return model.add_call(record);
  }
};

}  // namespace stagecraft
