// SPDX-License-Identifier: BSD-3-Clause
// How a machine with one memory carries out a traced layer: the layer's steps, and where their values lie.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/plan/value_places.hpp>
#include <utility>

namespace stagecraft::operations {

/// A weight's new value, which a forward step writes when it has ended.
struct weight_update {
  int weight = 0;
  int value = 0;  ///< the operation that computes the new value
};

/// The lengths of the arrays of a frozen plan.
struct plan_sizes {
  std::size_t nodes = 0, operands = 0, forward = 0, backward = 0, forward_segments = 0, backward_segments = 0,
              forward_joins = 0, backward_joins = 0, updates = 0, gradients = 0;
};

template <plan_sizes Sizes>
struct frozen_plan;

/// A plan that exists in constant evaluation; `frozen_plan` is its constant.
struct traced_plan {
  static constexpr plan_sizes usual_sizes{320, 512, 128, 192, 8, 8, 8, 8, 8, 16};
  template <plan_sizes Sizes>
  using frozen = frozen_plan<Sizes>;

  trace traced;
  tracing::growing_array<int> forward, backward;                  ///< operations in their order
  tracing::growing_array<place> forward_places, backward_places;  ///< places of all operations' values
  tracing::growing_array<segment> forward_segments, backward_segments;
  tracing::growing_array<product_join> forward_joins, backward_joins;
  tracing::growing_array<weight_update> updates;
  /// Floats kept from the forward step to the backward step.
  std::int64_t kept_floats = 0;
  std::int64_t forward_workspace = 0, backward_workspace = 0;          ///< floats
  std::int64_t forward_sample_floats = 0, backward_sample_floats = 0;  ///< for each sample in work
  /// `wanted` says which gradients of inputs (then of weights) are wanted; all if it is empty. The kept values do not
  /// depend on it. `written` says which gradients overwrite their memory; the others are added to it; none if it is
  /// empty. `batch` is the number of samples that may be worked on one after the other; 1: samples are not divided.
  /// `has_kernels`: the machine has kernels for normalizations.
  constexpr traced_plan(trace&& of, bool trains, tracing::array_view<bool const> wanted = {}, int batch = 1,
                        tracing::array_view<bool const> written = {}, bool has_kernels = false)
      : traced(std::move(of)) {
    if (traced.list.problem.failed() || traced.outputs.empty()) return;
    if (trains) differentiate(traced);
    if (has_kernels && batch == 1)
      for (node& each : traced.list.nodes)
        if (auto* group = each.what.if_is<composite>()) group->has_kernel = has_host_kernel(*group);
    steps const whole(traced, trains);
    bool are_all_wanted = true;
    for (std::size_t i = 0; i < wanted.size() && i < traced.gradients.size(); ++i)
      if (!wanted[i] && traced.gradients[i] >= 0) {
        traced.gradients[i] = -1;
        are_all_wanted = false;
      }
    if (are_all_wanted) {
      backward = whole.backward;
    } else {
      steps const smaller(traced, trains, &whole);
      backward = smaller.backward;
    }
    forward = whole.forward;
    kept_floats = value_places::kept_floats(traced.list, whole.kept);

    tracing::growing_array<int> results = traced.outputs;
    for (int const id : forward)
      if (traced.list.node_of(id).what.is<update>()) {
        int const value = traced.list.operand(id, 1);
        updates.push_back({traced.list.node_of(traced.list.operand(id, 0)).what.as<weight>().index, value});
        results.push_back(value);
      }
    step_segments const forward_parts(traced.list, forward, batch);
    forward = forward_parts.order;
    forward_segments = forward_parts.segments;
    value_places const in_forward(traced, forward, results, whole, true, forward_segments, batch);
    forward_places = in_forward.places;
    forward_joins = in_forward.joins;
    forward_workspace = in_forward.workspace;
    forward_sample_floats = in_forward.sample_floats;
    if (!trains) return;
    results.clear();
    for (int const id : traced.gradients)
      if (id >= 0) results.push_back(id);
    step_segments const backward_parts(traced.list, backward, batch);
    backward = backward_parts.order;
    backward_segments = backward_parts.segments;
    value_places const in_backward(traced, backward, results, whole, false, backward_segments, batch, written);
    backward_places = in_backward.places;
    backward_joins = in_backward.joins;
    backward_workspace = in_backward.workspace;
    backward_sample_floats = in_backward.sample_floats;
  }

