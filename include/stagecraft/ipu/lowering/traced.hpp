// SPDX-License-Identifier: BSD-3-Clause
// Lowering of layers that are written as a `call`: one task if the call is elementwise; else a list of tasks on all
// tiles, or one vertex on tile 0 where a layer has an operation that tiles do not know.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/elementwise.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/lowering/sums.hpp>
#include <stagecraft/ipu/lowering/task_list_of_call.hpp>

namespace stagecraft::tiles {

/// The tensor of the step around a task list that stands for a tensor which the list is given.
template <class Call>
constexpr int tensor_around(lowered_step& step, tile_tensor const& given) {
  switch (given.role) {
    case tensor_role::input: return Call::input(step, given.index);
    case tensor_role::output: return Call::output(step);
    case tensor_role::weight: return Call::stored_weight(step, given.index);
    case tensor_role::saved: return Call::saved(step, given.index, given.elements, given.type);
    case tensor_role::output_gradient: return Call::output_gradient(step);
    case tensor_role::input_gradient: return Call::input_gradient(step, given.index);
    default: return Call::weight_gradient(step, given.index);
  }
}

template <class Call, bool Backward>
constexpr void append_task_list_of_call(lowered_step& step) {
  auto const& list = task_list_of_call<typename call_without_variant<Call>::type, Backward>;
  named_tensors tensors;
  for (auto const& each : list.tensors)
    if (each.given >= 0) tensors.add_input(tensor_around<Call>(step, each.tensor));
  for (auto const& each : list.tensors)
    if (each.given >= 0 && each.written) tensors.add_output(tensor_around<Call>(step, each.tensor));
  append_task_list(step, list, tensors);
}

/// Appends the tasks of a call, lowered in the first of these ways that fits.
template <class Call, bool Backward>
constexpr void append_call(lowered_step& step) {
  using same = typename call_without_variant<Call>::type;
  if constexpr (has_sums<Call>) {
    if constexpr (Backward)
      sums_lowering<Call>::backward(step);
    else
      sums_lowering<Call>::forward(step);
  } else if constexpr (elementwise_lowering<Call>::holds) {
    if constexpr (Backward)
      elementwise_lowering<Call>::backward(step);
    else
      elementwise_lowering<Call>::forward(step);
  } else if constexpr (is_appended<same>) {
    append_tasks(step, lower_traced_step<same, Backward>().builder,
                 [&](tile_tensor const& given) { return tensor_around<Call>(step, given); });
  } else if constexpr (has_task_list<same>) {
    append_task_list_of_call<Call, Backward>(step);
  } else if constexpr (Backward) {
    append_custom_backward<Call>(step);
  } else {
    append_custom_forward<Call>(step);
  }
}

template <layer_kernel Kernel, class L>
struct kernel_lowering {
  template <class Call>
  static constexpr weight_mapping const* planned_weight(int index) {
    using same = typename call_without_variant<Call>::type;
    if constexpr (has_sums<Call>)
      return sums_lowering<Call>::planned_weight(index);
    else if constexpr (elementwise_lowering<Call>::holds)
      return nullptr;
    else if constexpr (is_appended<same> || !has_task_list<same>)
      return nullptr;
    else
      return traced_mappings<same>[index];
  }
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    detail::append_call<Call, false>(step);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    append_call<Call, true>(step);
  }
};

template <class L>
  requires detail::HasCall<L>
struct lowering<L> : kernel_lowering<kernel_of<L>, L> {};

}  // namespace stagecraft::tiles
