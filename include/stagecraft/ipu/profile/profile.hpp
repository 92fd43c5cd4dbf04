// SPDX-License-Identifier: BSD-3-Clause
// The memory and the time that a model needs on IPUs, as constants of the compiler: the counterpart of a profile that
// Poplar writes for PopVision.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/rooms.hpp>

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/description/training_checks.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/profile/memory_profile.hpp>
#include <stagecraft/ipu/profile/time_profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <cstdint>
#include <string_view>

namespace stagecraft::tiles {

/// The passes of a stage over one micro-batch.
struct stage_profile {
  pass_profile forward;   ///< the forward pass
  pass_profile backward;  ///< the backward pass, in training

  /// The IPU of the replica that the stage is on.
  [[nodiscard]] constexpr int ipu() const noexcept { return forward.device; }
  /// Cycles of the forward pass. The last stage's include the losses, in training and in an evaluation.
  [[nodiscard]] constexpr std::int64_t forward_cycles() const noexcept { return forward.work().cycles(); }
  /// Cycles of the forward steps that the backward pass carries out again.
  [[nodiscard]] constexpr std::int64_t recompute_cycles() const noexcept { return backward.recompute.cycles(); }
  /// Cycles of the backward steps, recomputed forward steps excluded.
  [[nodiscard]] constexpr std::int64_t backward_cycles() const noexcept {
    return backward.steps.cycles() + backward.additions.cycles();
  }
  /// All cycles for one micro-batch.
  [[nodiscard]] constexpr std::int64_t cycles() const noexcept {
    return forward_cycles() + recompute_cycles() + backward_cycles();
  }
  /// Floating-point operations for one micro-batch.
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return forward.work().flops + backward.work().flops; }
};

/// E3011: a profile of something that is no IPU.
template <class Machine>
inline constexpr diagnostic profile_machine_problem = [] {
  diagnostic problem;
  if (requires { typename Machine::machine_of_rank; })
    problem.report(3011, "a profile is asked for a cluster, which <stagecraft/mpi/cluster_profile.hpp> has");
  else if (!is_ipu<Machine>)
    problem.report(3011, "a profile is asked for a machine that does not emulate IPUs; name one such as ipu<>");
  return problem;
}();

/// True if the model can be profiled in this mode. Predictions need no optimizer.
template <class Job>
constexpr bool can_be_profiled() {
  if constexpr (!Job::trains) {
    return true;
  } else {
    static_assert(report<fit_problem<Job>>());
    return !fit_problem<Job>.failed();
  }
}

/// Reports the first rule that prevents a profile; true if there is none.
template <class Job>
constexpr bool has_profile() {
  static_assert(report<profile_machine_problem<typename Job::machine>>());
  if constexpr (has_invalid_stages<typename Job::model> || profile_machine_problem<typename Job::machine>.failed()) {
    return false;
  } else if constexpr (!report<training_problem<typename Job::described>>() ||
                       training_problem<typename Job::described>.failed()) {
    return false;
  } else if constexpr (!can_be_profiled<Job>()) {
    return false;
  } else {
    static_assert(report<machine_problem<Job>>());
    return !machine_problem<Job>.failed();
  }
}

inline constexpr diagnostic no_problem{};

/// Why a job's tensors do not fit into the memory of its machine: E3010, E3012, E3046. Nothing, if there is no profile.
/// A function template passes `Asked`, so that the answer is found when the function is called.
template <class Job, bool Asked>
constexpr diagnostic const& problem_of_fit() {
  if constexpr (has_profile<Job>())
    return memory_problem<Job>;
  else
    return no_problem;
}

/// The first rule that a description of a training breaks on this machine, whatever the machine's memory is.
template <class Job>
constexpr diagnostic const& profile_problem() {
  using model = typename Job::model;
  if constexpr (profile_machine_problem<typename Job::machine>.failed())
    return profile_machine_problem<typename Job::machine>;
  else if constexpr (is_invalid<model>)
    return frozen_graph<typename traced_model<model>::type>.problem;
  else if constexpr (has_invalid_stages<model>)
    return stage_problem<model>;
  else
    return training_problem<typename Job::described>;
}

