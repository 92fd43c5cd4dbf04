// SPDX-License-Identifier: BSD-3-Clause
// One pass of a pipeline, a stage's forward or backward work on a micro-batch: its steps, where they find and leave
// their tensors, what is sent to other devices, and which passes it waits for.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/plan/arena.hpp>
#include <stagecraft/plan/device_buffers.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::plan {

/// A layer's forward or backward step.
struct pass_step {
  int call = 0;
  bool backward = false;
};

/// A copy at the end of a pass, to the ring of another device; or, with device -1, between a device's own and its
/// remote memory, at the end of a forward pass and at the beginning of a backward pass.
struct pass_transfer {
  buffer_place from;
  buffer_place to;
  int device = -1;
  long long floats = 0;
  int call = 0;  ///< the call whose value, gradient or saved numbers they are
};

/// A gradient that is added to another one before a step of a pass.
struct pass_addition {
  int step = 0;
  buffer_place from;
  buffer_place to;
  long long floats = 0;
  int call = 0;  ///< the call whose result has this gradient
};

/// A pass waits until another pass has finished with micro-batch m - lag, before it works on micro-batch m: with lag 0
/// for what that pass hands on, else for room in a ring.
struct pass_wait {
  int pass = 0;
  int lag = 0;
};

/// The kinds of tensors for which a pass needs memory while it runs, and what their numbers count.
enum class scratch_kind : unsigned char {
  value,           ///< one for each call
  saved,           ///< one for each call
  gradient,        ///< one for each call
  input_gradient,  ///< one for each edge; added to others, or sent
  loss_gradient,   ///< one for each call
  loss_scratch     ///< a loss's gradient that is to be added to another
};

/// A tensor of one pass alone, alive from one of its steps to another, both included: step -1 is before them all, the
/// number of steps after them.
struct pass_scratch {
  scratch_kind kind = scratch_kind::value;
  int index = 0;
  int first = 0;
  int last = 0;
};

/// The lengths of the lists of a pass.
struct pass_sizes {
  std::size_t steps = 0;
  std::size_t fetches = 0;
  std::size_t transfers = 0;
  std::size_t additions = 0;
  std::size_t waits = 0;
  std::size_t scratch = 0;
};

/// One pass; `places` says where each tensor lies in this pass, by calls and edges of the graph.
template <class Places, pass_sizes Sizes>
struct pass_plan {
  Places places;
  std::array<pass_step, Sizes.steps> steps;
  std::array<pass_transfer, Sizes.fetches> fetches;      ///< copies from remote memory, made before the steps
  std::array<pass_transfer, Sizes.transfers> transfers;  ///< copies made after the steps
  std::array<pass_addition, Sizes.additions> additions;  ///< sums of gradients, in the order of their steps
  std::array<pass_wait, Sizes.waits> waits;
  std::array<pass_scratch, Sizes.scratch> scratch;

  template <class Draft>
  constexpr explicit pass_plan(Draft const& draft)
      : places(draft.places),
        steps(array_of<Sizes.steps>(draft.steps)),
        fetches(array_of<Sizes.fetches>(draft.fetches)),
        transfers(array_of<Sizes.transfers>(draft.transfers)),
        additions(array_of<Sizes.additions>(draft.additions)),
        waits(array_of<Sizes.waits>(draft.waits)),
        scratch(array_of<Sizes.scratch>(draft.scratch)) {}
};

/// The places of a pass's tensors, by calls, edges and outputs of the graph.
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct pass_places {
  std::array<buffer_place, Calls> value{}, saved{}, gradient{};
  std::array<buffer_place, Edges> input_gradient{};
  std::array<bool, Edges> adds_gradient{};
  std::array<int, Calls> epilogue{};  ///< the call whose forward step the host does as one's epilogue; -1: none
  std::array<buffer_place, Outputs> loss_gradient{};
  buffer_place loss_scratch;
  long long scratch_floats = 0;
  long long remote_floats = 0;
};

/// A pass in the making: everything in vectors (frozen.hpp).
template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct pass_draft {
  pass_places<Calls, Edges, Outputs> places;
  growing_array<pass_step> steps;
  growing_array<pass_transfer> fetches, transfers;
  growing_array<pass_addition> additions;
  growing_array<pass_wait> waits;
  growing_array<pass_scratch> scratch;

  [[nodiscard]] constexpr pass_sizes sizes() const {
    return {steps.size(), fetches.size(), transfers.size(), additions.size(), waits.size(), scratch.size()};
  }
  static constexpr pass_sizes usual_sizes{12, 4, 8, 8, 8, 24};
  template <pass_sizes Sizes>
  using frozen = pass_plan<pass_places<Calls, Edges, Outputs>, Sizes>;
};

