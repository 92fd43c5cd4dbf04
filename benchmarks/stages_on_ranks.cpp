// SPDX-License-Identifier: BSD-3-Clause
// Two stages on two ranks of one thread, beside one process with both: prints the times of a weight update, and what
// the profile of the cluster says with the speed of the one process, the latency and the bandwidth that the ranks have.
//     mpirun -n 2 --bind-to core stages_on_ranks
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

constexpr auto hidden = dense{512, sc::relu};
using network = sc::sequential<input{512}, hidden, hidden, hidden, hidden, hidden, dense{512}>;
using staged = sc::even_pipeline<network, 2>;
constexpr int micro_batches = 16, updates = 4, rounds = 9;
constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                       .loss = sc::losses::mean_squared_error{},
                                       .batch_size = 128,
                                       .steps_per_execution = updates * micro_batches,
                                       .pipeline = {.gradient_accumulation_steps_per_replica = micro_batches}};
using machine = sc::cluster<sc::host<1>, sc::ranks{.count = 2, .gigaflops = 100}, sc::network{.gigabits = 10}>;

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
template <class Session>
double seconds_of_update(Session& session) {
  auto const begin = clock_type::now();
  session.train(
      updates * micro_batches,
      [](auto& to, int, int step) {
        std::fill_n(to.input(0), 128 * 512, 0.01F * static_cast<float>(step % 7));
        std::fill_n(to.template target<0>(), 128 * 512, 0.5F);
        std::fill_n(to.scale(0), 128, 1.0F / 128);
      },
      [](auto const&) {});
  return seconds_since(begin) / updates;
}
double seconds_of_exchange(int rank, int bytes, int times) {
  static std::vector<char> from(1 << 20), to(from.size());
  auto const begin = clock_type::now();
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(from.data(), bytes, MPI_BYTE, 1 - rank, 2, to.data(), bytes, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  return seconds_since(begin) / times;
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  sc::engine::session_of<staged, training, sc::host<1>> alone;
  sc::engine::session_of<staged, training, machine> together;
  auto& group = sc::mpi::rank_group::get();
  if (group.count() != 2) {
    std::fprintf(stderr, "stages_on_ranks: expected two ranks, found %d\n", group.count());
    return 1;
  }
  constexpr auto priced = sc::profile<staged, training, machine>;
  constexpr double operations = 6 * 6.0 * 512 * 512 * 128 * micro_batches;
  alone.begin_run();
  together.begin_run();
  std::vector<double> of_one, of_two, waited, predicted;
  for (int round = 0; round < rounds; ++round) {
    meet_asleep();
    if (group.leads()) of_one.push_back(seconds_of_update(alone));
    meet_asleep();
    double const before = group.waited();
    of_two.push_back(seconds_of_update(together));
    waited.push_back((group.waited() - before) / updates);
    double const latency = seconds_of_exchange(group.rank(), 1, 1000);
    int const bytes = 128 * 512 * 4;
    double const gigabits = 8e-9 * bytes / (seconds_of_exchange(group.rank(), bytes, 64) - latency);
    if (group.leads())
      predicted.push_back(
          priced.seconds_with(1e-9 * operations / of_one.back(), {.gigabits = gigabits, .latency_us = 1e6 * latency}));
  }
  if (group.leads())
    std::printf(
        "one process %.2f ms, two ranks %.2f ms an update: ratio %.2f, of which a rank waits %.2f ms; "
        "predicted %.2f ms, %.2f of the measured; bubble %.2f\n",
        1e3 * median(of_one), 1e3 * median(of_two), median(of_one) / median(of_two), 1e3 * median(waited),
        1e3 * median(predicted), median(predicted) / median(of_two), priced.bubble());
  return 0;
}
