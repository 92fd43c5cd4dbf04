// SPDX-License-Identifier: BSD-3-Clause
// The program of a pipeline: what each device does in each pass and what it holds meanwhile, made by the compiler. One
// constant per device and per pass.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/plan/backward_pass.hpp>
#include <stagecraft/plan/forward_pass.hpp>

namespace stagecraft::plan {

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

/// The plan of a pass; passes count as in `timetable`.
template <class Job, int Pass>
inline constexpr auto const& pass_plan_of = frozen<make_pass<Job, Pass>>;

}  // namespace stagecraft::plan
