// SPDX-License-Identifier: BSD-3-Clause
// The program of a pipeline: what each device does in each pass and what it holds meanwhile, made by the compiler. One
// constant per device and per pass.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/plan/backward_pass.hpp>
#include <stagecraft/plan/forward_pass.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::plan {

/// One pass; `places` says where each tensor lies in this pass, by calls and edges of the graph.
template <class Places, std::size_t Steps, std::size_t Fetches, std::size_t Transfers, std::size_t Additions,
          std::size_t Waits, std::size_t Scratch>
struct pass_plan {
  Places places;
  std::array<pass_step, Steps> steps{};
  std::array<pass_transfer, Fetches> fetches{};      ///< from remote memory, before the steps
  std::array<pass_transfer, Transfers> transfers{};  ///< behind the steps
  std::array<pass_addition, Additions> additions{};  ///< in the order of their steps
  std::array<pass_wait, Waits> waits{};
  std::array<pass_scratch, Scratch> scratch{};
};

}  // namespace stagecraft::plan

namespace stagecraft::detail {

template <class Job>
inline constexpr auto all_device_buffers =
    array_of_each<planning_timetable<Job>.devices()>([]<int Device>() { return &device_buffers_of<Job, Device>; });

template <class Job, int Pass>
constexpr auto draft_pass() {
  constexpr auto const& table = planning_timetable<Job>;
  constexpr auto const& devices = all_device_buffers<Job>;
  if constexpr (table.is_backward(Pass))
    return backward_pass_planner<Job>(table.stage_of_pass(Pass), devices.data()).make();
  else
    return forward_pass_planner<Job>(table.stage_of_pass(Pass), devices.data()).make();
}

struct pass_sizes {
  std::size_t steps, fetches, transfers, additions, waits, scratch;
};

template <class Job, int Pass>
inline constexpr pass_sizes sizes_of_pass = [] {
  auto const draft = draft_pass<Job, Pass>();
  return pass_sizes{draft.steps.size(),     draft.fetches.size(), draft.transfers.size(),
                    draft.additions.size(), draft.waits.size(),   draft.scratch.size()};
}();

template <class Job, int Pass>
constexpr auto plan_pass() {
  constexpr auto sizes = sizes_of_pass<Job, Pass>;
  auto const draft = draft_pass<Job, Pass>();
  pass_plan<decltype(draft.places), sizes.steps, sizes.fetches, sizes.transfers, sizes.additions, sizes.waits,
            sizes.scratch>
      plan;
  plan.places = draft.places;
  for (std::size_t i = 0; i < sizes.steps; ++i) plan.steps[i] = draft.steps[i];
  for (std::size_t i = 0; i < sizes.fetches; ++i) plan.fetches[i] = draft.fetches[i];
  for (std::size_t i = 0; i < sizes.transfers; ++i) plan.transfers[i] = draft.transfers[i];
  for (std::size_t i = 0; i < sizes.additions; ++i) plan.additions[i] = draft.additions[i];
  for (std::size_t i = 0; i < sizes.waits; ++i) plan.waits[i] = draft.waits[i];
  for (std::size_t i = 0; i < sizes.scratch; ++i) plan.scratch[i] = draft.scratch[i];
  return plan;
}

}  // namespace stagecraft::detail

namespace stagecraft::plan {

/// The plan of a pass; passes count as in `timetable`.
template <class Job, int Pass>
inline constexpr auto pass_plan_of = detail::plan_pass<Job, Pass>();

}  // namespace stagecraft::plan