template <class Job>
class pass_planner : protected buffer_lifetimes {
 protected:
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr auto const& flow = flow_of<Job>;
  static constexpr auto const& table = planning_timetable<Job>;
  static constexpr std::size_t calls = graph.calls.size(), edges = graph.inputs.size(), outputs = graph.ends.size();
  static constexpr int last_stage = flow.stages - 1;
  static constexpr bool trains = Job::trains;
  static constexpr bool offloads = trains && Job::options.offload_activations == offload::remote && flow.stages > 1;
  using buffers = device_buffers<calls, edges>;

  constexpr pass_planner(int stage, buffers const* const* devices)
      : stage_(stage), device_(table.device_of_stage(stage)), devices_(devices) {
    draft_.places.epilogue.fill(-1);
  }

  static constexpr int root(int call) { return model_plan.calls[call].root; }
  static constexpr long long floats_of(std::size_t call) { return stored_floats_of<Job>(static_cast<int>(call)); }
  [[nodiscard]] constexpr bool runs(std::size_t call) const {
    return flow.stage[call] == stage_ && !graph.calls[call].is_input && !model_plan.calls[call].needs.view &&
           !model_plan.calls[call].is_left_out;
  }
  [[nodiscard]] constexpr buffers const& on(int device) const { return *devices_[device]; }
  [[nodiscard]] constexpr buffers const& here() const { return on(device_); }
  [[nodiscard]] constexpr bool offloads_stage() const { return offloads && stage_ < last_stage; }

  constexpr void wait(int pass, int lag) {
    for (auto& known : draft_.waits)
      if (known.pass == pass) {
        if (lag < known.lag) known.lag = lag;
        return;
      }
    draft_.waits.push_back({pass, lag});
  }

  /// Even if it needs nothing of it: then the last pass of a micro-batch is after all others, and all know how many
  /// samples it has.
  constexpr void wait_for_pass_before(int pass) {
    for (int before = pass - 1; before >= 0 && table.place(before) >= table.place(pass) - 1; --before)
      if (table.place(before) < table.place(pass)) wait(before, 0);
  }

  constexpr void place_scratch() { draft_.places.scratch_floats = place_all(); }
  /// Says what the buffers with these slots are for.
  template <std::size_t Count>
  constexpr void list_scratch(scratch_kind kind, std::array<int, Count> const& slots) {
    for (std::size_t i = 0; i < Count; ++i)
      if (slots[i] >= 0)
        draft_.scratch.push_back({kind, static_cast<int>(i), request(slots[i]).first, request(slots[i]).last});
  }
  constexpr buffer_place scratch(int slot) const {
    return slot < 0 ? buffer_place{} : buffer_place{here().floats + offset(slot)};
  }

  /// Lists what the backward pass of this stage finds in remote memory, in an order that both passes know: values and
  /// what layers have kept.
  template <class Each>
  constexpr void for_each_stashed(Each each) const {
    if constexpr (offloads)
      if (offloads_stage()) visit_stashed(each);
  }
  template <class Each>
  constexpr void visit_stashed(Each each) const {
    auto const& again = recomputations_of<Job>[stage_].again;
    std::array<bool, calls> value{};
    for (std::size_t i = 0; i < calls; ++i) {
      if (!runs(i)) continue;
      backward_reads const reads(model_plan.calls[i]);
      if (reads.output && !again[i]) value[i] = true;
      if (!reads.inputs && !again[i]) continue;
      for (int const input : graph.inputs_of(static_cast<int>(i)))
        if (!(flow.stage[root(input)] == stage_ && again[root(input)])) value[root(input)] = true;
    }
    ring_allocator rings;
    int const depth = table.alive(table.forward_pass(stage_), table.backward_pass(stage_));
    for (std::size_t i = 0; i < calls; ++i) {
      if (value[i]) each(i, false, rings.place(depth, floats_of(i)), floats_of(i));
      auto const& own = model_plan.calls[i];
      if (runs(i) && own.needs_gradient && own.needs.saved > 0 && !again[i])
        each(i, true, rings.place(depth, own.needs.saved), own.needs.saved);
    }
  }

  int stage_, device_;
  buffers const* const* devices_;
  pass_draft<calls, edges, outputs> draft_;
};

}  // namespace stagecraft::plan
