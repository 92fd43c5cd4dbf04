// SPDX-License-Identifier: BSD-3-Clause
// The best mix of stages and replicas for the ranks of a cluster, found by the compiler.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <stagecraft/pipeline/even_pipeline.hpp>

namespace stagecraft::mpi {

template <class M, int Stages>
struct in_even_stages {
  using type = even_pipeline<M, Stages>;
};
template <class M>
struct in_even_stages<M, 1> {
  using type = M;
};

/// A model in a number of even stages, with as many replicas as remain for the ranks, and the same samples in each
/// weight update.
template <class M, auto Training, class Machine, int Stages>
struct mix_of {
  using model = typename in_even_stages<M, Stages>::type;
  static constexpr int stages = Stages;
  static constexpr int replicas = Machine::processes.count / Stages;
  static constexpr auto training = [] {
    auto result = Training;
    auto& steps = result.pipeline.gradient_accumulation_steps_per_replica;
    steps = jobs::job_on<M, Training, Machine>::options.accumulation_steps() * Stages;
    result.gradient_accumulation = {};
    result.num_replicas = replicas;
    if (result.steps_per_execution % steps != 0) result.steps_per_execution = steps;
    return result;
  }();
  using job = jobs::job_on<model, training, Machine>;
  using profile = typename tiles::profile_on<Machine>::template type<job>;
};

/// The fastest mix of `Best` and those with at least `Stages` stages, by the seconds of a step.
template <class M, auto Training, class Machine, class Best, int Stages>
constexpr auto find_best_mix() {
  constexpr int ranks = Machine::processes.count;
  if constexpr (Stages > ranks || Stages > static_cast<int>(graph_of<M>.order.size()) ||
                Stages > pipeline::partition::capacity) {
    return Best{};
  } else {
    if constexpr (ranks % Stages == 0 && pipeline::even_partition<M, Stages>.found()) {
      using mix = mix_of<M, Training, Machine, Stages>;
      if constexpr (!tiles::profile_on<Machine>::template problem<typename mix::job>().failed())
        if constexpr (mix::profile::seconds() < Best::profile::seconds())
          return find_best_mix<M, Training, Machine, mix, Stages + 1>();
        else
          return find_best_mix<M, Training, Machine, Best, Stages + 1>();
      else
        return find_best_mix<M, Training, Machine, Best, Stages + 1>();
    } else {
      return find_best_mix<M, Training, Machine, Best, Stages + 1>();
    }
  }
}

template <class M, auto Training, class Machine>
constexpr auto best_mix() {
  using whole = mix_of<M, Training, Machine, 1>;
  constexpr auto const& problem = tiles::profile_on<Machine>::template problem<typename whole::job>();
  static_assert(report<problem>());
  if constexpr (problem.failed())
    return whole{};
  else
    return find_best_mix<M, Training, Machine, whole, 2>();
}

}  // namespace stagecraft::mpi

namespace stagecraft {

/// The stages and replicas with which the ranks of a cluster train a model fastest, by its profile: each rank
/// has one stage of one replica. A weight update has the samples of a model without stages that has a replica on each
/// rank: with S stages there are S times fewer replicas, each with S times the micro-batches.
///
///     using best = sc::auto_placement<mlp, training, rack>;
///     sc::trainer<best::model, best::training, rack> model;
///     static_assert(best::stages == 2 && best::replicas == 8);
///
/// Stages are those of `even_pipeline`; numbers of stages that do not divide the ranks, or whose schedule does not fit
/// the micro-batches, are passed over. `best::profile` has the price. Errors: those of the profile without stages.
template <Model M, auto Training, class Machine>
using auto_placement = decltype(mpi::best_mix<M, Training, Machine>());

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
