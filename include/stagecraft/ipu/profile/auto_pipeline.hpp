// SPDX-License-Identifier: BSD-3-Clause
// Stages that the compiler chooses by what each layer costs on an IPU. Graphcore's counterparts: automatic pipelining
// of Keras models (ipu_tensorflow_addons, keras/experimental/auto_pipeline) and of the SavedModel converter.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/rooms.hpp>

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/profile/auto_pipeline_costs.hpp>
#include <stagecraft/ipu/profile/memory_profile.hpp>
#include <stagecraft/pipeline/linear_order.hpp>
#include <stagecraft/pipeline/partition.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/stages.hpp>
#include <cstddef>

namespace stagecraft {

/// The quantity that an automatic pipeline minimizes: the time between two micro-batches, or the memory of the fullest
/// IPU.
enum class auto_pipeline_priority : unsigned char { cycle, memory };

/// The choices of `auto_pipeline`: the number of IPUs, and the quantity to minimize.
struct auto_pipeline_options {
  /// The least number of IPUs, one for each stage. From it on, the fewest into whose memory the model fits are taken;
  /// if it fits into none, as many as there may be. With 1, a model that fits into one IPU stays as it is.
  int min_ipus = 2;
  /// The bound of that number: more than the machine has are as many as it has, and 0 is no bound.
  int max_ipus = 0;
  /// The number of further attempts, for each number of IPUs, if a division does not fit together with its code and
  /// exchanges. Each attempt has less memory for each stage, by as much as the last one lacked.
  int fine_tune_iter = 5;
  /// The quantity by which the stages are balanced.
  auto_pipeline_priority priority = auto_pipeline_priority::cycle;

  friend constexpr bool operator==(auto_pipeline_options const&, auto_pipeline_options const&) = default;
};

}  // namespace stagecraft

