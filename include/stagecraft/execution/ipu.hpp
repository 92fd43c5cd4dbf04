// SPDX-License-Identifier: BSD-3-Clause
// Emulated IPUs as the machine that runs a program. Level 5.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/execution/host.hpp>
#include <stagecraft/execution/tiles/emulated_devices.hpp>
#include <stagecraft/execution/tiles/ipu_loss.hpp>
#include <stagecraft/execution/tiles/ipu_step.hpp>
#include <stagecraft/execution/tiles/ipu_update.hpp>
#include <stagecraft/ipu/ipu_devices.hpp>
#include <stagecraft/kernels/simd.hpp>
#include <stagecraft/program/memory_check.hpp>

namespace stagecraft {

/// The type behind `ipu<...>`.
template <ipu_config Config, int Threads, class Arch>
struct ipu_machine : ipu_devices<Config> {
  static_assert(detail::report<detail::thread_problem<Threads>>());
  using architecture = Arch;
  static constexpr int threads = Threads < 1 ? 1 : Threads;
  /// Whether steps run tile by tile.
  static constexpr bool checked = ipu_devices<Config>::config.ipu_model.checked;
};

/// IPUs that are emulated on the host, by up to `Threads` of its threads: a device is the work of one. Stages and
/// replicas run on IPUs of their own. Results in float32 have the bits of `host<>`, for any number of threads; with
/// `ipu_model.checked` sums are added in the order of the tiles, and results are close to that.
///
///     using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>;
///     static_assert(sc::profile<two_stages, training, machine>.fits());
///     sc::trainer<two_stages, training, machine> model;
///
/// Errors: E3001 to E3009, `ipu_config`; E4033 unless Threads is 1 to 1024; E3010 where a model is run that does not
/// fit.
template <ipu_config Config = ipu_config{}, int Threads = 1>
using ipu = ipu_machine<Config, Threads, kernels::default_architecture>;

/// E3010 or E3012 where a training needs more memory than there is.
template <class M, auto Training, class Machine>
inline constexpr diagnostic memory_problem_on<M, Training, Machine, true> =
    detail::memory_problem<M, Training, execution_mode::training, Machine>;

}  // namespace stagecraft
