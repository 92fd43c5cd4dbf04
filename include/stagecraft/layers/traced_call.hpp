// SPDX-License-Identifier: BSD-3-Clause
// The rules that follow from a layer's `call`: its output's shape, its weights and its cost.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/layer_inputs.hpp>
#include <stagecraft/graph/step_mask.hpp>
#include <stagecraft/operations/flops.hpp>
#include <stagecraft/operations/shape_tracer.hpp>
#include <stagecraft/operations/trace.hpp>
#include <array>
#include <string_view>
#include <utility>

namespace stagecraft {

/// The inputs of a layer whose `call` takes any number of them.
using tensor_list = tracing::array_view<operations::tensor const>;

/// Masks of a layer's first inputs, (batch, steps): 1 for each step that counts, else 0; no tensor if all count.
using mask_list = std::array<operations::tensor, tracing::step_masks::most_inputs>;

}  // namespace stagecraft

namespace stagecraft::layers::detail {

template <class L, class... Tensors>
concept CallOn = requires(L const& layer, operations::tracer& ops, Tensors... inputs) {
  { layer.call(ops, inputs...) } -> std::convertible_to<operations::tensor>;
};

/// A parameter of any type is meant for one tensor: then other forms are not tried, whatever the call returns.
template <class L>
concept CallOnMany = !requires(L const& layer, operations::tracer& ops, operations::tensor x) { layer.call(ops, x); } &&
                     CallOn<L, tensor_list>;

/// True if a layer is written as a `call` on one, two or three tensors, or on a `tensor_list`.
template <class L>
concept HasCall = CallOn<L, operations::tensor> || CallOn<L, operations::tensor, operations::tensor> ||
                  CallOn<L, operations::tensor, operations::tensor, operations::tensor> || CallOnMany<L>;

/// The shape of a sample of a tensor whose first axis is the batch.
constexpr shape sample_of(operations::extents const& whole) {
  shape result;
  for (int axis = 1; axis < whole.rank; ++axis) result.push_back(whole[axis]);
  return result;
}
constexpr shape sample_shape(auto x) { return sample_of(x.shape()); }

/// The extents of a tensor with all but the last `axes` axes as one.
constexpr operations::extents last_axes_of(operations::extents const& x, int axes) {
  operations::extents result(1);
  for (int axis = 0; axis < x.rank; ++axis)
    if (axis < x.rank - axes)
      result[0] *= x[axis];
    else
      result.push_back(x[axis]);
  return result;
}

/// The masks of a layer's inputs, made of the inputs that follow its own.
constexpr mask_list counting_steps(operations::tracer& ops, step_masks const& masks, tensor_list sources) {
  mask_list result{};
  for (int i = 0; i < masks.count; ++i) {
    auto const source = sources[i];
    auto const& rule = masks.rules[i];
    auto counts = 1.0F - equal(source, rule.value);
    if (rule.of_features) counts = ops.reshape(ops.max(counts, -1), {source.length(0), source.length(1)});
    auto& of_input = result[masks.inputs[i]];
    of_input = of_input.list == nullptr ? counts : of_input * counts;
  }
  return result;
}

/// Number of inputs that a layer takes, as far as its type says.
template <class L>
struct input_counts {
  int least = 1, most = 1;
  bool are_known = false;

  constexpr input_counts(L const& layer) {
    using operations::tensor;
    constexpr bool one = CallOn<L, tensor>, two = CallOn<L, tensor, tensor>, three = CallOn<L, tensor, tensor, tensor>;
    if constexpr (requires { layer.masks; }) {
    } else if constexpr (requires { L::least_inputs; }) {
      least = L::least_inputs;
      most = L::most_inputs;
      are_known = true;
    } else if constexpr (one + two + three == 1) {
      least = most = one ? 1 : two ? 2 : 3;
      are_known = true;
    }
  }
};

/// A trace that begins with the inputs of a layer.
struct open_trace {
  operations::trace traced;
  operations::tracer ops;

  constexpr open_trace(tracing::array_view<shape const> shapes, int batch, bool training, std::string_view name)
      : ops(traced.list, traced.weights, training) {
    traced.list.layer_name = name;
    traced.inputs.reserve(shapes.size());
    for (shape const& sample : shapes) {
      traced.inputs.push_back(ops.append(operations::input{static_cast<int>(traced.inputs.size())},
                                         operations::extents::of_batch(batch, sample))
                                  .id);
      if (!sample.is_whole) continue;
      auto& node = traced.list.node_of(traced.inputs.back());
      node.type = dtype::int32;
      node.has_gradient = false;
    }
  }
  open_trace(open_trace const&) = delete;
  open_trace& operator=(open_trace const&) = delete;
  constexpr ~open_trace() = default;

