// SPDX-License-Identifier: BSD-3-Clause
// The host CPU as the machine that runs a program. Level 5.
#pragma once

#include <stagecraft/kernels/simd.hpp>

namespace stagecraft {

/// The type behind `host<>`. The architecture is part of it, so that one program can hold translation units that are
/// compiled for different ones.
template <int Threads, class Arch>
struct host_machine {
  static_assert(Threads == 1, "stagecraft: host<> runs a step on one thread [E4033]");
  using architecture = Arch;
};

/// The host CPU, with the kernels of the architecture that the program is compiled for.
template <int Threads = 1>
using host = host_machine<Threads, kernels::default_architecture>;

}  // namespace stagecraft
