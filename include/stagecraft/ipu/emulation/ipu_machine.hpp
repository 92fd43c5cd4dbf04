// SPDX-License-Identifier: BSD-3-Clause
// Emulated IPUs as the machine of a profile, a plan or a trainer: what they are, not how they carry out a step
// (<stagecraft/ipu.hpp>).
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/rooms.hpp>

#include <stagecraft/host/host.hpp>
#include <stagecraft/machines/ipu_devices.hpp>

namespace stagecraft::tiles {

/// The type that `ipu<...>` names.
template <ipu_config Config, int Threads, class Arch>
struct ipu_machine : ipu_devices<Config> {
  static_assert(report<thread_problem<Threads>>());
  using architecture = Arch;
  static constexpr int threads = Threads < 1 ? 1 : Threads;
  /// True if steps run tile by tile.
  static constexpr bool checked = ipu_devices<Config>::config.ipu_model.checked;
};

}  // namespace stagecraft::tiles

namespace stagecraft {

/// IPUs that are emulated on the host, by up to `Threads` of its threads: a device is the work of one. Stages and
/// replicas run on IPUs of their own. Results in float32 have the bits of `host<>`, for any number of threads; with
/// `ipu_model.checked` sums are added in the order of the tiles, and results are close to that.
///
///     #include <stagecraft/ipu.hpp>
///     using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>;
///     static_assert(sc::profile<two_stages, training, machine>.fits());
///     sc::trainer<two_stages, training, machine> model;
///
/// Errors: E3001 to E3009, `ipu_config`; E4033 unless Threads is 1 to 1024; E3010 where a model is run that does not
/// fit; E4092 where it is run without <stagecraft/ipu.hpp>.
template <ipu_config Config = ipu_config{}, int Threads = 1>
using ipu = tiles::ipu_machine<Config, Threads, kernels::default_architecture>;

}  // namespace stagecraft
