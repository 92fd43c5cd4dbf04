// SPDX-License-Identifier: BSD-3-Clause
// Prices of a cluster: the formulas, profiles as constants, and the bytes that ranks really send.
#include <stagecraft/mpi.hpp>
#include <stagecraft/mpi/auto_placement.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

#include "../pipelined/equality.hpp"

namespace {

namespace sc = stagecraft;
using namespace sc::layers;
using sc::gradient_sums;
using sc::mpi::price_of_sum, sc::mpi::price_of_step;

constexpr bool is_near(double a, double b) { return a - b < 1e-9 * b && b - a < 1e-9 * b; }

// A megabyte of gradients on eight ranks; a microsecond is 125 bytes of a gigabit a second.
constexpr sc::network slow{.gigabits = 1, .latency_us = 10};
constexpr sc::network pairs{.gigabits = 1, .latency_us = 10, .ranks_of_host = 2, .memory_gigabytes = 4};
constexpr sc::mpi::summed_gradients megabyte{.ranks = 8, .floats = 256'000};
constexpr double a = 10e-6, n = 1'024'000 * 8e-9;  // seconds of a latency, and of all bytes on a link

static_assert(is_near(price_of_sum(slow, megabyte, gradient_sums::direct).seconds, 14 * a + 14.0 / 8 * n));
static_assert(is_near(price_of_sum(slow, megabyte, gradient_sums::ring).seconds, 14 * a + 14.0 / 8 * n));
static_assert(is_near(price_of_sum(slow, megabyte, gradient_sums::halving).seconds, 6 * a + 14.0 / 8 * n));
static_assert(is_near(price_of_sum(slow, megabyte, gradient_sums::hierarchical).seconds, 6 * a + 14.0 / 8 * n));
static_assert(price_of_sum(slow, megabyte, gradient_sums::ring).bytes == 1'792'000);
static_assert(price_of_sum(slow, megabyte, gradient_sums::direct).bytes == 1'792'000);
static_assert(price_of_sum(slow, {.ranks = 1, .floats = 256'000}, gradient_sums::ring).seconds == 0);
// Two ranks on each of four hosts: the link carries all bytes of a ring, those of both ranks by halving, and of a sum
// that was made in the host before.
static_assert(is_near(price_of_sum(pairs, megabyte, gradient_sums::hierarchical).seconds,
                      6 * a + 2 * 3.0 / 4 * n + 1'024'000 / 4e9));
static_assert(is_near(price_of_sum(pairs, megabyte, gradient_sums::halving).seconds,
                      6 * a + 2 * 2 * 3.0 / 4 * n + 256'000 / 4e9));
// Six ranks are no power of two, three blocks cannot be added up before.
static_assert(is_near(price_of_sum(slow, {.ranks = 6, .floats = 256'000}, gradient_sums::halving).seconds,
                      8 * a + (10.0 / 6 + 2) * n));
static_assert(sc::mpi::direct_bytes({.ranks = 4, .floats = 6400, .sums = 3}, 1) == 4 * (3 * 4800 + 3 * 1600));
// Overlap hides what is no latency, as far as the backward pass is long enough.
constexpr sc::mpi::exchange_price sum{.seconds = 3, .latency_seconds = 1};
static_assert(price_of_step(10, 5, sum, false).seconds() == 13 && price_of_step(10, 5, sum, true).seconds() == 11);
static_assert(price_of_step(10, 0.5, sum, true).exposed_seconds == 2.5);
static_assert(price_of_step(9, 5, sum, false).efficiency() == 0.75);

using mlp = sc::sequential<input{784}, dense{512, sc::relu}, dense{512, sc::relu}, dense{10}>;
template <int Replicas>
constexpr auto training_of = sc::training{.optimizer = sc::optimizers::adam{},
                                          .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                          .batch_size = 128,
                                          .num_replicas = Replicas};
constexpr sc::network fast{.gigabits = 100, .latency_us = 2};

// Hosts.
template <int Ranks>
using hosts = sc::cluster<sc::host<2>, sc::ranks{.count = Ranks, .gigaflops = 200}, fast>;
constexpr auto two = sc::profile<mlp, training_of<4>, hosts<2>>;
constexpr auto eight = sc::profile<mlp, training_of<8>, hosts<8>>;
constexpr double flops = 2.0 * (784 * 512 + 512 * 512 + 512 * 10) * 128 * 3;
static_assert(two.ranks() == 2 && two.replicas_of_rank() == 2 && eight.replicas_of_rank() == 1);
static_assert(two.work_seconds() > 2 * flops / 200e9 && two.work_seconds() < 2.01 * flops / 200e9);
static_assert(two.gradient_bytes() >= 4 * (784 * 512 + 512 * 512 + 512 * 10 + 1034));
static_assert(two.bytes_sent(0) == two.gradient_bytes() && two.seconds() > two.work_seconds());
static_assert(two.exposed_seconds() == two.exchange().seconds && two.overlapped_seconds() == 0);
static_assert(two.seconds({.overlaps = true}) < two.seconds());
static_assert(two.efficiency({.overlaps = true}) > 0.98 && two.efficiency() < 0.97);
static_assert(eight.seconds({.by = gradient_sums::halving}) < eight.seconds());
static_assert(eight.samples_per_second() > two.samples_per_second());
// Each replica has weights, gradients and two numbers of Adam.
static_assert(two.memory(0) > 2 * 4 * 4 * 668'000 && two.memory(0) < 2 * two.memory(1));

// Emulated IPUs: their own profile, and the network.
using rack = sc::cluster<sc::ipu<>, sc::ranks{16}, fast>;
constexpr auto ipus = sc::profile<mlp, training_of<16>, rack>;
static_assert(ipus.work_seconds() == sc::profile<mlp, training_of<1>, sc::ipu<>>.seconds());
static_assert(ipus.gradient_bytes() == 4 * (784 * 512 + 512 * 512 + 512 * 10 + 1034));
static_assert(ipus.seconds() < 2e-3 && ipus.rank().fits());

using small = sc::sequential<input{12}, dense{20, sc::relu}, batch_normalization{}, dense{3, sc::softmax}>;
constexpr sc::training twelve{.optimizer = sc::optimizers::adam{},
                              .loss = sc::losses::sparse_categorical_crossentropy{},
                              .batch_size = 8,
                              .steps_per_execution = 2,
                              .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2},
                              .num_replicas = 12};
template <int Ranks>
using small_cluster = sc::cluster<sc::host<1>, sc::ranks{.count = Ranks, .gigaflops = 1}, fast>;

// Two stages, each of which takes a second forward and two backward with a micro-batch, and hands on 125 bytes, a
// microsecond of the link.
constexpr auto two_stages(sc::schedule schedule, int micro_batches, std::int64_t bytes) {
  stagecraft::tracing::growing_array<sc::mpi::pass_price> passes(4);
  for (std::size_t i = 0; i < 4; ++i) passes[i].seconds = i < 2 ? 1 : 2;
  passes[0].messages.push_back({1, bytes});
  passes[2].messages.push_back({0, bytes});
  for (int i = 1; i < 4; ++i) passes[static_cast<std::size_t>(i)].waits.push_back({i - 1, 0});
  return price_of_passes({schedule, {0, 1}, micro_batches, true}, passes, {1, 2, 2}, slow, 0);
}
static_assert(is_near(two_stages(sc::schedule::sequential, 4, 0).seconds, 4 * 6 + 8 * a));
static_assert(is_near(two_stages(sc::schedule::sequential, 4, 125).seconds, 4 * 6 + 8 * (a + 1e-6)));
static_assert(two_stages(sc::grouped, 4, 0).seconds >= 4 * 3 + 3 && two_stages(sc::grouped, 4, 0).seconds < 4 * 6);
static_assert(two_stages(sc::grouped, 4, 125).work_seconds == 24 && two_stages(sc::grouped, 4, 125).most_work == 12);
static_assert(two_stages(sc::grouped, 4, 125).bytes_of_rank == 500);
// Three ranks have the devices of two replicas.
constexpr sc::mpi::stages_on_ranks placed{.replicas = 2, .devices = 4, .ranks = 3};
static_assert(placed.rank_of(0, 3) == 1 && placed.rank_of(1, 0) == 1 && placed.rank_of(1, 2) == 2);
static_assert(placed.ranks_with(0) == 2 && placed.has(1, 3) && !placed.has(0, 3) && placed.ranks_with(0, 1) == 1);

template <int Replicas, int MicroBatches = 8>
constexpr auto in_micro_batches = [] {
  auto result = training_of<Replicas>;
  result.steps_per_execution = result.pipeline.gradient_accumulation_steps_per_replica = MicroBatches;
  return result;
}();
template <sc::network Between>
using four = sc::cluster<sc::host<1>, sc::ranks{.count = 4, .gigaflops = 200}, Between>;
using halves = sc::even_pipeline<mlp, 2>;
constexpr auto staged = sc::profile<halves, in_micro_batches<2>, four<fast>>;
static_assert(staged.ranks() == 4 && staged.replicas() == 2 && staged.stages() == 2);
static_assert(staged.pipeline_seconds() > staged.work_seconds() && staged.bubble() > 0.1 && staged.bubble() < 0.5);
static_assert(staged.seconds() == staged.pipeline_seconds() + staged.exposed_seconds());
static_assert(staged.exposed_seconds({.overlaps = true}) < staged.exposed_seconds());
static_assert(staged.exchange(0).seconds < two.exchange().seconds, "a rank sums the gradients of its stages");
static_assert(is_near(staged.seconds_with(200, fast), staged.seconds()));
static_assert(staged.seconds_with(100, fast) > staged.seconds() && staged.seconds_with(200, slow) > staged.seconds());
// On IPUs, passes take the cycles of their profile, and the link of a rank is slower than those between IPUs.
constexpr auto on_ipus = sc::profile<halves, in_micro_batches<2>, sc::cluster<sc::ipu<>, sc::ranks{4}, fast>>;
constexpr auto of_pair = sc::profile<halves, in_micro_batches<1>, sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>>;
static_assert(on_ipus.pipeline_seconds() > 0.8 * of_pair.seconds() && on_ipus.bubble() < 0.5);
static_assert(on_ipus.seconds() > on_ipus.pipeline_seconds() + on_ipus.exposed_seconds(), "the update takes time");
// A slow link carries activations rather than gradients.
using on_fast = sc::auto_placement<mlp, in_micro_batches<4, 2>, four<fast>>;
using on_slow = sc::auto_placement<mlp, in_micro_batches<4, 2>, four<slow>>;
static_assert(on_fast::stages == 1 && on_fast::replicas == 4 && on_slow::stages > 1);
static_assert(on_slow::training.num_replicas * on_slow::stages == 4);
static_assert(on_slow::training.pipeline.gradient_accumulation_steps_per_replica == 2 * on_slow::stages);

using small_stages = sc::pipelined<small, sc::stages<0, 0, 1>>;
constexpr auto of_stages = [] {
  auto result = twelve;
  result.gradient_accumulation = {};
  result.pipeline.gradient_accumulation_steps_per_replica = result.steps_per_execution = 4;
  result.num_replicas = 2;
  return result;
}();

}  // namespace

TEST_CASE("an automatic placement") {
  using network = mlp;
  constexpr auto training = in_micro_batches<4, 2>;

  constexpr sc::ranks measured{.count = 4, .gigaflops = 200};
  using ethernet = sc::cluster<sc::host<1>, measured, sc::network{.gigabits = 1, .latency_us = 50}>;
  using best = sc::auto_placement<network, training, ethernet>;
  static_assert(best::stages == 2 && best::replicas == 2 && best::profile::efficiency() > 0.19);

  CHECK(best::profile::seconds() < sc::profile<network, training, ethernet>.seconds());
}

TEST_CASE("ranks send the bytes of their profile") {
  using session = sc::engine::session_of<small, twelve, small_cluster<4>>;
  session trained;
  auto& group = sc::mpi::rank_group::get();
  auto const before = group.bytes_sent();
  trained.begin_run();
  trained.train(6, random_runs::made_data<session>(0), [](auto const&) {});
  long long const sent = group.bytes_sent() - before;
  long long expected = 0;
  if (group.count() == 2) expected = sc::profile<small, twelve, small_cluster<2>>.bytes_sent(group.rank());
  if (group.count() == 4) expected = sc::profile<small, twelve, small_cluster<4>>.bytes_sent(group.rank());
  CHECK(sent == 3 * expected);
  if (group.count() > 1) CHECK(expected > 1000);
}

TEST_CASE("ranks with stages of replicas send the bytes of their profile") {
  using session = sc::engine::session_of<small_stages, of_stages, small_cluster<4>>;
  session trained;
  auto& group = sc::mpi::rank_group::get();
  auto const before = group.bytes_sent();
  trained.begin_run();
  trained.train(8, random_runs::made_data<session>(0), [](auto const&) {});
  long long const sent = group.bytes_sent() - before;
  if (group.count() == 4)
    CHECK(sent == 2 * sc::profile<small_stages, of_stages, small_cluster<4>>.bytes_sent(group.rank()));
  if (group.count() == 3)
    CHECK(sent == 2 * sc::profile<small_stages, of_stages, small_cluster<3>>.bytes_sent(group.rank()));
  CHECK((sent > 1000 || group.count() == 1));
}
