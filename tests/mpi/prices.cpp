// SPDX-License-Identifier: BSD-3-Clause
// Prints the tables of prices in docs/machines.md; prices.py compares or writes them.
#include <stagecraft/applications/resnet50.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;
using sc::gradient_sums;

constexpr sc::network fast{.gigabits = 100, .latency_us = 10};
constexpr sc::network shared{.gigabits = 100, .latency_us = 10, .ranks_of_host = 8, .memory_gigabytes = 10};

using perceptron = sc::sequential<input{784}, dense{512, sc::relu}, dense{512, sc::relu}, dense{10}>;
using resnet50 = sc::applications::resnet50<>;
template <int BatchSize, class Loss>
constexpr auto training_of = sc::training{.optimizer = sc::optimizers::adam{},
                                          .loss = Loss{.from_logits = BatchSize == 128},
                                          .batch_size = BatchSize,
                                          .num_replicas = 1024};
using crossentropy = sc::losses::sparse_categorical_crossentropy;

/// A replica on each rank: the work is the same for any number of them.
using ipus = sc::cluster<sc::ipu<>, sc::ranks{1024}, fast>;
using hosts = sc::cluster<sc::host<16>, sc::ranks{.count = 1024, .gigaflops = 1000}, fast>;
constexpr auto on_ipus = sc::profile<perceptron, training_of<128, crossentropy>, ipus>;
constexpr auto on_hosts = sc::profile<resnet50, training_of<32, crossentropy>, hosts>;
static_assert(on_ipus.efficiency() < 0.1, "each sends to each: 2046 latencies");
static_assert(on_hosts.efficiency({.by = gradient_sums::halving, .overlaps = true}) > 0.99);

template <class Profile>
void print(char const* title, Profile const& profile) {
  std::printf("%s: %.3g MB of gradients, %.3g ms of work\n\n", title,
              static_cast<double>(profile.gradient_bytes()) / 1e6, 1e3 * profile.work_seconds());
  std::puts("| ranks | direct | ring | halving | hierarchical, 8 ranks a host | halving, overlapped | MB sent |");
  std::puts("|---|---|---|---|---|---|---|");
  for (int const ranks : {1, 2, 4, 8, 16, 64, 256, 1024}) {
    sc::mpi::summed_gradients const of{.ranks = ranks, .floats = profile.gradient_bytes() / 4};
    auto const cell = [&](sc::network const& between, gradient_sums by, bool overlaps) {
      auto const step =
          price_of_step(profile.work_seconds(), profile.backward_seconds(), price_of_sum(between, of, by), overlaps);
      std::printf(" %.3g ms, %.0f %% |", 1e3 * step.seconds(), 100 * step.efficiency());
    };
    std::printf("| %d |", ranks);
    for (auto const by : {gradient_sums::direct, gradient_sums::ring, gradient_sums::halving}) cell(fast, by, false);
    if (ranks < 8)
      std::printf(" |");
    else
      cell(shared, gradient_sums::hierarchical, false);
    cell(fast, gradient_sums::halving, true);
    std::printf(" %.3g |\n", static_cast<double>(price_of_sum(fast, of, gradient_sums::halving).bytes) / 1e6);
  }
}

}  // namespace

int main() {
  print("The perceptron 784-512-512-10, batch 128, Adam, on one IPU Mk2 a rank", on_ipus);
  std::puts("");
  print("ResNet-50, batch 32, Adam, on a host of 1000 gigaflops a rank", on_hosts);
}
