// SPDX-License-Identifier: BSD-3-Clause
// The plans of all passes: which steps a device carries out in each, and where their tensors lie; one constant
// for each device and pass. Plans of forward passes are made here, those of backward passes in backward_pass.hpp.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/plan/backward_pass.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::plan {

/// Makes the plan of a stage's forward pass.
template <class Job>
class forward_pass_planner : pass_planner<Job> {
  using base = pass_planner<Job>;
  using base::root, base::graph, base::model_plan, base::flow, base::table, base::calls, base::outputs, base::floats_of,
      base::runs, base::here, base::use, base::wait, base::draft_, base::stage_, base::device_;

 public:
  constexpr forward_pass_planner(int stage, typename base::buffers const* const* devices) : base(stage, devices) {}

  constexpr auto make() {
    for (std::size_t i = 0; i < calls; ++i)
      if (runs(i)) draft_.steps.push_back({static_cast<int>(i), false});
    end_ = static_cast<int>(draft_.steps.size());
    value_.fill(-1);
    saved_.fill(-1);
    loss_.fill(-1);
    find_values();
    if (base::trains && stage_ == base::last_stage) find_loss_gradients();
    base::list_scratch(scratch_kind::value, value_);
    base::list_scratch(scratch_kind::saved, saved_);
    base::list_scratch(scratch_kind::loss_gradient, loss_);
    base::list_scratch(scratch_kind::loss_scratch, std::array{loss_scratch_});
    find_epilogues();
    base::place_scratch();
    auto& places = draft_.places;
    for (std::size_t i = 0; i < calls; ++i) {
      places.value[i] = here().value[i].exists() ? here().value[i] : base::scratch(value_[i]);
      if (runs(i)) places.saved[i] = here().saved[i].exists() ? here().saved[i] : base::scratch(saved_[i]);
    }
    find_transfers();
    find_waits();
    return draft_;
  }

 private:
  [[nodiscard]] constexpr bool in_stage(std::size_t call) const {
    return runs(call) || (graph.calls[call].is_input && stage_ == 0);
  }
  constexpr void use_value(std::size_t call, int step) {
    if (!here().value[call].exists()) use(value_[call], step, floats_of(call));
  }

  constexpr void find_values() {
    for (std::size_t i = 0; i < calls; ++i)
      if (stage_ == 0 && graph.calls[i].is_input) use_value(i, -1);
    for (int step = 0; step < end_; ++step) {
      auto const i = draft_.steps[step].call;
      use_value(i, step);
      for (int const input : graph.inputs_of(static_cast<int>(i))) use_value(root(input), step);
      if (model_plan.calls[i].needs.saved > 0 && !here().saved[i].exists())
        use(saved_[i], step, model_plan.calls[i].needs.saved);
    }
    if (stage_ == base::last_stage)
      for (int const output : graph.ends)
        if (!model_plan.calls[output].is_left_out) use_value(root(output), end_);
    for (std::size_t i = 0; i < calls; ++i)
      for (int device = 0; device < table.devices(); ++device)
        if (device != device_ && in_stage(i) && base::on(device).value[i].exists()) use_value(i, end_);
    base::for_each_stashed([&](std::size_t i, bool saved, buffer_place const&, long long floats) {
      if (!saved)
        use_value(i, end_);
      else if (!here().saved[i].exists())
        use(saved_[i], end_, floats);
    });
  }

  /// The epilogues of the model's plan, as far as this pass has the steps of both calls and nobody else reads what is
  /// in between. On the host alone, so that they make no difference to what is listed: what an epilogue makes is there
  /// one step earlier.
  constexpr void find_epilogues() {
    std::array<bool, calls> is_stashed{};
    base::for_each_stashed(
        [&](std::size_t i, bool saved, buffer_place const&, long long) { is_stashed[i] = is_stashed[i] || !saved; });
    std::array<int, calls> first{};  // the step that does a call's; -1: its own
    first.fill(-1);
    for (int step = 0; step < end_; ++step) {
      int const call = draft_.steps[step].call, next = model_plan.calls[call].epilogue;
      bool const goes_on = model_plan.calls[call].epilogue_of < 0 || first[call] >= 0;
      if (next < 0 || !runs(next) || !goes_on || here().value[call].exists() || is_stashed[call]) continue;
      int const begin = first[call] >= 0 ? first[call] : step;
      if (!are_there(call, next, begin, first)) continue;
      draft_.places.epilogue[call] = next;
      first[next] = begin;
      use_value(next, first[next]);
    }
  }

  /// True if the other inputs of an epilogue exist before step `begin`: an epilogue of the model's plan may have a step
  /// of its own in this pass.
  [[nodiscard]] constexpr bool are_there(int call, int next, int begin, std::array<int, calls> const& first) const {
    for (int const input : graph.inputs_of(next)) {
      if (input == call || !runs(root(input))) continue;
      int made = first[root(input)];
      for (int step = 0; made < 0; ++step)
        if (root(draft_.steps[step].call) == root(input)) made = step;
      if (made >= begin) return false;
    }
    return true;
  }

