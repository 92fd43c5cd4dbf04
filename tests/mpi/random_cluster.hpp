// SPDX-License-Identifier: BSD-3-Clause
// Random models, stages and options of tests/pipelined on the ranks of MPI: losses and weights have the bits of a
// session in one process without stages.
#pragma once

#include <stagecraft/mpi.hpp>
#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "../pipelined/equality.hpp"

namespace random_runs {

/// A model, and a row of options, without sharded weights or state. Four replicas of a model on one device; two or
/// three of one on several devices, each of which may be in a rank of its own.
template <class M, unsigned RowSeed>
struct on_ranks : equality<M, RowSeed> {
  using base = equality<M, RowSeed>;
  static constexpr int devices = [] {
    auto const drawn = with_random_stages<M, base::row.stages(), RowSeed, base::row.devices()>::drawn.devices;
    return 1 + *std::max_element(drawn.begin(), drawn.end());
  }();
  static constexpr int replicas = devices == 1 ? 4 : 2 + RowSeed % 2;
  static constexpr auto options = [] {
    auto result = base::staged_options;
    result.replicated_optimizer_state_sharding = result.replicated_weight_sharding = false;
    return result;
  }();
  template <sc::pipelining_options Options>
  static constexpr auto training = [] {
    auto result = training_with<M, base::row, Options>;
    result.num_replicas = replicas;
    return result;
  }();
  // A half of those in stages lie by stage.
  static constexpr sc::ranks processes{.count = replicas * devices,
                                       .placement = devices > 1 && RowSeed / 2 % 2 == 1
                                                        ? sc::stage_placement::by_stage
                                                        : sc::stage_placement::by_replica};
  using plain = sc::engine::session_of<M, training<base::plain_options>, sc::host<>>;
  using staged = sc::engine::session_of<typename base::staged_model, training<options>,
                                        sc::cluster<sc::host<base::row.threads()>, processes>>;

  static void run() {
    CAPTURE(RowSeed);
    if (!staged::sizes::splits && replicas % sc::mpi::rank_group::get().count() != 0) return;  // E4169
    plain expected(RowSeed + 1);
    staged actual(RowSeed + 1);
    expected.begin_run();
    actual.begin_run();
    int const update = base::accumulation * base::row.batch_serialization();
    for (int round = 0; round < 3; ++round) {
      auto const of_one = losses_of(expected, update, round), of_ranks = losses_of(actual, update, round);
      CHECK(of_one.size() == static_cast<std::size_t>(replicas * update));
      CHECK(of_ranks.size() == static_cast<std::size_t>(results_here() * update));
      for (auto const& [place, loss] : of_ranks) CHECK(loss == of_one.at(place));
    }
    if constexpr (staged::sizes::splits)
      staged::sizes::processes::collect(actual), staged::sizes::processes::share_state(actual, false);
    else
      staged::sizes::processes::share_weights(actual);  // states of normalizations are each replica's own
    auto const a = weights_of(expected), b = weights_of(actual);
    CHECK(a.size() > 10);
    CHECK(first_difference(a, b) == -1);
    for (float const weight : a)
      if (!(weight > -100 && weight < 100)) FAIL_CHECK("a weight is far out: ", weight);
  }

 private:
  /// Replicas whose losses this rank finds.
  static int results_here() {
    using sizes = typename staged::sizes;
    int count = 0;
    for (int i = sizes::first_replica(); i < sizes::first_replica() + sizes::replicas_here(); ++i)
      count += sizes::is_here(i, sizes::device_of_losses) ? 1 : 0;
    return count;
  }
  /// The losses of this process's replicas, by replica and step.
  template <class Session>
  static auto losses_of(Session& session, int steps, int round) {
    std::map<std::pair<int, int>, float> losses;
    std::mutex mutex;
    session.train(steps, made_data<Session>(round * steps), [&](auto const& view) {
      std::scoped_lock const lock(mutex);
      losses[{view.replica(), view.step()}] = view.total_loss();
    });
    return losses;
  }
};

}  // namespace random_runs
