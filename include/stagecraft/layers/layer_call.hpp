// SPDX-License-Identifier: BSD-3-Clause
// What a layer's call does: it adds the layer to the model, then the outputs and penalties that follow it.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/layer_base.hpp>
#include <stagecraft/graph/layer_outputs.hpp>
#include <stagecraft/graph/model_builder.hpp>
#include <stagecraft/graph/symbolic_tensor.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>

namespace stagecraft {

namespace layers {
struct output_part;       // layers/output_part.hpp
struct activity_penalty;  // layers/regularization/activity_regularization.hpp
}  // namespace layers

}  // namespace stagecraft

namespace stagecraft::layers::detail {

/// The penalty that a layer's options put on its outputs.
template <class L>
constexpr regularizer activity_regularizer_of([[maybe_unused]] L const& layer) {
  if constexpr (requires { layer.options.activity_regularizer; })
    return layer.options.activity_regularizer;
  else if constexpr (requires { layer.activity_regularizer(); })
    return layer.activity_regularizer();
  else
    return {};
}

/// Makes the parts of a model's newest call: `outputs` parts are the layer's outputs, written to `all`, of which
/// `masked` have its mask; the others are added to the loss.
template <class Part>
constexpr void split_call(symbolic_tensor packed, int outputs, int masked, int stage, source_line const& where,
                          symbolic_tensor* all) {
  auto& model = *packed.model;
  growing_array<shape> shapes;
  shapes.swap(model.parts_of_call);  // later calls use the member
  int const main = packed.call, mask = model.calls[main].mask;
  int const count = outputs + model.calls[main].loss_count;
  for (int i = 0, first = 0; i < count; ++i) {
    bool const is_known = shapes.empty();  // the model is traced again, and knows the shapes of all calls
    shape const of = is_known ? *model.known_shape() : shapes[static_cast<std::size_t>(i)];
    Part part(i, first, of, i >= outputs);
    part.layer_name = model.name_of(model.calls[main].layer);
    part.pipeline_stage = stage;
    symbolic_tensor const made = part(first_tensor(packed, where.file, where.line));
    model.calls[made.call].mask = i < masked ? mask : 0;
    model.calls[made.call].node_index = model.calls[main].node_index;
    if (i < outputs) all[i] = made;
    first += of.size();
  }
}

/// Adds the penalty on an output of a call to the loss. E1100 for one of the user's own.
template <class Penalty>
constexpr void penalize(symbolic_tensor output, regularizer const& rule, int stage, source_line const& where) {
  auto& model = *output.model;
  auto const& main = model.calls[output.call];
  if (rule.is_own())
    model.problem.report(1100, "layer '", model.name_of(main.layer),
                         "' has an activity_regularizer of your own, but one of the library's is expected, such as "
                         "sc::regularizers::l1; a layer of your own says any other penalty with ops.add_loss");
  Penalty penalty(rule.l1, rule.l2);
  penalty.layer_name = model.name_of(main.layer);
  penalty.pipeline_stage = stage;
  int const node = main.node_index;
  symbolic_tensor const made = penalty(first_tensor(output, where.file, where.line));
  model.calls[made.call].mask = 0;
  model.calls[made.call].node_index = node;
}

}  // namespace stagecraft::layers::detail

namespace stagecraft {

/// A layer has a class name, and a `call` or the shape of its output; other rules have defaults.
template <class L>
concept Layer = std::derived_from<L, tracing::layer_base> && requires(L const& layer, layer_inputs const& in) {
  { L::class_name } -> std::convertible_to<std::string_view>;
  requires requires {
    { layer.output_shape(in) } -> std::convertible_to<shape>;
  } || detail::HasCall<L>;
};

}  // namespace stagecraft

namespace stagecraft::layers::detail {

struct loop_names {
  int forward, backward;
};
template <class L>
struct with_loop_names : L, loop_names {};

/// The loops that a layer without a `call` brings, found by their names alone: those of a layer are templates.
template <class L>
constexpr own_loops find_own_loops() {
  if constexpr (kernel_of<L> != layer_kernel::none || requires { L::is_view; } || std::is_final_v<L>)
    return own_loops::unneeded;
  else if constexpr (requires { &with_loop_names<L>::forward; })  // else the name is ambiguous
    return own_loops::missing;
  else if constexpr (requires { &with_loop_names<L>::backward; })
    return own_loops::forward;
  else
    return own_loops::both;
}

/// The class name of a layer, or a text in its place.
template <class L>
constexpr std::string_view name_of_layer() {
  if constexpr (requires {
                  { L::class_name } -> std::convertible_to<std::string_view>;
                })
    return L::class_name;
  else
    return type_name<L>();
}

/// The text that a layer's default name is made from.
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

/// A layer whose output has the mask of its input, or another mask; outputs of other layers have none.
template <class L>
concept KnowsMasks = requires { L::supports_masking; };

/// E1007: a struct lacks a member that a layer needs.
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

}  // namespace stagecraft::layers::detail