namespace stagecraft::tiles {

/// E3022: stages are chosen for a machine whose costs of layers are not known.
template <class Machine>
inline constexpr diagnostic auto_pipeline_machine_problem = [] {
  diagnostic problem;
  if (!is_ipu<Machine>)
    problem.report(
        3022,
        "auto_pipeline chooses stages by what layers cost on IPUs, and is given another machine; name one such "
        "as ipu<ipu_config{...}> here, wherever the model then runs, or use sc::even_pipeline<model, 2>");
  return problem;
}();

/// The most IPUs that a model may be divided among.
template <class Machine, auto_pipeline_options Options>
constexpr int find_most_ipus() {
  int const most = Machine::devices < partition::capacity ? Machine::devices : partition::capacity;
  return Options.max_ipus > 0 && Options.max_ipus < most ? Options.max_ipus : most;
}
template <class Machine, auto_pipeline_options Options>
inline constexpr int most_ipus = find_most_ipus<Machine, Options>();

/// The best partition into a number of stages by the costs of layers alone, with at most `Capacity` bytes of a tile for
/// each stage; empty if there is none.
template <class Job, auto_pipeline_priority Priority, int Stages,
          long long Capacity = Job::machine::target.bytes_per_tile>
inline constexpr partition best_partition_into =
    find_partition(auto_pipeline_costs_of<Job, Stages>.costs(Capacity),
                   {.min_stages = Stages,
                    .max_stages = Stages,
                    .objective = Priority == auto_pipeline_priority::memory ? partition_objective::memory
                                                                            : partition_objective::cycles});

/// The partition whose fullest stage takes least memory.
template <class Job, int Stages>
inline constexpr partition least_partition_into =
    find_partition(auto_pipeline_costs_of<Job, Stages>.costs(-1),
                   {.min_stages = Stages, .max_stages = Stages, .objective = partition_objective::memory});

/// Stages by a partition of the calls in Keras's order.
template <partition const& Partition>
struct partition_stages {
  template <class M>
  static constexpr void assign_stages(tracing::array_view<int> of_call, diagnostic&) {
    for (std::size_t i = 0; i < graph_of<M>.order.size(); ++i)
      of_call[graph_of<M>.order[i]] = Partition.stage_of(static_cast<int>(i));
  }
};

/// The job of a model that a partition divides.
template <class Job, partition const& Partition>
struct partitioned_job {
  using type = typename Job::template of<pipelined<typename Job::model, partition_stages<Partition>{}>>;
};
template <class Job, partition const& Partition>
  requires(Partition.stages == 1)
struct partitioned_job<Job, Partition> {
  using type = Job;
};

/// True if a partition fits, code and exchanges included.
template <class Job, partition const& Partition>
constexpr bool partition_fits() {
  if constexpr (!Partition.found())
    return false;
  else
    return !memory_problem<typename partitioned_job<Job, Partition>::type>.failed();
}

/// The bytes that the fullest tile lacks.
template <class Job>
constexpr long long find_missing_bytes() {
  long long most = 0;
  for (auto const& device : memory_profiles<Job>)
    if (long long const missing = device.tile.peak() - Job::machine::target.bytes_per_tile; missing > most)
      most = missing;
  return most;
}

/// The best partition into a number of stages that fits, found in at most `Rounds` more attempts; empty if none is.
template <class Job, auto_pipeline_priority Priority, int Stages, long long Capacity, int Rounds>
constexpr partition find_tuned_partition() {
  constexpr auto const& best = best_partition_into<Job, Priority, Stages, Capacity>;
  if constexpr (partition_fits<Job, best>()) {
    return best;
  } else if constexpr (best.found() && Rounds > 0) {
    constexpr long long missing = find_missing_bytes<typename partitioned_job<Job, best>::type>();
    if constexpr (missing > 0 && missing <= best.memory)
      return find_tuned_partition<Job, Priority, Stages, best.memory - missing, Rounds - 1>();
  }
  return {};
}
template <class Job, auto_pipeline_options Options, int Stages>
inline constexpr partition tuned_partition_into =
    find_tuned_partition<Job, Options.priority, Stages, Job::machine::target.bytes_per_tile, Options.fine_tune_iter>();

template <class Job, auto_pipeline_options Options, int Stages>
constexpr partition find_auto_partition() {
  if constexpr (tuned_partition_into<Job, Options, Stages>.found())
    return tuned_partition_into<Job, Options, Stages>;
  else if constexpr (partition_fits<Job, least_partition_into<Job, Stages>>())
    return least_partition_into<Job, Stages>;
  else if constexpr (Stages < most_ipus<typename Job::machine, Options> &&
                     Stages < static_cast<int>(Job::graph.order.size()))
    return find_auto_partition<Job, Options, Stages + 1>();
  else
    return least_partition_into<Job, Stages>;
}

/// A pipeline of one stage is none: a model that has stages of its own gets at least two.
template <class M, auto_pipeline_options Options>
inline constexpr int fewest_stages = is_pipelined<M> && Options.min_ipus < 2 ? 2
                                     : Options.min_ipus > 1                  ? Options.min_ipus
                                                                             : 1;

template <class Job, auto_pipeline_options Options>
constexpr partition auto_partition_on() {
  static_assert(report<auto_pipeline_machine_problem<typename Job::machine>>());
  if constexpr (is_ipu<typename Job::machine>)
    return find_auto_partition<Job, Options, fewest_stages<typename Job::model, Options>>();
  else
    return {};
}

/// The partition that `auto_pipeline` makes: the positions of a model's calls in Keras's order, the cycles of the
/// slowest stage and of the slowest cut, the memory of the fullest tile. A model that may stay on one IPU, and fits,
/// has one stage. Errors: E3022 a machine that is no IPU.
template <Model M, auto Training, class Machine, auto_pipeline_options Options = auto_pipeline_options{}>
inline constexpr partition auto_partition = auto_partition_on<job_on<M, Training, Machine>, Options>();

/// The assignment that auto_pipeline makes.
template <auto Training, class Machine, auto_pipeline_options Options>
struct auto_stages {
  template <class M>
  static constexpr void assign_stages(tracing::array_view<int> of_call, diagnostic& problem) {
    if constexpr (!is_ipu<Machine>) {
      problem = auto_pipeline_machine_problem<Machine>;
    } else if constexpr (fewest_stages<M, Options> > most_ipus<Machine, Options> || Options.max_ipus < 0) {
      constexpr int least = fewest_stages<M, Options>;
      constexpr bool bounded = Options.max_ipus != 0 && Options.max_ipus < least, few = Machine::devices < least;
      problem.report(3020, "auto_pipeline is to divide model '", graph_of<M>.name(), "' among at least ", least,
                     " IPUs (min_ipus), but ",
                     bounded ? "among at most "
                     : few   ? "the machine has "
                             : "a pipeline has at most ",
                     bounded ? Options.max_ipus
                     : few   ? Machine::devices
                             : partition::capacity,
                     bounded ? " (max_ipus)"
                     : few   ? ""
                             : " stages");
    } else if constexpr (!auto_partition<M, Training, Machine, Options>.found()) {
      problem.report(3021, "auto_pipeline is to divide model '", graph_of<M>.name(), "' among at least ",
                     fewest_stages<M, Options>, " IPUs, but it does not have as many parts that can be apart");
    } else {
      for (std::size_t i = 0; i < graph_of<M>.order.size(); ++i)
        of_call[graph_of<M>.order[i]] = auto_partition<M, Training, Machine, Options>.stage_of(static_cast<int>(i));
    }
  }
};

/// True if a model fits into one IPU and may stay there.
template <class M, auto Training, class Machine, auto_pipeline_options Options>
constexpr bool stays_whole() {
  if constexpr (Model<M> && is_ipu<Machine> && Options.min_ipus < 2)
    return auto_partition<M, Training, Machine, Options>.stages == 1;
  else
    return false;
}

template <class M, auto Training, class Machine, auto_pipeline_options Options, auto Devices,
          bool = stays_whole<M, Training, Machine, Options>()>
struct auto_pipelined {
  using type =
      pipeline::pipelined_model<pipeline::model_or_stand_in<M>, auto_stages<Training, Machine, Options>{}, Devices>;
};
template <class M, auto Training, class Machine, auto_pipeline_options Options, auto Devices>
struct auto_pipelined<M, Training, Machine, Options, Devices, true> {
  using type = M;
};

inline constexpr diagnostic no_pipeline_problem{};

/// The first problem of a model that is divided into stages.
template <class M, auto Training, class Machine, auto_pipeline_options Options, auto Devices>
constexpr diagnostic const& auto_pipeline_problem() {
  if constexpr (stays_whole<M, Training, Machine, Options>())
    return no_pipeline_problem;
  else
    return pipeline_problem<M, auto_stages<Training, Machine, Options>{}, Devices>();
}

}  // namespace stagecraft::tiles

