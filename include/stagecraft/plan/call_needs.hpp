// SPDX-License-Identifier: BSD-3-Clause
// What must be kept of a call's tensors until its backward step: the part of a gradient's rule that decides about
// memory.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/operations/plan/traced_needs.hpp>
#include <stagecraft/operations/sums_call.hpp>
#include <concepts>

namespace stagecraft::plan {

/// The operands that one element of a step's result depends on. Such a step can be an epilogue: the step before it
/// carries it out while its results are in registers.
enum class epilogue_kind : unsigned char {
  none,      ///< also other elements: it is no epilogue
  elements,  ///< the elements of its inputs at the same place
  columns    ///< elements as above, and numbers for each place along the last axis
};

/// The values that the backward step of a call reads, and those that its forward step must keep for it.
struct call_needs {
  bool input = true;   ///< backward reads the inputs' values
  bool output = true;  ///< backward reads the output's value
  bool view = false;   ///< the output is the input's memory; neither step does anything
  /// Floats that forward keeps for backward, for the whole batch; in inference, floats that forward needs for itself.
  long long saved = 0;
  /// An activation whose gradient the reader of the output may apply: one that follows from the output.
  activation output_activation = linear;
  /// True if the backward step can apply the gradient of such an activation to the gradient of its input.
  bool applies_activation = false;
  /// True if it reads its own output for that, not its input.
  bool applies_activation_to_output = false;
  /// True if the backward step adds to the gradient of an input with a single addition per element: then it has the
  /// bits of one that is computed first and added afterwards, whatever the order of steps.
  bool adds_exactly = false;
  /// Bit i: the forward step writes weight i.
  unsigned updated_weights = 0;
  /// Bit i: the gradient of weight i is a sum of rows of the output's gradient, where an input names them.
  unsigned row_gradients = 0;
  /// Bit i: input i names rows of a table, so it is never rounded.
  unsigned looked_up_inputs = 0;
  /// The kind of epilogue that its forward step can be, and the epilogues that its own forward step can do.
  epilogue_kind is_epilogue = epilogue_kind::none;
  epilogue_kind takes_epilogue = epilogue_kind::none;
  /// It puts zeros around images and does nothing else; its forward step can read images without the zeros around them.
  bool is_border = false, takes_border = false;