  /// Calls the layer on its inputs; false if it takes another number of them.
  template <class L>
  constexpr bool call(L const& layer, operations::tensor& result) {
    using operations::tensor;
    traced.list.layer_is_frozen = !layer.trainable;
    [[maybe_unused]] auto const in = [&](std::size_t index) { return tensor{&traced.list, traced.inputs[index]}; };
    auto const count = traced.inputs.size();
    if constexpr (requires { layer.masks; }) {
      auto const sources = static_cast<std::size_t>(layer.masks.count);
      if (count <= sources) return false;
      auto const all = all_inputs();
      tensor_list const given(all), own = given.first(count - sources);
      return result = layer.call_masked(ops, own, counting_steps(ops, layer.masks, given.subspan(own.size()))), true;
    } else {
      if constexpr (CallOn<L, tensor>)
        if (count == 1) return result = layer.call(ops, in(0)), true;
      if constexpr (CallOn<L, tensor, tensor>)
        if (count == 2) return result = layer.call(ops, in(0), in(1)), true;
      if constexpr (CallOn<L, tensor, tensor, tensor>)
        if (count == 3) return result = layer.call(ops, in(0), in(1), in(2)), true;
      if constexpr (CallOnMany<L>) return result = layer.call(ops, tensor_list(all_inputs())), true;
      return false;
    }
  }

  /// `finds_losses`: whether the numbers that the call adds to the loss are computed; else they are zeros.
  constexpr void end(operations::tensor result, bool finds_losses = true) {
    if (!traced.list.losses.empty()) result = with_losses(result, finds_losses);
    traced.outputs.push_back(result.id);
    traced.forward_count = traced.list.size();
  }

 private:
  /// The result of a call, then the numbers that it adds to the loss, one for each sample.
  constexpr operations::tensor with_losses(operations::tensor result, bool finds_losses) {
    auto& list = traced.list;
    int const batch = result.rank() < 1 ? 0 : result.length(0);
    auto const flat = [&](operations::tensor x) {
      return ops.reshape(x, {batch, static_cast<int>(x.shape().size() / batch)});
    };
    growing_array<operations::tensor> rows;
    for (int const id : list.losses) {
      operations::tensor const value{&list, id};
      if (value.rank() < 1 || value.length(0) != batch)
        list.fail("a tensor of shape ", value.shape(), " is added to the loss; its first axis must be the batch");
      if (list.problem.failed()) return result;
      if (rows.empty()) rows.push_back(flat(result));
      if (list.packed.empty()) list.packed.push_back(result.shape());
      rows.push_back(finds_losses ? ops.mean(flat(value), -1) : ops.full({batch, 1}, 0));
      list.packed.push_back(rows.back().shape());
    }
    return ops.concatenate(rows);
  }
  constexpr growing_array<operations::tensor> all_inputs() {
    growing_array<operations::tensor> all;
    for (int const id : traced.inputs) all.push_back({&traced.list, id});
    return all;
  }
};

/// A layer's `call` on `batch` samples of inputs of these shapes. Not to be used if `trace.outputs` is empty.
template <class L>
constexpr operations::trace trace_layer(L const& layer, tracing::array_view<shape const> inputs, int batch,
                                        bool training, bool finds_losses = true) {
  open_trace open(inputs, batch, training, {});
  if (operations::tensor result; open.call(layer, result)) open.end(result, finds_losses);
  return std::move(open.traced);
}

/// The rules from a trace of two samples, which shows whether a `call` mixes the samples of a batch. Shapes and cost
/// are those of a sample. E1001, E1070.
struct rules_of_trace {
  static constexpr int batch = 2;
  shape output;
  growing_array<shape> parts;  ///< shapes of several outputs, then of numbers that are added to the loss
  int losses = 0;              ///< number of the latter
  long long flops = 0;
  bool is_valid = false;
  bool moves_only = false;  ///< true if the output has only moved elements of the inputs, or zeros, of the inputs' type

