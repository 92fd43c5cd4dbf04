// SPDX-License-Identifier: BSD-3-Clause
// Prints the tables of prices in docs/machines.md; prices.py compares or writes them.
#include <stagecraft/applications/resnet50.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

namespace sc = stagecraft;
using namespace sc::layers;
using sc::gradient_sums;

constexpr sc::network fast{.gigabits = 100, .latency_us = 10};
constexpr sc::network shared{.gigabits = 100, .latency_us = 10, .ranks_of_host = 8, .memory_gigabytes = 10};

using perceptron = sc::sequential<input{784}, dense{512, sc::relu}, dense{512, sc::relu}, dense{10}>;
using resnet50 = sc::applications::resnet50<>;

/// Twelve blocks of attention and two dense layers over 512 places of 768 numbers.
struct transformer : sc::functional<transformer> {
  static constexpr auto build(auto& model) {
    auto x = embedding(32'000, 768)(model.input(512));
    for (int i = 0; i < 12; ++i) {
      auto const seen = layer_normalization()(x);
      x = add()(x, multi_head_attention(12, 64, {.use_causal_mask = true})(seen, seen));
      x = add()(x, dense(768)(dense(3072, sc::gelu)(layer_normalization()(x))));
    }
    return dense(32'000)(layer_normalization()(x));
  }
};
template <int BatchSize, class Loss>
constexpr auto training_of = sc::training{.optimizer = sc::optimizers::adam{},
                                          .loss = Loss{.from_logits = BatchSize != 32},
                                          .batch_size = BatchSize,
                                          .num_replicas = 1024};
using crossentropy = sc::losses::sparse_categorical_crossentropy;

/// A replica on each rank: the work is the same for any number of them.
using ipus = sc::cluster<sc::ipu<>, sc::ranks{1024}, fast>;
using hosts = sc::cluster<sc::host<16>, sc::ranks{.count = 1024, .gigaflops = 1000}, fast>;
constexpr auto on_ipus = sc::profile<perceptron, training_of<128, crossentropy>, ipus>;
constexpr auto on_hosts = sc::profile<resnet50, training_of<32, crossentropy>, hosts>;
constexpr auto of_blocks = sc::profile<transformer, training_of<8, crossentropy>, hosts>;
/// Ordinary Ethernet, and four stages, with two micro-batches for each rank in a weight update.
constexpr sc::network ethernet{.gigabits = 1, .latency_us = 50};
template <int Stages>
constexpr auto in_micro_batches = [] {
  auto result = training_of<8, crossentropy>;
  result.steps_per_execution = result.pipeline.gradient_accumulation_steps_per_replica = 2 * Stages;
  result.num_replicas = 1024 / Stages;
  return result;
}();
constexpr auto in_four = sc::profile<sc::even_pipeline<transformer, 4>, in_micro_batches<4>,
                                     sc::cluster<sc::host<16>, sc::ranks{.count = 1024, .gigaflops = 1000}, ethernet>>;
static_assert(on_ipus.efficiency() < 0.1, "each sends to each: 2046 latencies");
static_assert(on_hosts.efficiency({.by = gradient_sums::halving, .overlaps = true}) > 0.99);

std::string milliseconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, seconds < 1 ? "%.3g ms" : "%.3g s", seconds < 1 ? 1e3 * seconds : seconds);
  return text;
}

template <class Profile>
void print(char const* title, Profile const& profile) {
  std::printf("%s: %.3g MB of gradients, %s of work\n\n", title, static_cast<double>(profile.gradient_bytes()) / 1e6,
              milliseconds(profile.work_seconds()).c_str());
  std::puts("| ranks | direct | ring | halving | hierarchical, 8 ranks a host | halving, overlapped | MB sent |");
  std::puts("|---|---|---|---|---|---|---|");
  for (int const ranks : {1, 2, 4, 8, 16, 64, 256, 1024}) {
    sc::mpi::summed_gradients const of{.ranks = ranks, .floats = profile.gradient_bytes() / 4};
    auto const cell = [&](sc::network const& between, gradient_sums by, bool overlaps) {
      auto const step =
          price_of_step(profile.work_seconds(), profile.backward_seconds(), price_of_sum(between, of, by), overlaps);
      std::printf(" %s, %.0f %% |", milliseconds(step.seconds()).c_str(), 100 * step.efficiency());
    };
    std::printf("| %d |", ranks);
    for (auto const by : {gradient_sums::direct, gradient_sums::ring, gradient_sums::halving}) cell(fast, by, false);
    if (ranks < 8)
      std::printf(" |");
    else
      cell(shared, gradient_sums::hierarchical, false);
    cell(fast, gradient_sums::halving, true);
    auto const sent = price_of_sum(fast, of, gradient_sums::halving).bytes;
    std::printf(sent < 1'000'000'000 ? " %.3g |\n" : " %.0f |\n", static_cast<double>(sent) / 1e6);
  }
}

/// Ranks with a replica each, or four ranks for each replica.
void print_stages() {
  double const work = 2 * of_blocks.work_seconds();
  std::puts("| ranks | a replica on each | four stages on four ranks |\n|---|---|---|");
  for (int const ranks : {4, 16, 64, 256, 1024}) {
    auto const sum = [](int of, std::int64_t bytes) {
      return sc::mpi::price_of_sum(ethernet, {.ranks = of, .floats = bytes / 4}, gradient_sums::halving).seconds;
    };
    double const whole = work + sum(ranks, of_blocks.gradient_bytes());
    double longest = 0;
    for (int rank = 0; rank < 4; ++rank) longest = std::max(longest, sum(ranks / 4, in_four.gradient_bytes(rank)));
    double const staged = in_four.pipeline_seconds() + longest;
    std::printf("| %d | %s, %.0f %% | %s, %.0f %% |\n", ranks, milliseconds(whole).c_str(), 100 * work / whole,
                milliseconds(staged).c_str(), 100 * work / staged);
  }
}

}  // namespace

int main() {
  print("The perceptron 784-512-512-10, batch 128, Adam, on one IPU Mk2 a rank", on_ipus);
  std::puts("");
  print("ResNet-50, batch 32, Adam, on a host of 1000 gigaflops a rank", on_hosts);
  std::puts("");
  print("A transformer of 12 blocks, 512 places of 768, 32000 words, batch 8, Adam, on a host of 1000 gigaflops a rank",
        of_blocks);
  std::printf(
      "\nThe same transformer at 1 gigabit a second and 50 us, with two micro-batches for each rank in a step, by "
      "halving; the stages have a bubble of %.0f %%\n\n",
      100 * in_four.bubble());
  print_stages();
}
