// SPDX-License-Identifier: BSD-3-Clause
// One batch, or one weight update, on samples that the caller gives. Keras counterparts: Model.train_on_batch,
// Model.test_on_batch.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/training/data/batch_loader.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/replica_results.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::trainers {

/// E4008: at most `batch_size` samples.
inline void check_one_batch(std::ptrdiff_t count, int batch_size) {
  if (count > batch_size)
    throw_data_error("E4008", "x: expected at most %d samples, the description's batch_size, found %td", batch_size,
                     count);
}

/// The numbers of the samples of a batch: 0, 1, ...
template <int Batch>
inline constexpr auto samples_of_batch = [] {
  std::array<std::int32_t, static_cast<std::size_t>(Batch < 1 ? 1 : Batch)> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::int32_t>(i);
  return result;
}();

/// The samples that a replica takes for a micro-batch, where a training step is given its samples one batch after the
/// other: a batch for each replica, then for the next micro-batch.
template <int Batch, int Replicas, int MicroBatches>
struct samples_of_step {
  static constexpr int count = Batch * Replicas * MicroBatches;

  /// Throws data_error E4003 for another number of samples.
  static void check(std::ptrdiff_t found) {
    if (found == count) return;
    if (count == Batch) throw_data_error("E4003", "x: expected %d samples, one batch, found %td", Batch, found);
    throw_data_error("E4003",
                     "x: expected %d samples, a batch of %d for each of %d replicas and %d micro-batches, found %td",
                     count, Batch, Replicas, MicroBatches, found);
  }
  [[nodiscard]] tracing::array_view<std::int32_t const> operator()(int replica, int micro_batch) const {
    return tracing::array_view<std::int32_t const>(samples_of_batch<count>)
        .subspan(static_cast<std::size_t>((micro_batch * Replicas + replica) * Batch), static_cast<std::size_t>(Batch));
  }
};

/// Runs one batch; all replicas take it, and the first one reports.
template <run_kind Kind, class Session>
auto run_single(Session& session, batch_loader<Session> const& data) {
  constexpr int batch = Session::batch;
  check_one_batch(data.count(), batch);
  if constexpr (Session::graph.is_stateful()) check_full_batches("x", data.count(), batch, batch);
  auto const rows = array_view<std::int32_t const>(samples_of_batch<batch>).first(data.count());
  typename replica_results<Session, Kind>::results_of_one means;
  means.begin_execution(1);
  session.begin_run();
  auto const bring = [&](auto& to, int, int) { data.load(to, rows); };
  auto const take = [&](auto const& step) {
    if (step.replica() == (Session::sizes::splits ? 0 : Session::sizes::first_replica())) means.add(step);
  };
  if constexpr (Kind == run_kind::training)
    session.train(1, bring, take);
  else
    session.test(1, bring, take);
  if constexpr (Session::sizes::splits)
    means.for_each_part([](auto& part) {
      Session::sizes::processes::send(process_of_results<typename Session::sizes>(0), &part, sizeof part);
    });
  return means.values();
}

/// One weight update on a batch for each of `MicroBatches` micro-batches of each replica.
template <int MicroBatches, class Session>
auto run_update(Session& session, batch_loader<Session> const& data) {
  constexpr samples_of_step<Session::batch, Session::replicas, MicroBatches> samples;
  samples.check(data.count());
  replica_results<Session, run_kind::training> means;
  means.begin_execution(MicroBatches);
  session.begin_run();
  session.train(
      MicroBatches, [&](auto& to, int replica, int micro_batch) { data.load(to, samples(replica, micro_batch)); },
      [&](auto const& step) { means[step.replica()].add(step); });
  return means.report();
}

}  // namespace stagecraft::trainers
