// SPDX-License-Identifier: BSD-3-Clause
// The host CPU as the machine that runs a program.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/kernels/simd/simd.hpp>

namespace stagecraft::cpu {

/// E4033: no thread at all, or more than any host has.
template <int Threads>
inline constexpr diagnostic thread_problem = [] {
  diagnostic problem;
  if (Threads < 1 || Threads > 1024)
    problem.report(4033, "host<", Threads, "> asks for ", Threads, " threads; it takes 1 to 1024");
  return problem;
}();

}  // namespace stagecraft::cpu

namespace stagecraft {

/// The type that `host<>` names. The architecture is part of it, so that one program can hold translation units that
/// are compiled for different ones.
template <int Threads, class Arch, int Devices = 0>
struct host_machine {
  static_assert(detail::report<detail::thread_problem<Threads>>());
  using architecture = Arch;
  static constexpr int threads = Threads < 1 ? 1 : Threads;
  /// Number of devices that the host stands for; 0: as many as a program asks for.
  static constexpr int devices = Devices;
};

/// The host CPU, with the kernels of the architecture that the program is compiled for. A step is divided among
/// `Threads` threads at places that follow from shapes: results have the same bits for any number of threads. Threads
/// are started with a session and wait between steps; a step with little work does not gain from them.
/// The stages and replicas of a model run on devices that the host stands for: as many as they need, or at most
/// `Devices`, on which then as many replicas are trained as fit, unless the training description says how many. The
/// threads share the devices: with two devices, `host<4>` has two threads for each, and `host<1>` one for both.
/// Errors: E4033 unless Threads is 1 to 1024.
template <int Threads = 1, int Devices = 0,
          class Verdict = typename detail::early_verdict<detail::thread_problem<Threads>>::checked>
using host = typename Verdict::template model<host_machine<Threads, kernels::default_architecture, Devices>>;

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
