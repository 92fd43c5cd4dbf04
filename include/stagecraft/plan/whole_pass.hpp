// SPDX-License-Identifier: BSD-3-Clause
// The passes of a model without stages, whose tensors share one block by their lifetimes: nothing else works between
// the forward and the backward pass of a micro-batch.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/plan/arena.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::plan {

/// Places the tensors of both passes. Forward steps run in the order of the calls, then the losses, then the backward
/// steps in the opposite order.
template <class Job>
class whole_pass_planner : buffer_lifetimes {
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr std::size_t calls = graph.calls.size(), edges = graph.inputs.size(), outputs = graph.ends.size();
  static constexpr int count = static_cast<int>(calls), loss_step = count;

 public:
  constexpr auto make() {
    value_.fill(-1);
    gradient_.fill(-1);
    saved_.fill(-1);
    own_.fill(-1);
    for (int i = 0; i < count; ++i)
      if (!model_plan.calls[i].is_left_out) use_call(i);
    use_outputs();
    result_.scratch_floats = place_all();
    for (int i = 0; i < count; ++i) {
      auto const& planned = model_plan.calls[i];
      result_.value[i] = {offset(value_[root_of(i)])};
      result_.gradient[i] = {offset(gradient_[planned.root])};
      result_.saved[i] = {offset(saved_[i])};
      result_.epilogue[i] = planned.epilogue;
    }
    for (std::size_t edge = 0; edge < edges; ++edge) {
      result_.input_gradient[edge] =
          own_[edge] >= 0 ? buffer_place{offset(own_[edge])} : result_.gradient[graph.inputs[edge]];
      result_.adds_gradient[edge] = model_plan.adds_gradient[edge];
    }
    for (std::size_t k = 0; k < outputs; ++k) result_.loss_gradient[k] = result_.gradient[graph.ends[k]];
    result_.loss_scratch = {offset(loss_)};
    return result_;
  }

 private:
  /// Borders are found for inference alone, so that it is the root of gradients, too.
  static constexpr int root_of(int call) { return model_plan.root_without_borders(call, graph); }
  static constexpr int backward_step(int call) { return 2 * count - call; }

  constexpr void use_call(int i) {
    auto const& own = model_plan.calls[i];
    bool const backward = own.needs_gradient && !own.needs.view;
    if (own.root == i && !own.is_border) {
      if (own.epilogue < 0) {
        use(value_[i],
            graph.call(i).is_input ? -1
            : own.epilogue_of >= 0 ? own.epilogue_of
                                   : i,
            stored_floats_of<Job>(i));
        extend(value_[i], i);
      }
      if (own.needs_gradient) use(gradient_[i], backward_step(i), stored_floats_of<Job>(i));
    }
    // A layer keeps its values while training, even if no backward step will read them.
    if (own.needs.saved > 0) {
      use(saved_[i], i, own.needs.saved);
      if (own.needs_gradient) extend(saved_[i], backward_step(i));
    }
    if (backward && own.needs.output) extend(value_[own.root], backward_step(i));
    auto const& node = graph.call(i);
    for (int edge = node.first_input; edge < node.first_input + node.input_count; ++edge) {
      int const root = root_of(graph.inputs[edge]);
      extend(value_[root], i);
      if (backward && own.needs.input) extend(value_[root], backward_step(i));
      if (backward) extend(gradient_[root], backward_step(i));
      if (model_plan.writes_own_gradient[edge]) use(own_[edge], backward_step(i), stored_floats_of<Job>(root));
    }
  }

  constexpr void use_outputs() {
    long long added = 0;  // floats of the largest gradient that a loss adds
    for (std::size_t k = 0; k < outputs; ++k) {
      if (model_plan.calls[graph.ends[k]].is_left_out) continue;
      int const root = root_of(graph.ends[k]);
      extend(value_[root], loss_step);
      extend(gradient_[root], loss_step);
      if (model_plan.loss_adds_gradient[k] && stored_floats_of<Job>(root) > added) added = stored_floats_of<Job>(root);
    }
    if (added > 0) use(loss_, loss_step, added);
  }

  std::array<int, calls> value_{}, gradient_{}, saved_{};
  std::array<int, edges> own_{};
  int loss_ = -1;
  pass_places<calls, edges, outputs> result_;
};

/// The places of all tensors of a model without stages that has a device for itself; `scratch_floats` is their total.
template <class Job>
inline constexpr auto whole_places_of = whole_pass_planner<Job>().make();

template <class Job, bool Backward>
struct make_whole_pass {
  constexpr auto operator()() const {
    constexpr auto const& graph = Job::graph;
    constexpr auto const& model_plan = model_plan_for<Job>;
    constexpr auto const& places = whole_places_of<Job>;
    constexpr int count = static_cast<int>(graph.calls.size());
    pass_draft<graph.calls.size(), graph.inputs.size(), graph.ends.size()> draft;
    draft.places = places;
    for (int i = 0; i < count; ++i) {
      int const call = Backward ? count - 1 - i : i;
      auto const& planned = model_plan.calls[call];
      auto const& node = graph.call(call);
      if (node.is_input || planned.needs.view || planned.is_left_out || planned.is_border ||
          (Backward && !planned.needs_gradient))
        continue;
      draft.steps.push_back({call, Backward});
      if (!Backward) continue;
      for (int edge = node.first_input; edge < node.first_input + node.input_count; ++edge) {
        int const root = model_plan.calls[graph.inputs[edge]].root;
        if (model_plan.writes_own_gradient[edge])
          draft.additions.push_back({static_cast<int>(draft.steps.size()), places.input_gradient[edge],
                                     places.gradient[root], stored_floats_of<Job>(root), root});
      }
    }
    return draft;
  }
};

/// The forward or the backward pass of such a model.
template <class Job, bool Backward>
inline constexpr auto const& whole_pass_of = frozen_draft<make_whole_pass<Job, Backward>>;

}  // namespace stagecraft::plan
