// SPDX-License-Identifier: BSD-3-Clause
// Two ranks of one thread over one: two replicas of a perceptron, trained by one process and by two, in turns. Prints
// the times of a training step, their ratio, how much of it the ranks wait for messages, the sum of the replicas'
// gradients alone beside MPI_Allreduce of the same bytes, and what the prices of a cluster say with the latency and the
// bandwidth that the ranks have between them.
//     mpirun -n 2 --bind-to core two_ranks
#include <stagecraft/mpi.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>
#include <xtensor/xtensor.hpp>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;
using clock_type = std::chrono::steady_clock;

using network = sc::sequential<input{784}, dense{512, sc::relu}, dense{512, sc::relu}, dense{10}>;
constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                       .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                       .batch_size = 128,
                                       .steps_per_execution = 32,
                                       .num_replicas = 2};
using machine = sc::cluster<sc::host<1>, sc::ranks{2}>;
constexpr int steps = training.steps_per_execution, rounds = 9;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Waits asleep, so that what runs meanwhile has the processors.
void meet_asleep() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

template <class Trainer>
double seconds_of_step(Trainer& model, xt::xtensor<float, 2> const& x, xt::xtensor<std::int32_t, 1> const& y) {
  auto const begin = clock_type::now();
  model.fit(x, y, {.verbose = 0, .shuffle = false});
  return seconds_since(begin) / steps;
}

/// Seconds in which both ranks send `bytes` to each other at once.
double seconds_of_exchange(int rank, int bytes, int times) {
  static std::vector<char> from(4 << 20), to(from.size());
  auto const begin = clock_type::now();
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(from.data(), bytes, MPI_BYTE, 1 - rank, 2, to.data(), bytes, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  return seconds_since(begin) / times;
}

/// Seconds of the sum over replicas that a training step waits for.
double seconds_of_sum(std::vector<float>& gradients, int times) {
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  xt::xtensor<float, 2> x = xt::zeros<float>({2 * 128 * steps, 784});
  xt::xtensor<std::int32_t, 1> y = xt::zeros<std::int32_t>({2 * 128 * steps});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 2654435761U % 1000) / 1000.0F;
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = static_cast<std::int32_t>(i * 40503U % 10);

  sc::trainer<network, training, sc::host<1>> alone;
  sc::trainer<network, training, machine> together;
  auto& group = sc::mpi::rank_group::get();
  if (group.count() != 2) {
    std::fprintf(stderr, "two_ranks: expected two ranks, found %d\n", group.count());
    return 1;
  }
  constexpr auto priced =
      sc::profile<network, training,
                  sc::cluster<sc::host<1>, sc::ranks{.count = 2, .gigaflops = 100}, sc::network{.gigabits = 10}>>;
  std::vector<double> of_one, of_two, ratios, waited, reduced, summed, latencies, gigabits, predicted;
  std::vector<float> gradients(784 * 512 + 512 * 512 + 512 * 10), sum(gradients.size());
  for (int round = 0; round < rounds; ++round) {
    meet_asleep();
    if (group.leads()) of_one.push_back(seconds_of_step(alone, x, y));
    meet_asleep();
    double const before = group.waited();
    of_two.push_back(seconds_of_step(together, x, y));
    waited.push_back((group.waited() - before) / steps);
    summed.push_back(seconds_of_sum(gradients, 8));
    auto const begin = clock_type::now();
    for (int i = 0; i < 8; ++i)
      MPI_Allreduce(gradients.data(), sum.data(), static_cast<int>(sum.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    reduced.push_back(seconds_since(begin) / 8);
    latencies.push_back(seconds_of_exchange(group.rank(), 1, 1000));
    int const bytes = static_cast<int>(priced.gradient_bytes() / 2);
    gigabits.push_back(8e-9 * bytes / (seconds_of_exchange(group.rank(), bytes, 16) - latencies.back()));
    if (!group.leads()) continue;
    ratios.push_back(of_one.back() / of_two.back());
    auto const price =
        sc::mpi::price_of_sum({.gigabits = gigabits.back(), .latency_us = 1e6 * latencies.back()},
                              {.ranks = 2, .floats = priced.gradient_bytes() / 4}, sc::gradient_sums::direct);
    predicted.push_back(sc::mpi::price_of_step(of_one.back() / 2, 0, price, false).seconds());
  }
  if (group.leads())
    std::printf(
        "one rank %.2f ms, two ranks %.2f ms a step: ratio %.2f (%.2f to %.2f); waiting %.2f ms, a share of %.2f; "
        "the sum of the gradients alone %.2f ms, MPI_Allreduce %.2f ms\n",
        1e3 * median(of_one), 1e3 * median(of_two), median(ratios), *std::min_element(ratios.begin(), ratios.end()),
        *std::max_element(ratios.begin(), ratios.end()), 1e3 * median(waited), median(waited) / median(of_two),
        1e3 * median(summed), 1e3 * median(reduced));
  if (group.leads())
    std::printf("latency %.1f us, %.1f gigabits a second each way: predicted %.2f ms, %.2f of the measured\n",
                1e6 * median(latencies), median(gigabits), 1e3 * median(predicted), median(predicted) / median(of_two));
  return 0;
}
