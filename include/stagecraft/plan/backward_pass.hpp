// SPDX-License-Identifier: BSD-3-Clause
// The plan of a backward pass: what is computed again, backward steps, and the sums of gradients.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::plan {

template <class Job>
class backward_pass_planner : pass_planner<Job> {
  using base = pass_planner<Job>;
  using base::root, base::graph, base::model_plan, base::flow, base::table, base::calls, base::edges, base::floats_of,
      base::runs, base::here, base::use, base::wait, base::draft_, base::stage_, base::device_;

 public:
  constexpr backward_pass_planner(int stage, typename base::buffers const* const* devices) : base(stage, devices) {}

  constexpr auto make() {
    value_.fill(-1);
    saved_.fill(-1);
    gradient_.fill(-1);
    own_.fill(-1);
    backward_step_.fill(-1);
    for (std::size_t i = 0; i < calls; ++i)
      for (int k = 0; k < graph.calls[i].input_count; ++k) reader_[graph.calls[i].first_input + k] = i;
    list_steps();
    find_values();
    find_gradients();
    base::place_scratch();
    base::list_scratch(scratch_kind::value, value_);
    base::list_scratch(scratch_kind::saved, saved_);
    base::list_scratch(scratch_kind::gradient, gradient_);
    base::list_scratch(scratch_kind::input_gradient, own_);
    place_values();
    place_gradients();
    find_additions();
    find_waits();
    return draft_;
  }

 private:
  static constexpr auto const& recomputation(int stage) { return recomputations_of<Job>[stage]; }
  [[nodiscard]] constexpr bool again(std::size_t call) const {
    return flow.stage[call] == stage_ && recomputation(stage_).again[call];
  }
  [[nodiscard]] constexpr bool runs_backward(std::size_t call) const {
    return runs(call) && model_plan.calls[call].needs_gradient;
  }

  constexpr void list_steps() {
    auto const& plan = recomputation(stage_);
    for (int segment = plan.segments; segment-- > 0;) {
      for (std::size_t i = 0; i < calls; ++i)
        if (again(i) && plan.segment[i] == segment) draft_.steps.push_back({static_cast<int>(i), false});
      for (std::size_t i = calls; i-- > 0;)
        if (runs_backward(i) && plan.segment[i] == segment) {
          backward_step_[i] = static_cast<int>(draft_.steps.size());
          draft_.steps.push_back({static_cast<int>(i), true});
        }
    }
    end_ = static_cast<int>(draft_.steps.size());
  }

  /// Recomputed values, and what is fetched from remote memory, are this pass's own.
  [[nodiscard]] constexpr bool own_value(std::size_t call) const { return again(call) || base::offloads_stage(); }
  constexpr void find_values() {
    base::for_each_stashed([&](std::size_t i, bool saved, buffer_place const&, long long floats) {
      use(saved ? saved_[i] : value_[i], -1, floats);
    });
    auto const read = [&](std::size_t i, int step) {
      if (own_value(i)) use(value_[i], step, floats_of(i));
    };
    for (int step = 0; step < end_; ++step) {
      auto const [i, backward] = draft_.steps[step];
      auto const& own = model_plan.calls[i];
      backward_reads const reads(own);
      if (!backward) use(value_[i], step, floats_of(i));
      if (backward && reads.output) read(i, step);
      if (!backward || reads.inputs)
        for (int const input : graph.inputs_of(i)) read(root(input), step);
      if (own.needs.saved > 0 && (again(i) || base::offloads_stage())) use(saved_[i], step, own.needs.saved);
    }
  }
  constexpr void place_values() {
    auto& places = draft_.places;
    for (std::size_t i = 0; i < calls; ++i) {
      places.value[i] = value_[i] >= 0 ? base::scratch(value_[i]) : here().value[i];
      places.saved[i] = saved_[i] >= 0 ? base::scratch(saved_[i]) : here().saved[i];
    }
    base::for_each_stashed([&](std::size_t i, bool saved, buffer_place const& remote, long long floats) {
      draft_.fetches.push_back({remote, saved ? places.saved[i] : places.value[i], -1, floats, static_cast<int>(i)});
      places.remote_floats = remote.offset + remote.floats();
    });
  }

  [[nodiscard]] constexpr bool of_other_device(std::size_t call) const {
    return table.device_of_stage(flow.stage[call]) != device_;
  }
  /// True if the gradient of a tensor does not wait in a ring of this device.
  [[nodiscard]] constexpr bool own_gradient(std::size_t call) const {
    return of_other_device(call) || (flow.stage[call] == stage_ && !here().gradient[call].exists());
  }
  template <class Each>
  constexpr void for_each_edge(Each each) const {
    for (std::size_t i = 0; i < calls; ++i) {
      if (!runs_backward(i)) continue;
      auto const& node = graph.calls[i];
      for (int edge = node.first_input; edge < node.first_input + node.input_count; ++edge)
        if (flow.role[edge] != gradient_role::none) each(i, edge, root(graph.inputs[edge]));
    }
  }
  [[nodiscard]] static constexpr bool adds_afterwards(std::size_t reader, std::size_t edge) {
    return flow.role[edge] == gradient_role::add && !model_plan.calls[reader].needs.adds_exactly;
  }

