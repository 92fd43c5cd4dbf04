// SPDX-License-Identifier: BSD-3-Clause
// The types of the values of a job's calls. Keras counterpart: the dtype of a KerasTensor.
#pragma once

#include <stagecraft/description/types_of_calls.hpp>
#include <stagecraft/plan/program.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::detail {

/// By calls: a view has the type of what it shows.
template <class Job>
inline constexpr auto value_types_of = [] {
  auto const& program = program_for<Job>;
  std::array<dtype, Job::graph.calls.size()> types{};
  for (std::size_t i = 0; i < types.size(); ++i)
    types[i] = computed_type(Job::graph, program.calls[i].root, Job::training.dtype_policy.compute_dtype);
  return types;
}();

}  // namespace stagecraft::detail