  constexpr void find(operations::trace const& traced, layer_inputs const& in, parameter_list& weights,
                      diagnostic& problem) {
    if (traced.outputs.empty()) {
      in.error(1001, "does not take ", in.size(), in.size() == 1 ? " input" : " inputs");
      return;
    }
    if (traced.list.problem.failed()) {
      problem = traced.list.problem;
      if (problem.code == 1070) {
        std::string_view const text = traced.list.problem.text;
        problem.text = text.substr(0, text.rfind(" ["));
        problem.text.append("; a layer is checked with ").append(batch).append(" samples");
        problem.end();
      }
      return;
    }
    auto const& result = traced.list.node_of(traced.outputs[0]).shape;
    if (result.rank < 1 || result[0] != batch || result.rank - 1 > shape::max_rank) {
      in.error(1070, "gives a tensor of shape ", result, " for a batch of ", batch,
               "; the first axis of its result must be the batch");
      return;
    }
    for (operations::node const& each : traced.list.nodes)
      if (auto const most = 1LL * batch * __INT_MAX__; each.shape.size() > most) {
        in.error(1127, "makes a tensor of shape ", each.shape, " of ", batch, " samples, which has more than ", most,
                 " elements");
        return;
      }
    output = sample_of(result);
    output.is_whole = traced.list.node_of(traced.outputs[0]).type == dtype::int32;
    for (operations::extents const& part : traced.list.packed) parts.push_back(sample_of(part));
    losses = static_cast<int>(traced.list.losses.size());
    for (parameter const& weight : traced.weights) weights.add(weight);
    flops = operations::flops(traced.list, 0, traced.forward_count) / batch;
    is_valid = moves_only = true;
    for (operations::node const& each : traced.list.nodes) {
      auto const& what = each.what;
      moves_only =
          moves_only && (what.is_any<operations::input, operations::reshape, operations::slice, operations::pad,
                                     operations::concatenate, operations::transpose, operations::broadcast>());
    }
  }
};

/// The rules of a layer, found in the cheapest way: its own, its call traced by shapes alone, or a full trace.
template <class L>
struct rules_of_layer : rules_of_trace {
  constexpr rules_of_layer(L const& layer, layer_inputs const& in, std::string_view name, parameter_list& weights,
                           diagnostic& problem) {
    if constexpr (requires { layer.output_shape(in); }) {
      output = layer.output_shape(in);
      is_valid = moves_only = !problem.failed();
      if constexpr (requires { layer.parameters(in, weights); })
        if (is_valid) layer.parameters(in, weights);
      check_floats(in);
    } else if constexpr (requires { L::steps_by; } || requires { L::follows_shapes; }) {
      if (!in.expect_count(1, 1)) return;
      operations::shape_tracer ops(in, weights);
      auto const result = layer.call(ops, ops.input());
      is_valid = !problem.failed();
      output = sample_shape(result);
      flops = ops.flops();
      moves_only = flops == 0 && weights.count == 0;
      output.is_whole = moves_only && in[0].is_whole;
      if (!moves_only) check_floats(in);
    } else {
      input_counts<L> const counts(layer);
      if (counts.are_known && !in.expect_count(counts.least, counts.most)) return;
      open_trace open({in.data(), static_cast<std::size_t>(in.size())}, batch, true, name);
      if (operations::tensor result; open.call(layer, result)) open.end(result);
      find(open.traced, in, weights, problem);
      if (losses > 0) check_inference(layer, in, name);
      for (int i = 0; i < weights.count && i < parameter_list::most; ++i)
        weights.entries[i].layout = parameter_layout::plain;  // operations read them so
    }
    check_sizes(in, weights);
    is_valid = is_valid && !problem.failed();
    if constexpr (requires { layer.flops(in); })
      if (is_valid) flops = layer.flops(in);
  }

 private:
  /// Checks that a layer whose loops read floats is given no int32: E1185.
  static constexpr void check_floats(layer_inputs const& in) {
    if (in.has_whole_numbers())
      in.error(1185,
               "computes with floats, but is given a tensor of the type int32; a layer before it converts the "
               "tensor, such as rescaling{1}, or the input has another type");
  }
  /// Checks sizes: E1127.
  constexpr void check_sizes(layer_inputs const& in, parameter_list const& weights) const {
    if (output.is_too_large())
      in.error(1127, "gives a tensor of shape ", output, ", which has more than ", shape::most_elements, " elements");
    for (int i = 0; i < weights.count && i < parameter_list::most; ++i)
      if (auto const& each = weights.entries[i]; each.shape.is_too_large())
        in.error(1127, "has a weight '", each.name.view(), "' of shape ", each.shape, ", which has more than ",
                 shape::most_elements, " elements");
  }
  /// E1070 for numbers that are added to the loss in training only, since an evaluation does not compute them.
  constexpr void check_inference(L const& layer, layer_inputs const& in, std::string_view name) {
    open_trace open({in.data(), static_cast<std::size_t>(in.size())}, batch, false, name);
    operations::tensor result;
    if (open.call(layer, result) && static_cast<int>(open.traced.list.losses.size()) != losses)
      in.error(1070, "adds to the loss ", losses, losses == 1 ? " time" : " times", " in training, but ",
               static_cast<int>(open.traced.list.losses.size()), " in evaluation; call ops.add_loss in both");
  }
};

}  // namespace stagecraft::layers::detail