/// The profile of a training or, with execution_mode::inference or a description of an inference, of predictions. All
/// questions can be asked at compile time; each part of the answer is a constant of its own, made when it is asked for
/// the first time.
///
/// Time. Cycles of vertices are Poplar's libraries' own estimates (ipu/cycles/), those of exchanges and syncs the
/// target's. In each slot of the timetable, an IPU does the steps of its passes one after the other, and what comes
/// from and goes to the host and streaming memory in between. I/O tiles with operations on them (place_ops_on_io_tiles)
/// take what comes from the host in the slot before, send what goes there in the slot after, and do so, and transfers
/// of streaming memory, while the other tiles compute; an exchange hands on what they have. What is recomputed is done
/// in the slot before its backward pass. The slot ends with the transfers between IPUs, after a sync. Data from the
/// host are at hand unless prefetch_data_streams is off: then each transfer waits for the host. The host computes
/// metrics after all this. A long timetable is not gone through: its middle repeats, so that a part of it says the
/// time of all of it, exactly. In the weight update, each IPU updates its weights; replicas reduce gradients and gather
/// results in a ring. Sums of gradients that are offloaded are fetched for the first micro-batch, too.
///
/// Memory. Every tile keeps room for what tile 0, the fullest, has of a tensor. Assumptions on code are in tile_code.
/// I/O tiles hold each tensor that comes or goes once.
///
/// Errors: those of the training and its machine, E3010, E3012 and E3046 (`fits`), E3011.
template <class Job>
class model_profile {
  static constexpr bool valid = has_profile<Job>();
  static constexpr time_profile<1> no_time{};
  static constexpr auto const& time() {
    if constexpr (valid)
      return time_profile_of<Job>;
    else
      return no_time;
  }
  static constexpr stagecraft::timetable const& table() { return unchecked_timetable<typename Job::planned>; }
  static constexpr double part(std::int64_t some, std::int64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(all);
  }
  static constexpr std::int64_t sum_of(std::int64_t ipu_cycles::* member) {
    std::int64_t sum = 0;
    for (auto const& device : time().devices) sum += device.*member;
    return sum;
  }
  static constexpr std::int64_t cycles_of_all() { return cycles() * ipus(); }

 public:
  using machine = typename Job::machine;

  // Counts.
  /// IPUs of one replica, up to the highest that has a stage.
  [[nodiscard]] static constexpr int ipus() { return static_cast<int>(time().devices.size()); }
  /// Copies of the model, each on IPUs of its own.
  [[nodiscard]] static constexpr int replicas() { return Job::replicas; }
  /// Stages of the pipeline; 1 without one.
  [[nodiscard]] static constexpr int stages() { return table().stages(); }
  /// Passes over a micro-batch: a forward one for each stage, and a backward one in training.
  [[nodiscard]] static constexpr int passes() { return table().passes(); }
  /// Micro-batches of a replica per weight update; in inference, per execution.
  [[nodiscard]] static constexpr int micro_batches() { return table().micro_batches(); }

  // Fit.
  /// True, or the build stops with E3010, E3012 or E3046, which say what is too large.
  template <bool Asked = true>
  [[nodiscard]] static constexpr detail::result_or_verdict<detail::problem_of_fit<Job, Asked>(), bool> fits() {
    if constexpr (detail::problem_of_fit<Job, Asked>().has_text())
      return {};
    else
      return true;
  }
  /// True if a tile, streaming memory, or the I/O tiles are too small; the build goes on.
  [[nodiscard]] static constexpr bool out_of_memory() {
    if constexpr (valid)
      return detail::memory_problem<Job>.failed();
    else
      return false;
  }