  friend constexpr bool operator==(call_needs const&, call_needs const&) = default;
};

/// A layer of sums and an activation, such as dense or conv2d.
constexpr call_needs needs_of_sums(activation function, operations::sums_call const& sums, execution_mode mode) {
  bool const has_steps = sums.floats_before > 0;  // the last one needs what is before it
  auto const takes = function.elementwise() && !has_steps ? epilogue_kind::columns : epilogue_kind::none;
  if (mode == execution_mode::inference) return {.saved = sums.floats_before, .takes_epilogue = takes};
  bool const keeps_sums = function.gradient_needs_input();
  long long const kept = !keeps_sums ? 0 : has_steps ? (sums.floats + 15) / 16 * 16 : sums.floats;
  return {.output = !keeps_sums && function != linear,
          .saved = kept + sums.floats_before,
          .output_activation = !keeps_sums && function.elementwise() ? function : linear,
          .applies_activation = sums.is_packed,
          .takes_epilogue = keeps_sums ? epilogue_kind::none : takes};
}

/// The inputs of a call that name rows of a table, as they are or after a number was added: a bit for each.
constexpr unsigned looked_up_inputs_of(operations::trace const& traced) {
  unsigned found = 0;
  for (int id = 0; id < traced.forward_count; ++id) {
    if (!traced.list.node_of(id).what.is<operations::gather>()) continue;
    int source = traced.list.operand(id, 1);
    for (auto const* node = &traced.list.node_of(source);
         node->what.is<operations::reshape>() || node->what.is<operations::map>();
         node = &traced.list.node_of(source)) {
      if (node->what.is<operations::map>() &&
          (node->operand_count != 2 ||
           !traced.list.node_of(traced.list.operand(source, 1)).what.is<operations::constant>()))
        break;
      source = traced.list.operand(source, 0);
    }
    if (auto const* input = traced.list.node_of(source).what.if_is<operations::input>(); input && input->index < 32)
      found |= 1U << input->index;
  }
  return found;
}

/// Needs of the operations of a layer's `call`.
template <Layer L>
constexpr call_needs needs_of_operations(L const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  bool const trains = mode == execution_mode::training;
  growing_array<shape> shapes;
  for (int i = 0; i < in.size(); ++i) shapes.push_back(in[i]);
  auto traced = trace_layer(layer, shapes, batch, trains);
  if constexpr (requires { L::steps_by; } && requires { layer.activation; })
    if (!runs_by_operations(layer)) return needs_of_sums(layer.activation, operations::sums_call(traced), mode);
  auto const looked_up = looked_up_inputs_of(traced);
  operations::traced_needs const found(traced, trains);
  if (!trains || found.is_view)
    return {.input = false,
            .output = false,
            .view = found.is_view,
            .updated_weights = found.updated_weights,
            .looked_up_inputs = looked_up};
  return {.input = found.backward_reads_input,
          .output = found.backward_reads_output,
          .saved = found.kept_floats,
          .adds_exactly = found.adds_exactly,
          .updated_weights = found.updated_weights,
          .row_gradients = found.row_gradients,
          .looked_up_inputs = looked_up};
}

/// Needs of a layer with loops of its own, as its members say: `backward_uses_input`, `backward_uses_output` and
/// `saved_size(in)` (floats per sample). All inputs and outputs are kept where they say nothing.
template <Layer L>
constexpr call_needs needs_of_loops(L const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  call_needs needs;
  if constexpr (requires { L::backward_uses_input; }) needs.input = L::backward_uses_input;
  if constexpr (requires { L::backward_uses_output; }) needs.output = L::backward_uses_output;
  if constexpr (requires { L::is_view; }) needs.view = L::is_view;
  if constexpr (requires { layer.saved_size(in); })
    if (mode == execution_mode::training) needs.saved = static_cast<long long>(batch) * layer.saved_size(in);
  return needs;
}

/// Floats for two numbers per channel of each item of kernels::channel_items, and for two more per channel.
constexpr long long channel_sums(long long floats, int channels) {
  long long const items = (floats + 16383) / 16384;
  return (items < 32 ? items + 1 : 33) * 2 * ((channels + 15) / 16 * 16);
}

constexpr call_needs needs_of_batch_normalization(auto const& layer, layer_inputs const& in, int batch,
                                                  execution_mode mode) {
  auto const floats = static_cast<long long>(batch) * in[0].size();
  bool const trains = mode == execution_mode::training && layer.trainable;
  bool const is_last_axis = layer.shape_axis(in[0]) == in[0].rank() - 1;
  return {.input = layer.trainable,
          .output = false,
          .saved = trains ? channel_sums(floats, layer.channels(in[0])) : 0,
          .is_epilogue = !trains && is_last_axis ? epilogue_kind::columns : epilogue_kind::none,
          .takes_epilogue = is_last_axis ? epilogue_kind::elements : epilogue_kind::none};
}

/// The kernel normalizes rows; along other axes the operations of the layer's `call` do.
template <Layer L>
constexpr call_needs needs_of_layer_normalization(L const& layer, layer_inputs const& in, int batch,
                                                  execution_mode mode) {
  if (!layer.normalizes_rows(in[0])) return needs_of_operations(layer, in, batch, mode);
  if (mode == execution_mode::inference) return {.output = false};
  auto const floats = static_cast<long long>(batch) * in[0].size();
  int const columns = layer.normalized_shape(in[0]).size();
  return {.output = false, .saved = (floats / columns + 15) / 16 * 32 + channel_sums(floats, columns)};
}

/// A number for each output says which cell of its window it is: one byte if there are up to 256 (two up to 65536).
constexpr call_needs needs_of_max_pooling(auto const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  int const cells = layer.rows(in[0]).window * layer.columns(in[0]).window;
  long long const bytes = cells <= 1 << 8 ? 1 : cells <= 1 << 16 ? 2 : 4;
  auto const outputs =
      static_cast<long long>(batch) * layer.rows(in[0]).output() * layer.columns(in[0]).output() * in[0].back();
  return {.input = false,
          .output = false,
          .saved = mode == execution_mode::training ? (outputs * bytes + 3) / 4 : 0,
          .applies_activation = true,
          .applies_activation_to_output = true};
}

/// The values that the steps of a call read and keep. The steps are those of a kernel that the layer names, of the
/// operations of its `call`, or of loops of its own.
template <Layer L>
constexpr call_needs needs_of(L const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  constexpr auto kernel = kernel_of<L>;
  if constexpr (kernel != layer_kernel::none && HasCall<L>)
    if (runs_by_operations(layer)) return needs_of_operations(layer, in, batch, mode);
  if constexpr (kernel == layer_kernel::batch_normalization) {
    return needs_of_batch_normalization(layer, in, batch, mode);
  } else if constexpr (kernel == layer_kernel::layer_normalization) {
    return needs_of_layer_normalization(layer, in, batch, mode);
  } else if constexpr (kernel == layer_kernel::max_pooling) {
    return needs_of_max_pooling(layer, in, batch, mode);
  } else if constexpr (kernel == layer_kernel::average_pooling) {
    return {.input = false, .output = false};  // the mean of a window is sent back without its cells
  } else if constexpr (kernel == layer_kernel::each_step) {
    shape const step = layer.of_step(in[0]);
    auto needs = needs_of(layer.each, in.with_shapes(&step, 1), batch * in[0][0], mode);
    needs.is_epilogue = epilogue_kind::none;
    needs.row_gradients = 0;
    needs.takes_border = false;
    return needs;
  } else if constexpr (HasCall<L>) {
    auto needs = needs_of_operations(layer, in, batch, mode);
    if constexpr (requires { layer.zeros_around(); }) needs.is_border = mode == execution_mode::inference;
    if constexpr (kernel == layer_kernel::convolution || kernel == layer_kernel::depthwise_convolution ||
                  kernel == layer_kernel::separable_convolution)
      needs.takes_border = L::axes == 3;
    return needs;
  } else {
    return needs_of_loops(layer, in, batch, mode);
  }
}

}  // namespace stagecraft::plan
