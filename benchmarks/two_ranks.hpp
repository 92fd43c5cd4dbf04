// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one thread over one: replicas of a network, trained by one process and by as many ranks as there are
// replicas, in turns. Prints the times of a training step, their ratio, how much of it the ranks wait for messages, the
// sum of the replicas' gradients alone beside MPI_Allreduce of the same bytes, the processor time of a rank's step, and
// what the prices of a cluster say with the latency and the bandwidth that the ranks have between them. Ranks that
// share a processor work one after the other, which the prediction knows.
#pragma once

#include <stagecraft/mpi.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>
#include <xtensor/xtensor.hpp>

namespace between_ranks {

namespace sc = stagecraft;
using clock_type = std::chrono::steady_clock;

inline double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Waits asleep, so that what runs meanwhile has the processors. Linux takes a processor from programs with a real-time
/// priority that use it for more than 0.95 s of a second: the pauses keep that from what is measured.
inline void meet_asleep() {
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Seconds in which all ranks, in pairs, send `bytes` to each other at once.
inline double seconds_of_exchange(int rank, std::size_t bytes, int times) {
  static std::vector<char> from, to;
  from.resize(std::max(bytes, from.size()));
  to.resize(from.size());
  auto const begin = clock_type::now();
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(from.data(), static_cast<int>(bytes), MPI_BYTE, rank ^ 1, 2, to.data(), static_cast<int>(bytes),
                 MPI_BYTE, rank ^ 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return seconds_since(begin) / times;
}

/// Seconds of the sum over replicas that a training step waits for.
inline double seconds_of_sum(std::vector<float>& gradients, int times) {
  static sc::mpi::gradient_sum sum;
  auto& group = sc::mpi::rank_group::get();
  auto const begin = clock_type::now();
  for (int i = 0; i < times; ++i) {
    sc::mpi::rank_group::operation const all(group);
    sum.begin(static_cast<long long>(gradients.size()));
    for (int rank = 0; rank < group.count(); ++rank) sum.add(rank, rank == group.rank() ? gradients.data() : nullptr);
    sum.finish(sc::kernels::reduce_scatter<false, sc::host<1>::architecture>, group.count());
  }
  return seconds_since(begin) / times;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
inline double least(std::vector<double> const& values) { return *std::min_element(values.begin(), values.end()); }

/// Trains `Training.num_replicas` replicas with x and y, some epochs of each in `rounds` rounds.
template <class Network, sc::training Training, class X, class Y>
int compare(X const& x, Y const& y, int rounds) {
  // At the begin and the end of fit all ranks get the weights and the optimizer's state, which is no part of a step.
  constexpr int epochs = 3, ranks = Training.num_replicas, steps = epochs * Training.steps_per_execution;
  sc::trainer<Network, Training, sc::host<1>> alone;
  sc::trainer<Network, Training, sc::cluster<sc::host<1>, sc::ranks{ranks}>> together;
  auto& group = sc::mpi::rank_group::get();
  if (group.count() != ranks) {
    std::fprintf(stderr, "expected %d ranks, found %d\n", ranks, group.count());
    return 1;
  }
  constexpr auto priced =
      sc::profile<Network, Training,
                  sc::cluster<sc::host<1>, sc::ranks{.count = ranks, .gigaflops = 100}, sc::network{.gigabits = 10}>>;
  auto const train = [&](auto& model) {
    auto const begin = clock_type::now();
    model.fit(x, y, {.epochs = epochs, .verbose = 0, .shuffle = false});
    return seconds_since(begin) / steps;
  };
  int const processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  double const share = static_cast<double>((ranks + processors - 1) / processors) / ranks;
  std::vector<double> of_one, of_all, ratios, waited, worked, reduced, summed, latencies, gigabits, predicted;
  std::vector<float> gradients(static_cast<std::size_t>(priced.gradient_bytes() / 4)), sum(gradients.size());
  train(together);  // memory of both is touched before anything counts
  if (group.leads()) train(alone);
  for (int round = 0; round < rounds; ++round) {
    meet_asleep();
    if (group.leads()) of_one.push_back(train(alone));
    meet_asleep();
    double const before = group.waited(), begun = processor_seconds();
    of_all.push_back(train(together));
    waited.push_back((group.waited() - before) / steps);
    worked.push_back((processor_seconds() - begun) / steps);
    summed.push_back(seconds_of_sum(gradients, 8));
    auto const begin = clock_type::now();
    for (int i = 0; i < 8; ++i)
      MPI_Allreduce(gradients.data(), sum.data(), static_cast<int>(sum.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    reduced.push_back(seconds_since(begin) / 8);
    latencies.push_back(seconds_of_exchange(group.rank(), 1, 1000));
    auto const bytes = static_cast<std::size_t>(priced.gradient_bytes() / ranks);
    gigabits.push_back(8e-9 * static_cast<double>(bytes) /
                       (seconds_of_exchange(group.rank(), bytes, 16) - latencies.back()));
    if (!group.leads()) continue;
    ratios.push_back(of_one.back() / of_all.back());
    auto const price =
        sc::mpi::price_of_sum({.gigabits = gigabits.back(), .latency_us = 1e6 * latencies.back()},
                              {.ranks = ranks, .floats = priced.gradient_bytes() / 4}, sc::gradient_sums::direct);
    predicted.push_back(sc::mpi::price_of_step(of_one.back() * share, 0, price, false).seconds());
  }
  if (!group.leads()) return 0;
  std::printf(
      "one rank %.2f ms, %s ranks %.2f ms a step: ratio %.2f (%.2f to %.2f), of the least times %.2f; waiting %.2f ms, "
      "a "
      "share of %.2f; processor time of a rank %.2f ms; the sum of the gradients alone %.2f ms, MPI_Allreduce %.2f "
      "ms\n",
      1e3 * median(of_one),
      ranks == 2   ? "two"
      : ranks == 4 ? "four"
                   : "many",
      1e3 * median(of_all), median(ratios), least(ratios), *std::max_element(ratios.begin(), ratios.end()),
      least(of_one) / least(of_all), 1e3 * median(waited), median(waited) / median(of_all), 1e3 * median(worked),
      1e3 * median(summed), 1e3 * median(reduced));
  std::printf(
      "latency %.1f us, %.1f gigabits a second each way: predicted %.2f ms, %.2f of the measured; of the least %.2f\n",
      1e6 * median(latencies), median(gigabits), 1e3 * median(predicted), median(predicted) / median(of_all),
      least(predicted) / least(of_all));
  return 0;
}

/// Numbers between 0 and 1, and labels below `labels`.
template <std::size_t Rank>
xt::xtensor<float, Rank> samples(std::array<std::size_t, Rank> const& shape) {
  xt::xtensor<float, Rank> x = xt::zeros<float>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 2654435761U % 1000) / 1000.0F;
  return x;
}
inline xt::xtensor<std::int32_t, 1> labels(std::size_t count) {
  xt::xtensor<std::int32_t, 1> y = xt::zeros<std::int32_t>({count});
  for (std::size_t i = 0; i < count; ++i) y.data()[i] = static_cast<std::int32_t>(i * 40503U % 10);
  return y;
}
inline int rounds_of(int count, char** arguments) { return count > 1 ? std::max(1, std::atoi(arguments[1])) : 9; }

}  // namespace between_ranks