namespace stagecraft {

namespace tracing {

/// The call of a layer of type L, which finds its mask, shape, weights and cost. It stands apart from the base of
/// layers, since compilers read members of a base anew for each layer, and these only for layers that are called.
template <class L>
struct layer_call {
  /// One symbolic tensor, or layer_outputs of several.
  static constexpr auto outputs_of(L& self, tracing::array_view<symbolic_tensor const> given,
                                   diagnostics::source_line const& where) {
    symbolic_tensor const packed = trace(self, given, where);
    constexpr int most = [] {
      if constexpr (requires { L::most_outputs; })
        return int{L::most_outputs};
      else
        return 1;
    }();
    constexpr int names = [] {
      if constexpr (requires { L::named_outputs; })
        return int{L::named_outputs};
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

 private:
  static constexpr diagnostics::diagnostic incomplete_problem = detail::check_layer<L>();

  template <int Most, int Names>
  static constexpr void find_parts(L const& self, layer_outputs<Most, Names>& result,
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
  static constexpr symbolic_tensor trace(L& self, tracing::array_view<symbolic_tensor const> given,
                                         diagnostics::source_line const& where) {
    if constexpr (Layer<L>) {
      for (auto const& tensor : given)
        if (tensor.model == nullptr) return {};
      if (given.empty()) return {};
      auto& model = *given[0].model;
      auto const output = trace_call(self, model, given);
      model.problem.locate(where);
      return output;
    } else {
      static_assert(detail::report<incomplete_problem>());
      return {};
    }
  }

  /// Finds the mask of the output, and of the input if the layer looks at it, which it then remembers.
  static constexpr detail::traced_mask trace_mask(L& self, tracing::model_builder& model,
                                                  tracing::array_view<symbolic_tensor const> given) {
    detail::traced_mask mask;
    if constexpr (requires { self.masks; }) {
      auto const all = model.mask_of(given.first(count_masked(given.size())), true);
      model.masks.check_length(all);
      if (self.layer_id >= 0) model.masks.check_same(self.masks, all, L::class_name);
      self.masks = all.masks;
      mask = model.mask_of(given.first(1));  // its output's steps are those of its first input
    } else {
      mask = model.mask_of(given);
    }
    if constexpr (requires { self.takes_no_mask(); })
      if (self.takes_no_mask()) model.masks.check_none(mask, L::class_name);
    if constexpr (requires { self.compute_mask(); })
      return detail::traced_mask(self.compute_mask(), given[0].call);
    else if constexpr (requires { self.passes_mask(); })
      return self.passes_mask() ? mask : detail::traced_mask();
    else
      return mask;
  }

  /// A call of a layer that looks at masks has no more inputs than these, its masks' sources among them.
  static constexpr std::size_t most_inputs = 28;
  /// The number of its inputs' masks that a layer looks at.
  static constexpr std::size_t count_masked(std::size_t given) {
    std::size_t most = 1;
    if constexpr (requires { L::masked_inputs; }) most = L::masked_inputs;
    return given < most ? given : most;
  }
  /// Finds shape, weights and cost, once for all layers that are alike.
  static constexpr void find_rules(L const& self, tracing::model_builder& model, layer_inputs const& in,
                                   detail::call_record& record, parameter_list& weights) {
    if constexpr (requires { self.rules_key(); })
      if (auto const* known = model.rules.find(record.type, self.rules_key(), in); known != nullptr)
        return record.take(known->output, known->flops, known->moves_only);
    detail::rules_of_layer<L> const rules(self, in, in.layer_name(), weights, model.problem);
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

  static constexpr symbolic_tensor trace_call(L& self, tracing::model_builder& model,
                                              tracing::array_view<symbolic_tensor const> given) {
    detail::call_record record{};
    record.layer = &self;
    [[maybe_unused]] std::array<symbolic_tensor, most_inputs + tracing::step_masks::most> with_mask;
    if constexpr (detail::KnowsMasks<L>) record.mask = trace_mask(self, model, given);
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
    record.class_name = L::class_name;
    record.default_name = detail::default_name_of<L>;
    detail::add_wrapped_names(self, record.wrapped);
    record.type = tracing::tag_of<L>;
    record.kernel = runs_by_operations(self) ? layer_kernel::none : kernel_of<L>;
    if constexpr (!detail::HasCall<L>) record.loops = detail::find_own_loops<L>();
    if constexpr (requires { self.activation.rules; }) record.has_own_activation = self.activation.rules != nullptr;
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
      if (known->is_whole) record.type_of_output = dtype::int32;
      record.parameters = &weights;
      return model.add_call(record);
    }
    // After a broken rule shapes may be anything, so no further rule is checked.
    if (!model.problem.failed()) find_rules(self, model, in, record, weights);
    if (!model.problem.failed()) {
      if (weights.count > parameter_list::most)
        in.error(1028, "has ", weights.count, " weights; a layer has at most ", parameter_list::most);
      if constexpr (requires { L::is_view; }) {
        if (L::is_view && (given.size() != 1 || record.shape.size() != given[0].shape().size() || weights.count > 0))
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

}  // namespace tracing
}  // namespace stagecraft