  constexpr void find_gradients() {
    for (std::size_t i = 0; i < calls; ++i)
      if (runs_backward(i) && own_gradient(i)) use(gradient_[i], backward_step_[i], floats_of(i));
    for_each_edge([&](std::size_t reader, std::size_t edge, std::size_t i) {
      int const step = backward_step_[reader];
      if (flow.role[edge] == gradient_role::part) {
        if (of_other_device(i)) {
          use(own_[edge], step, floats_of(i));
          use(own_[edge], end_, 0);
        }
        return;
      }
      if (adds_afterwards(reader, edge)) use(own_[edge], step, floats_of(i));
      if (!own_gradient(i)) return;
      use(gradient_[i], step, floats_of(i));
      // The sum is made before the next step.
      use(gradient_[i], of_other_device(i) ? end_ : backward_step_[i], 0);
    });
  }
  constexpr void place_gradients() {
    auto& places = draft_.places;
    for (std::size_t i = 0; i < calls; ++i)
      places.gradient[i] = gradient_[i] >= 0                                 ? base::scratch(gradient_[i])
                           : flow.first_stage[i] >= 0 && !of_other_device(i) ? here().gradient[i]
                                                                             : buffer_place{};
    std::array<bool, calls> sent{};
    for_each_edge([&](std::size_t reader, std::size_t edge, std::size_t i) {
      auto& to = places.input_gradient[edge];
      int const device = table.device_of_stage(flow.stage[i]);
      if (flow.role[edge] == gradient_role::part) {
        to = of_other_device(i) ? base::scratch(own_[edge]) : here().part[edge];
        if (of_other_device(i))
          draft_.transfers.push_back({to, base::on(device).part[edge], device, floats_of(i), static_cast<int>(i)});
        return;
      }
      to = adds_afterwards(reader, edge) ? base::scratch(own_[edge]) : places.gradient[i];
      places.adds_gradient[edge] = flow.role[edge] == gradient_role::add && !adds_afterwards(reader, edge);
      if (of_other_device(i) && !sent[i])
        draft_.transfers.push_back(
            {places.gradient[i], base::on(device).gradient[i], device, floats_of(i), static_cast<int>(i)});
      sent[i] = true;
    });
  }

  constexpr void add(int step, buffer_place const& from, std::size_t to) {
    auto& all = draft_.additions;
    all.push_back({step, from, draft_.places.gradient[to], floats_of(to), static_cast<int>(to)});
    for (std::size_t k = all.size() - 1; k > 0 && all[k - 1].step > all[k].step; --k) {
      auto const later = all[k - 1];
      all[k - 1] = all[k];
      all[k] = later;
    }
  }
  constexpr void find_additions() {
    growing_array<int> waiting;
    for (std::size_t i = 0; i < calls; ++i) {
      bool const is_own = flow.stage[i] == stage_ && model_plan.calls[i].needs_gradient;
      waiting.clear();
      auto const add_waiting = [&](int step) {
        for (int const edge : waiting) add(step, here().part[edge], i);
        waiting.clear();
      };
      for (int edge = flow.first_edge[i]; edge >= 0; edge = flow.next_edge[edge]) {
        auto const by = reader_[edge];
        if (flow.role[edge] == gradient_role::part) {
          if (is_own) waiting.push_back(edge);
        } else if (flow.stage[by] == stage_) {
          if (is_own) add_waiting(backward_step_[by]);
          if (adds_afterwards(by, edge)) add(backward_step_[by] + 1, draft_.places.input_gradient[edge], i);
        }
      }
      if (is_own && !waiting.empty()) add_waiting(backward_step_[i]);
    }
  }

  constexpr void find_waits() {
    base::wait_for_pass_before(table.backward_pass(stage_));
    int const forward_of_last = table.forward_pass(base::last_stage);
    for (std::size_t i = 0; i < calls; ++i)
      if (runs_backward(i) && here().gradient[i].exists())
        wait(flow.loss_first[i] ? forward_of_last : table.backward_pass(flow.first_stage[i]), 0);
    for (std::size_t i = 0; i < calls; ++i)
      for (int edge = flow.first_edge[i]; edge >= 0; edge = flow.next_edge[edge])
        if (flow.stage[i] == stage_ && flow.role[edge] == gradient_role::part)
          wait(table.backward_pass(flow.stage[reader_[edge]]), 0);
    for_each_edge([&](std::size_t, std::size_t edge, std::size_t i) {
      if (flow.stage[i] == stage_) return;
      auto const& rings = base::on(table.device_of_stage(flow.stage[i]));
      wait(table.backward_pass(flow.stage[i]),
           flow.role[edge] == gradient_role::part ? rings.part[edge].depth : rings.gradient[i].depth);
    });
  }

  int end_ = 0;
  std::array<int, calls> value_{}, saved_{}, gradient_{}, backward_step_{};
  std::array<int, edges> own_{};
  std::array<std::size_t, edges> reader_{};  // the call that reads along an edge
};

}  // namespace stagecraft::plan
