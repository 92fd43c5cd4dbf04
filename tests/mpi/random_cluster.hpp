// SPDX-License-Identifier: BSD-3-Clause
// Random models, stages and options of tests/pipelined with four replicas on the ranks of MPI: losses and weights have
// the bits of a session in one process without stages.
#pragma once

#include <stagecraft/mpi.hpp>
#include <doctest/doctest.h>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "../pipelined/equality.hpp"

namespace random_runs {

/// A model, and a row of options with four replicas, none of whose weights or state are sharded.
template <class M, unsigned RowSeed>
struct on_ranks : equality<M, RowSeed> {
  using base = equality<M, RowSeed>;
  static constexpr auto options = [] {
    auto result = base::staged_options;
    result.replicated_optimizer_state_sharding = result.replicated_weight_sharding = false;
    return result;
  }();
  template <sc::pipelining_options Options>
  static constexpr auto training = [] {
    auto result = training_with<M, base::row, Options>;
    result.num_replicas = 4;
    return result;
  }();
  using plain = sc::engine::session_of<M, training<base::plain_options>, sc::host<>>;
  using staged = sc::engine::session_of<typename base::staged_model, training<options>,
                                        sc::cluster<sc::host<base::row.threads()>, sc::ranks{4}>>;

  static void run() {
    CAPTURE(RowSeed);
    plain expected(RowSeed + 1);
    staged actual(RowSeed + 1);
    expected.begin_run();
    actual.begin_run();
    int const update = base::accumulation * base::row.batch_serialization();
    for (int round = 0; round < 3; ++round) {
      auto const of_one = losses_of(expected, update, round), of_ranks = losses_of(actual, update, round);
      CHECK(of_one.size() == static_cast<std::size_t>(4 * update));
      CHECK(of_ranks.size() == static_cast<std::size_t>(staged::sizes::replicas_here() * update));
      for (auto const& [place, loss] : of_ranks) CHECK(loss == of_one.at(place));
    }
    staged::sizes::processes::share_weights(actual);  // states of normalizations are each replica's own
    auto const a = weights_of(expected), b = weights_of(actual);
    CHECK(a.size() > 10);
    CHECK(first_difference(a, b) == -1);
    for (float const weight : a)
      if (!(weight > -100 && weight < 100)) FAIL_CHECK("a weight is far out: ", weight);
  }

 private:
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