  constexpr void find_loss_gradients() {
    auto const model_outputs = graph.ends;
    long long largest = 0;
    for (std::size_t k = 0; k < outputs; ++k) {
      auto const i = root(model_outputs[k]);
      if (flow.loss_role[k] == gradient_role::none) continue;
      if (table.device_of_stage(flow.stage[i]) != device_) use(loss_[i], end_, floats_of(i));
      if (flow.loss_role[k] == gradient_role::add && floats_of(i) > largest) largest = floats_of(i);
    }
    int added = -1;
    if (largest > 0) use(added, end_, largest);
    loss_scratch_ = added;
  }

  constexpr void find_transfers() {
    auto& places = draft_.places;
    for (std::size_t i = 0; i < calls; ++i)
      for (int device = 0; device < table.devices(); ++device)
        if (device != device_ && in_stage(i) && base::on(device).value[i].exists())
          draft_.transfers.push_back(
              {places.value[i], base::on(device).value[i], device, floats_of(i), static_cast<int>(i)});
    base::for_each_stashed([&](std::size_t i, bool saved, buffer_place const& remote, long long floats) {
      draft_.transfers.push_back({saved ? places.saved[i] : places.value[i], remote, -1, floats, static_cast<int>(i)});
      places.remote_floats = remote.offset + remote.floats();
    });
    if (!base::trains || stage_ != base::last_stage) return;
    auto const model_outputs = graph.ends;
    places.loss_scratch = base::scratch(loss_scratch_);
    for (std::size_t k = 0; k < outputs; ++k) {
      if (flow.loss_role[k] == gradient_role::none) continue;
      auto const i = root(model_outputs[k]);
      int const device = table.device_of_stage(flow.stage[i]);
      places.loss_gradient[k] = device == device_ ? here().gradient[i] : base::scratch(loss_[i]);
      if (device != device_ && flow.loss_role[k] == gradient_role::first)
        draft_.transfers.push_back(
            {places.loss_gradient[k], base::on(device).gradient[i], device, floats_of(i), static_cast<int>(i)});
    }
  }

  constexpr void wait_for_value(int call) {
    auto const i = root(call);
    if (flow.stage[i] != stage_) wait(table.forward_pass(flow.stage[i]), 0);
  }
  constexpr void find_waits() {
    for (auto const& step : draft_.steps)
      for (int const input : graph.inputs_of(step.call)) wait_for_value(input);
    for (std::size_t i = 0; i < calls; ++i)
      for (int device = 0; device < table.devices(); ++device)
        if (auto const& ring = base::on(device); in_stage(i) && ring.value[i].exists())
          wait(ring.last_reader[i], ring.value[i].depth);
    int const last = table.forward_pass(base::last_stage);
    // Targets and their scales go from the first stage straight to the last; how many samples there are, to all passes.
    if (stage_ == 0) {
      if (last != 0) wait(last, table.alive(0, last));
      if (table.passes() > 1) wait(table.passes() - 1, table.alive(0, table.passes() - 1));
    } else {
      base::wait_for_pass_before(table.forward_pass(stage_));
    }
    if (stage_ != base::last_stage) return;
    for (std::size_t k = 0; k < outputs; ++k) {
      if (!model_plan.calls[graph.ends[k]].is_left_out) wait_for_value(graph.ends[k]);
      if (!base::trains || flow.loss_role[k] == gradient_role::none) continue;
      auto const i = root(graph.ends[k]);
      wait(table.backward_pass(flow.stage[i]), base::on(table.device_of_stage(flow.stage[i])).gradient[i].depth);
    }
  }

  int end_ = 0, loss_scratch_ = -1;
  std::array<int, calls> value_{}, saved_{}, loss_{};
};

/// The buffers of all devices between passes, by device.
template <class Job>
inline constexpr auto all_device_buffers =
    array_of_each<planning_timetable<Job>.devices()>([]<int Device>() { return &device_buffers_of<Job, Device>; });

template <class Job, int Pass>
struct make_pass {
  constexpr auto operator()() const {
    constexpr auto const& table = planning_timetable<Job>;
    constexpr auto const& devices = all_device_buffers<Job>;
    if constexpr (table.is_backward(Pass))
      return backward_pass_planner<Job>(table.stage_of_pass(Pass), devices.data()).make();
    else
      return forward_pass_planner<Job>(table.stage_of_pass(Pass), devices.data()).make();
  }
};

/// The plan of pass number `Pass` of the timetable.
template <class Job, int Pass>
inline constexpr auto const& pass_plan_of = frozen_draft<make_pass<Job, Pass>>;

}  // namespace stagecraft::plan
