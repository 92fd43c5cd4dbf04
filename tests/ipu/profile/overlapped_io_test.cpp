// SPDX-License-Identifier: BSD-3-Clause
// Profiles of machines whose I/O tiles talk to the host while the others compute, and the latency of micro-batches.
#include <stagecraft/description/job.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <cstdint>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;
using sc::execution_mode;

namespace {

using network = sc::sequential<input{64}, dense{96, sc::relu}, dense{48, sc::tanh}, dense{32, sc::gelu},
                               dense{16, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 0, 1, 1>>;
using four_stages = sc::pipelined<network, sc::stages<0, 1, 2, 2, 3>>;

template <int MicroBatches>
constexpr sc::training training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                .batch_size = 64,
                                .steps_per_execution = MicroBatches,
                                .pipeline = {.gradient_accumulation_steps_per_replica = MicroBatches},
                                .num_replicas = 1};

constexpr sc::ipu_config reserved{.auto_select_ipus = 4, .io_tiles = {.num_io_tiles = 32}};
constexpr sc::ipu_config placed = [] {
  auto config = reserved;
  config.io_tiles.place_ops_on_io_tiles = true;
  return config;
}();
using in_turn = sc::ipu_devices<reserved>;
using overlapping = sc::ipu_devices<placed>;
constexpr auto const& target = overlapping::target;

constexpr std::int64_t most(std::int64_t a, std::int64_t b) { return a < b ? b : a; }
/// What I/O tiles give to the others, or get from them.
constexpr std::int64_t handed_on(std::int64_t bytes) {
  return sc::exchange_cycles(target, (bytes + 31) / 32) + sc::sync_cycles(target);
}

// The timetable of the machine. Nine micro-batches are no multiple of the four that are worked on at once.
constexpr auto own = sc::profile<two_stages, training<9>, overlapping>;
static_assert(own.timetable().overlaps_io() && own.timetable().slots() == 9 + 4);
static_assert(!sc::profile<two_stages, training<8>, in_turn>.timetable().overlaps_io());
static_assert(sc::timetable_of<two_stages, sc::training_on<training<9>, overlapping>>.infeed_slot(3) == 3);

// Slot by slot, by hand: host transfers are hidden where they are shorter than the passes beside them.
constexpr auto const& first = own.pass(0);
constexpr auto const& second = own.pass(1);
static_assert(second.infeed_cycles > 0 && second.host_cycles > second.infeed_cycles, "targets come, the loss goes");
constexpr std::int64_t f0 = first.work().cycles() + handed_on(first.host_bytes);
constexpr std::int64_t f1 = second.work().cycles() + handed_on(second.host_bytes);
constexpr std::int64_t b1 = own.pass(2).work().cycles(), b0 = own.pass(3).work().cycles();
static_assert(first.host_cycles < f0 && second.host_cycles < f1);
constexpr std::int64_t transfer =
    sc::inter_ipu_cycles(target, sc::tiles::ipu_transfer{0, 1, first.sent_bytes}) + sc::sync_cycles(target, 2);
//   slot 0: the first micro-batch comes, and nobody has anything to do
constexpr std::int64_t by_hand = first.host_cycles + (f0 + transfer) + (most(f0, f1) + transfer) +
                                 (most(f0, f1 + b1) + transfer) + 6 * (most(f0 + b0, f1 + b1) + transfer) +
                                 (most(b0, f1 + b1) + transfer) + (most(b0, b1) + transfer) + b0;
static_assert(own.cycles() - own.update_cycles() == by_hand);
static_assert(own.host_cycles() == first.host_cycles + second.infeed_cycles, "in slot 0, and the targets in slot 1");
static_assert(own.cycles_of(0).total() == own.cycles() && own.cycles_of(1).total() == own.cycles());
// Without, the host's transfers are a part of each slot, and the I/O tiles do nothing.
constexpr auto without = sc::profile<two_stages, training<8>, in_turn>;
static_assert(without.host_cycles() == 8 * (without.pass(0).host_cycles + without.pass(1).host_cycles));
static_assert(without.latency_cycles() > 0 && own.cycles() / 9 < without.cycles() / 8);

// Memory: what comes and goes lies on the I/O tiles once, and data may take a part of these.
static_assert(own.io_bytes(0) == 64 * 64 * 4 && own.io_bytes(1) == second.host_bytes && without.io_bytes(0) == 0);
template <int PerMille>
constexpr sc::ipu_config narrow = [] {
  auto config = placed;
  config.io_tiles.num_io_tiles = 1;
  config.io_tiles.available_memory_proportion = PerMille / 1000.0F;
  return config;
}();
static_assert(16384 > 638'976 * 0.025 && 16384 < 638'976 * 0.026, "what IPU 0 has of its only I/O tile");
static_assert(sc::profile<two_stages, training<9>, sc::ipu_devices<narrow<25>>>.out_of_memory());
static_assert(!sc::profile<two_stages, training<9>, sc::ipu_devices<narrow<26>>>.out_of_memory());

// A transfer that is longer than what is computed beside it is seen, as far as it is longer.
constexpr sc::ipu_target slow_target = [] {
  auto result = sc::ipu_targets::ipu2;
  result.host_bytes_per_second /= 16;
  return result;
}();
constexpr sc::ipu_config slow_config{.ipu_model = {.version = slow_target},
                                     .io_tiles = {.num_io_tiles = 32, .place_ops_on_io_tiles = true}};
using slow = sc::ipu_devices<slow_config>;
constexpr sc::inference predicting{.batch_size = 64, .steps_per_execution = 100};
constexpr auto waits = sc::profile<network, predicting, slow>;
constexpr auto const& only = waits.pass(0);
static_assert(only.infeed_cycles > only.work(false).cycles() + handed_on(only.host_bytes));
//   in each slot one comes, the one before is computed, the one before that leaves; the first and the last slot have
//   one transfer, those beside them none for what leaves, or comes
static_assert(waits.timetable().slots() == 102);
static_assert(waits.cycles() ==
              100 * only.host_cycles + most(0, only.work(false).cycles() + handed_on(only.host_bytes) -
                                                   (only.host_cycles - only.infeed_cycles)));
//   by hand: three slots, in which one comes and one leaves
static_assert(waits.latency_cycles() == 3 * only.host_cycles);
//   with one step per execution, there is nothing to overlap
constexpr sc::inference single{.batch_size = 64};
static_assert(!sc::profile<network, single, slow>.timetable().overlaps_io());
static_assert(sc::profile<network, single, slow>.cycles() == only.work(false).cycles() + only.host_cycles);

// Latency. In a pipeline that is full, a slot takes as long as the slowest stage, whichever it is; a long timetable
// says the same as one of which all slots are looked at.
template <int Steps>
constexpr sc::inference executing{.batch_size = 64, .steps_per_execution = Steps};
constexpr auto full = sc::profile<four_stages, executing<16>, in_turn>;
constexpr std::int64_t stage_cycles(int stage) {
  return full.pass(stage).work(false).cycles() + full.pass(stage).host_cycles;
}
constexpr std::int64_t slowest = most(most(stage_cycles(0), stage_cycles(1)), most(stage_cycles(2), stage_cycles(3)));
static_assert(slowest == stage_cycles(0), "what comes after it has a part in the latency");
constexpr std::int64_t slot_of_four =
    sc::tiles::slot_time_of<
        sc::jobs::job<four_stages, sc::training_on<executing<16>, in_turn>, execution_mode::inference, in_turn>>(3)
        .cycles();
static_assert(slot_of_four > slowest && full.latency_cycles() == 4 * slot_of_four);
static_assert(sc::profile<four_stages, executing<4>, in_turn>.latency_cycles() == full.latency_cycles(),
              "the first of four micro-batches has the others beside it");

/// The longest latency of a micro-batch, from all slots of the whole timetable.
template <class M, auto Training, execution_mode Mode, class Machine>
std::int64_t longest_latency() {
  constexpr auto profile = sc::profile<M, Training, Machine, Mode>;
  auto const& table = profile.timetable();
  constexpr auto const& shortened =
      sc::detail::short_timetable_of<sc::jobs::job<M, sc::training_on<Training, Machine>, Mode>>;
  auto const cycles_of = [&](int slot) {
    int place = slot;
    if (shortened.left_out > 0 && slot >= shortened.first_slot + shortened.period) {
      auto const left_out = static_cast<int>(shortened.left_out) * shortened.period;
      place = slot < shortened.first_slot + shortened.period + left_out
                  ? shortened.first_slot + (slot - shortened.first_slot) % shortened.period
                  : slot - left_out;
    }
    return sc::tiles::slot_time_of<sc::jobs::job<M, sc::training_on<Training, Machine>, Mode, Machine>>(place).cycles();
  };
  std::int64_t longest = 0, all = 0;
  for (int slot = 0; slot < table.slots(); ++slot) all += cycles_of(slot);
  CHECK(all == profile.cycles() - profile.update_cycles());
  for (int m = 0; m < table.micro_batches(); ++m) {
    std::int64_t latency = 0;
    for (int slot = table.infeed_slot(m); slot <= table.outfeed_slot(m); ++slot) latency += cycles_of(slot);
    longest = most(longest, latency);
  }
  return longest;
}

template <class M, class Machine, sc::schedule Schedule, int... MicroBatches>
void check_latency() {
  static constexpr auto with = []<int N>(std::integral_constant<int, N>) {
    auto result = training<N>;
    result.pipeline.schedule = Schedule;
    return result;
  };
  (
      [&] {
        constexpr auto own_training = with(std::integral_constant<int, MicroBatches>());
        CAPTURE(MicroBatches);
        CHECK(sc::profile<M, own_training, Machine>.latency_cycles() ==
              longest_latency<M, own_training, execution_mode::training, Machine>());
        CHECK(sc::profile<M, own_training, Machine, execution_mode::inference>.latency_cycles() ==
              longest_latency<M, own_training, execution_mode::inference, Machine>());
      }(),
      ...);
}

}  // namespace

TEST_CASE("latency and time of long timetables are those of all their slots") {
  check_latency<four_stages, in_turn, sc::grouped, 8, 16, 64>();
  check_latency<four_stages, in_turn, sc::interleaved, 4, 12, 64>();
  check_latency<four_stages, in_turn, sc::schedule::sequential, 4>();
  check_latency<four_stages, overlapping, sc::grouped, 10, 11, 13, 16, 70>();
  check_latency<network, overlapping, sc::grouped, 1, 2, 3, 9>();
}