  // Time.
  /// Cycles of a weight update with all its micro-batches; in inference, of an execution.
  [[nodiscard]] static constexpr std::int64_t cycles() { return time().cycles(); }
  /// Seconds of a weight update with all its micro-batches; in inference, of an execution.
  [[nodiscard]] static constexpr double seconds() { return Job::machine::target.seconds(cycles()); }
  /// Cycles of the weight update alone, after the micro-batches.
  [[nodiscard]] static constexpr std::int64_t update_cycles() { return time().update; }
  /// Samples of all replicas that are worked on in a second.
  [[nodiscard]] static constexpr double samples_per_second() {
    return cycles() == 0 ? 0.0
                         : static_cast<double>(Job::training.batch_size) * micro_batches() * replicas() / seconds();
  }
  /// The most cycles that a micro-batch takes, from the begin of the slot in which it comes from the host to the end of
  /// the slot in which its results leave. It comes in the slot of its first pass, or, with overlapped input and output,
  /// in the one before. The longest device decides how long a slot takes.
  [[nodiscard]] static constexpr std::int64_t latency_cycles() { return time().latency; }
  /// The most seconds that a micro-batch takes: latency_cycles() as a time.
  [[nodiscard]] static constexpr double latency() { return Job::machine::target.seconds(latency_cycles()); }

  // Cycles by purpose.
  /// The part of the IPUs' time before the weight update in which they wait for others. Where all passes take the same
  /// time it is about pipeline_bubble, which knows of no transfers.
  [[nodiscard]] static constexpr double bubble() { return part(time().idle_in_slots, time().slots * ipus()); }
  /// The part of the IPUs' time that goes to exchange, syncs and transfers between IPUs.
  [[nodiscard]] static constexpr double exchange_share() {
    return part(exchange_cycles() + sync_cycles() + inter_ipu_cycles(), cycles_of_all());
  }
  /// The cycles of one IPU by purpose; they sum to `cycles()`.
  [[nodiscard]] static constexpr ipu_cycles cycles_of(int ipu) { return time().devices[ipu]; }
  /// Cycles of computing, summed over the IPUs of a replica.
  [[nodiscard]] static constexpr std::int64_t compute_cycles() { return sum_of(&ipu_cycles::compute); }
  /// Cycles of exchanges on the IPUs, summed over the IPUs of a replica.
  [[nodiscard]] static constexpr std::int64_t exchange_cycles() { return sum_of(&ipu_cycles::exchange); }
  /// Cycles of syncs, summed over the IPUs of a replica.
  [[nodiscard]] static constexpr std::int64_t sync_cycles() { return sum_of(&ipu_cycles::sync); }
  /// Cycles of transfers between IPUs, summed over the IPUs of a replica.
  [[nodiscard]] static constexpr std::int64_t inter_ipu_cycles() { return sum_of(&ipu_cycles::inter_ipu); }
  /// Cycles of transfers from and to the host, summed over the IPUs of a replica.
  [[nodiscard]] static constexpr std::int64_t host_cycles() { return sum_of(&ipu_cycles::host); }
  /// Cycles of transfers from and to streaming memory, summed over the IPUs of a replica.
  [[nodiscard]] static constexpr std::int64_t streaming_cycles() { return sum_of(&ipu_cycles::streaming); }
  /// Cycles of waiting, summed over the IPUs of a replica.
  [[nodiscard]] static constexpr std::int64_t idle_cycles() { return sum_of(&ipu_cycles::idle); }

  // Work.
  /// Floating-point operations of one replica in `cycles()`, recomputed steps included.
  [[nodiscard]] static constexpr std::int64_t flops() { return time().flops; }
  /// Floating-point operations of all replicas in a second.
  [[nodiscard]] static constexpr double flops_per_second() {
    return cycles() == 0 ? 0.0 : static_cast<double>(flops()) * replicas() / seconds();
  }
  /// The most floating-point operations that an IPU does in a second in the policy's type, with the fastest type of
  /// partial sums that convolutions and matrix products have in the configuration or in a stage.
  [[nodiscard]] static constexpr std::int64_t peak_flops_per_second() {
    auto const peak = [](poplar_options const& options) {
      return Job::machine::target.peak_flops_per_second(Job::training.dtype_policy.compute_dtype,
                                                        options.partials_type);
    };
    std::int64_t most = larger(peak(Job::machine::config.convolutions), peak(Job::machine::config.matmuls));
    for (int number = 0; number < passes(); ++number) {
      auto const own = options_of_pass<Job>(table().is_backward(number), table().stage_of_pass(number));
      most = larger(most, peak(with_options_of_stage(Job::machine::config.matmuls, own.matmul_options)));
      most = larger(most, peak(with_options_of_stage(Job::machine::config.convolutions, own.convolution_options)));
    }
    return most;
  }
  /// flops_per_second() divided by the most that the IPUs can do, from 0 to 1.
  [[nodiscard]] static constexpr double utilisation() {
    return flops_per_second() / (static_cast<double>(peak_flops_per_second()) * ipus() * replicas());
  }