namespace stagecraft {

/// A model divided into stages for the IPUs of a machine, by what its layers cost there while it is trained (or while
/// it predicts, with a description of an inference): contiguous in Keras's order, so that the slowest stage and the
/// slowest transfer between two stages together take as few cycles as they can, among the divisions for which each
/// IPU's memory suffices. Found exactly (`find_partition`), by the compiler.
///
///     using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 4}>;
///     using staged = sc::auto_pipeline<resnet50, training, machine>;
///
/// Stages of the model itself are replaced, by at least two; calls that share weights stay together. The result is a
/// pipelined model like any other, to be printed and edited. For each number of IPUs, from the least (2, unless
/// `Options` says otherwise), the best division is tried, then the best with less memory for each stage, and then the
/// one that takes least memory, until one of them fits with all that its profile knows of.
///
/// Errors: those of `pipelined`; E3020 more IPUs at least than the machine has; E3021 fewer parts than IPUs; E3022 a
/// machine that is no IPU.
template <Model M, auto Training, class Machine, auto_pipeline_options Options = auto_pipeline_options{},
          auto Devices = device_mapping<>,
          class Verdict = typename detail::early_verdict<
              detail::auto_pipeline_problem<M, training_on<Training, Machine>, Machine, Options, Devices>()>::checked>
using auto_pipeline = typename Verdict::template model<
    typename detail::auto_pipelined<M, training_on<Training, Machine>, Machine, Options, Devices>::type>;

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