  [[nodiscard]] constexpr plan_sizes sizes() const {
    return {traced.list.nodes.size(), traced.list.operands.size(), forward.size(),       backward.size(),
            forward_segments.size(),  backward_segments.size(),    forward_joins.size(), backward_joins.size(),
            updates.size(),           traced.gradients.size()};
  }
};

/// A `traced_plan` in arrays of fixed length: usable as a constexpr variable.
template <plan_sizes Sizes>
struct frozen_plan {
  static constexpr std::size_t backward_values = Sizes.backward == 0 ? 0 : Sizes.nodes;

  std::array<node, Sizes.nodes> nodes;
  std::array<int, Sizes.operands> operands;
  std::array<int, Sizes.forward> forward;
  std::array<int, Sizes.backward> backward;
  std::array<place, Sizes.nodes> forward_places;
  std::array<place, backward_values> backward_places;
  std::array<segment, Sizes.forward_segments> forward_segments;
  std::array<segment, Sizes.backward_segments> backward_segments;
  std::array<product_join, Sizes.forward_joins> forward_joins;
  std::array<product_join, Sizes.backward_joins> backward_joins;
  std::array<weight_update, Sizes.updates> updates;
  std::array<int, Sizes.gradients> gradients;
  int output;
  std::int64_t kept_floats, forward_workspace, backward_workspace, forward_sample_floats, backward_sample_floats;

  constexpr explicit frozen_plan(traced_plan const& from)
      : frozen_plan(from, from.traced.list, from.traced.gradients,
                    from.traced.outputs.empty() ? 0 : from.traced.outputs[0]) {}
  template <plan_sizes Longer>
  constexpr explicit frozen_plan(frozen_plan<Longer> const& from)
      : frozen_plan(from, from, from.gradients, from.output) {}

 private:
  constexpr frozen_plan(auto const& from, auto const& list, auto const& gradients_of, int output_)
      : nodes(stagecraft::detail::array_of<Sizes.nodes>(list.nodes)),
        operands(stagecraft::detail::array_of<Sizes.operands>(list.operands)),
        forward(stagecraft::detail::array_of<Sizes.forward>(from.forward)),
        backward(stagecraft::detail::array_of<Sizes.backward>(from.backward)),
        forward_places(stagecraft::detail::array_of<Sizes.nodes>(from.forward_places)),
        backward_places(stagecraft::detail::array_of<backward_values>(from.backward_places)),
        forward_segments(stagecraft::detail::array_of<Sizes.forward_segments>(from.forward_segments)),
        backward_segments(stagecraft::detail::array_of<Sizes.backward_segments>(from.backward_segments)),
        forward_joins(stagecraft::detail::array_of<Sizes.forward_joins>(from.forward_joins)),
        backward_joins(stagecraft::detail::array_of<Sizes.backward_joins>(from.backward_joins)),
        updates(stagecraft::detail::array_of<Sizes.updates>(from.updates)),
        gradients(stagecraft::detail::array_of<Sizes.gradients>(gradients_of)),
        output(output_),
        kept_floats(from.kept_floats),
        forward_workspace(from.forward_workspace),
        backward_workspace(from.backward_workspace),
        forward_sample_floats(from.forward_sample_floats),
        backward_sample_floats(from.backward_sample_floats) {}
};

/// A view of a plan, whose type does not depend on lengths.
struct plan_view {
  tracing::array_view<node const> nodes;
  tracing::array_view<int const> operands;
  tracing::array_view<int const> forward, backward;
  tracing::array_view<place const> forward_places, backward_places;
  tracing::array_view<int const> gradients;
  int output = 0;
  std::int64_t kept_floats = 0, forward_workspace = 0, backward_workspace = 0;

  template <plan_sizes Sizes>
  constexpr explicit(false) plan_view(frozen_plan<Sizes> const& of)
      : nodes(of.nodes),
        operands(of.operands),
        forward(of.forward),
        backward(of.backward),
        forward_places(of.forward_places),
        backward_places(of.backward_places),
        gradients(of.gradients),
        output(of.output),
        kept_floats(of.kept_floats),
        forward_workspace(of.forward_workspace),
        backward_workspace(of.backward_workspace) {}
  /// A template, since programs that do not need it would take long to compile spans of vectors.
  template <std::same_as<traced_plan> Plan>
  constexpr explicit plan_view(Plan const& of)
      : nodes(of.traced.list.nodes),
        operands(of.traced.list.operands),
        forward(of.forward),
        backward(of.backward),
        forward_places(of.forward_places),
        backward_places(of.backward_places),
        gradients(of.traced.gradients),
        output(of.traced.outputs[0]),
        kept_floats(of.kept_floats),
        forward_workspace(of.forward_workspace),
        backward_workspace(of.backward_workspace) {}
};

}  // namespace stagecraft::operations