  // Passes and steps.
  /// The timetable on the machine: the slot in which each pass works on each micro-batch.
  [[nodiscard]] static constexpr stagecraft::timetable const& timetable() { return table(); }
  /// One pass over a micro-batch, by its number in the timetable.
  [[nodiscard]] static constexpr pass_profile const& pass(int number) { return *detail::pass_profiles<Job>[number]; }
  /// Both passes of a stage.
  [[nodiscard]] static constexpr stage_profile stage(int number) {
    stage_profile result{pass(table().forward_pass(number)), {}};
    if (table().trains()) result.backward = pass(table().backward_pass(number));
    return result;
  }
  /// The steps of a pass in their order; losses follow those of the last forward pass.
  [[nodiscard]] static constexpr tracing::array_view<profiled_step const> steps(int number) {
    return profiled_steps<Job>[number];
  }
  /// The name of a step's layer.
  [[nodiscard]] static constexpr std::string_view name_of(profiled_step const& step) {
    return Job::graph.layer_of(step.call).name;
  }
  /// The weight update of an IPU.
  [[nodiscard]] static constexpr update_profile const& update(int ipu) { return detail::update_profiles<Job>[ipu]; }

  // Memory.
  /// Memory of tile 0, which is the fullest of an IPU.
  [[nodiscard]] static constexpr tile_memory_profile const& memory(int ipu) { return device(ipu).tile; }
  /// Bytes that lie on an IPU's I/O tiles, where these work while the others compute: the transfers of all its passes
  /// from and to the host and streaming memory.
  [[nodiscard]] static constexpr std::int64_t io_bytes(int ipu) { return device(ipu).io_bytes; }
  /// Bytes that an IPU keeps in streaming memory.
  [[nodiscard]] static constexpr std::int64_t streaming_bytes(int ipu) { return device(ipu).streaming_bytes; }
  /// The step in which an IPU's fullest tile needs most memory.
  [[nodiscard]] static constexpr memory_peak peak(int ipu) { return device(ipu).peak; }
  /// The name of the layer whose step needs most memory of an IPU.
  template <int Ipu = 0>
  [[nodiscard]] static constexpr std::string_view peak_step() {
    return detail::peak_layer<Job, Ipu>;
  }
  /// Bytes that are left on the fullest tile; less than 0 if it does not fit.
  [[nodiscard]] static constexpr std::int64_t free_bytes(int ipu) {
    return Job::machine::target.bytes_per_tile - memory(ipu).peak();
  }

 private:
  static constexpr device_memory_profile const& device(int ipu) { return detail::memory_profiles<Job>[ipu]; }
};

/// The profile of a job on a machine, and the first rule that prevents it. A specialisation is for machines whose
/// prices are not those of IPUs alone.
template <class Machine>
struct profile_on {
  template <class Job>
  using type = model_profile<Job>;
  template <class Job>
  static constexpr diagnostic const& problem() {
    return profile_problem<Job>();
  }
};

}  // namespace stagecraft::tiles

namespace stagecraft {

/// A model's profile, with the training as it holds on the machine (training_on).
///
///     using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>;
///     inline constexpr auto profile = sc::profile<two_stages, training, machine>;
///     static_assert(profile.fits());
///     static_assert(profile.bubble() < 0.2 && profile.exchange_share() < 0.3);
template <Model M, auto Training, class Machine, execution_mode Mode = detail::mode_of<Training>,
          class = typename detail::verdict_on<
              tiles::profile_on<Machine>::template problem<jobs::job_on<M, Training, Machine, Mode>>()>::checked>
inline constexpr typename tiles::profile_on<Machine>::template type<jobs::job_on<M, Training, Machine, Mode>> profile{};

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
