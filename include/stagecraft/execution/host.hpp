// SPDX-License-Identifier: BSD-3-Clause
// The host CPU as the machine that runs a program. Level 5.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/kernels/simd.hpp>

namespace stagecraft {

namespace detail {

/// E4033: more threads than a step is divided among.
template <int Threads>
inline constexpr diagnostic thread_problem = [] {
  diagnostic problem;
  if (Threads != 1)
    problem.report(4033, "host<", Threads, "> asks for ", Threads, " threads; a step runs on one, host<>");
  return problem;
}();

}  // namespace detail

/// The type behind `host<>`. The architecture is part of it, so that one program can hold translation units that are
/// compiled for different ones.
template <int Threads, class Arch>
struct host_machine {
  static_assert(detail::report<detail::thread_problem<Threads>>());
  using architecture = Arch;
};

/// The host CPU, with the kernels of the architecture that the program is compiled for.
template <int Threads = 1>
using host = host_machine<Threads, kernels::default_architecture>;

}  // namespace stagecraft
