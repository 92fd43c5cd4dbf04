// SPDX-License-Identifier: BSD-3-Clause
// Profiles are constants that follow from the costs of steps, the timetable, and the places of tensors.
#include <stagecraft/description/job_on.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/placement/tile_places.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <array>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;
using sc::execution_mode;
using sc::jobs::job;

namespace {

using network = sc::sequential<input{64}, dense{96, sc::relu}, dense{48, sc::tanh}, dense{32, sc::gelu},
                               dense{16, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 0, 1, 1>>;
using four_stages = sc::pipelined<network, sc::stages<0, 1, 2, 2, 3>>;

constexpr sc::training plain{.optimizer = sc::optimizers::adam{},
                             .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                             .batch_size = 8,
                             .steps_per_execution = 16,
                             .pipeline = {.gradient_accumulation_steps_per_replica = 16},
                             .num_replicas = 1};
constexpr auto with(auto change) {
  auto result = plain;
  change(result);
  return result;
}
constexpr auto sequential = with([](auto& t) { t.pipeline.schedule = sc::schedule::sequential; });

using one_ipu = sc::ipu_devices<sc::ipu_config{}>;
using four_ipus = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 4}>;
using eight_ipus = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 8}>;

constexpr auto const& target = four_ipus::target;
constexpr std::int64_t batch = 8;

// Without stages: forward and backward pass in turn, 16 times, and the update. By hand, step by step.
constexpr auto alone = sc::profile<network, plain, one_ipu>;
template <int Pass, int Call, bool Backward>
constexpr std::int64_t step_cycles =
    sc::tiles::step_cost_of<job<network, plain, execution_mode::training, one_ipu>, Pass, Call, Backward>.cost.cycles();
constexpr std::int64_t all_steps =
    step_cycles<0, 1, false> + step_cycles<0, 2, false> + step_cycles<0, 3, false> + step_cycles<0, 4, false> +
    step_cycles<0, 5, false> + step_cycles<1, 5, true> + step_cycles<1, 4, true> + step_cycles<1, 3, true> +
    step_cycles<1, 2, true> + step_cycles<1, 1, true> +
    sc::tiles::loss_cost_of<job<network, plain, execution_mode::training, one_ipu>, 0>.cost.cycles();
// Inputs, class numbers and scales come, the loss goes: they go on at 7 GiB per second.
constexpr std::int64_t host_bytes = (batch * 64 + batch + batch + 1) * 4;
constexpr std::int64_t kilobytes_per_second = 7LL * 1024 * 1024 * 1024 / 1000;
constexpr std::int64_t host_cycles = (host_bytes * 1'330'000 + kilobytes_per_second - 1) / kilobytes_per_second;
template <std::size_t Weight>
constexpr std::int64_t update_cycles =
    sc::tiles::update_cost_of<sc::jobs::job_on<network, plain, one_ipu>, Weight>.cost.cycles();
constexpr std::int64_t all_updates = update_cycles<0> + update_cycles<1> + update_cycles<2> + update_cycles<3> +
                                     update_cycles<4> + update_cycles<5> + update_cycles<6> + update_cycles<7> +
                                     update_cycles<8> + update_cycles<9>;
static_assert(alone.ipus() == 1 && alone.replicas() == 1 && alone.passes() == 2 && alone.micro_batches() == 16);
static_assert(alone.update_cycles() == all_updates);
static_assert(alone.host_cycles() == 16 * host_cycles);
static_assert(alone.cycles() == 16 * (all_steps + host_cycles) + all_updates);
static_assert(alone.bubble() == 0 && alone.idle_cycles() == 0 && alone.inter_ipu_cycles() == 0);
static_assert(alone.compute_cycles() + alone.exchange_cycles() + alone.sync_cycles() + alone.host_cycles() ==
              alone.cycles());
static_assert(alone.fits() && !alone.out_of_memory());
static_assert(alone.seconds() > 0 && alone.samples_per_second() > 0 && alone.utilisation() > 0 &&
              alone.utilisation() < 1);
static_assert(alone.latency_cycles() == alone.pass(0).work().cycles() + alone.pass(0).host_cycles);

// Memory by hand. Kernels lie as their products want them. The units multiply 8 input channels by 16 output channels,
// and each such group has tiles of its own: 8 of them, one for each row of the batch, so that each has 16 elements, 64
// bytes. But for 16 x 10, which is the left operand of its product: 8 input channels of one column are for 1 tile. The
// five biases are mapped linearly, one vector of two elements for the first tiles.
constexpr auto const& kernel_of_4 =
    *sc::detail::planned_weights<job<network, plain, execution_mode::training, one_ipu>>[6];
static_assert(kernel_of_4.plan.partition.field_split.width == batch && kernel_of_4.plan.in_chans_per_group == 8 &&
              kernel_of_4.plan.out_chans_per_group == 16 && kernel_of_4.tiles == 32 * 16 / 16);
constexpr auto const& kernel_of_5 =
    *sc::detail::planned_weights<job<network, plain, execution_mode::training, one_ipu>>[8];
static_assert(kernel_of_5.plan.transform.swap_operands && kernel_of_5.tiles == 16 * 10 / 8);
static_assert(sc::detail::planned_weights<job<network, plain, execution_mode::training, one_ipu>>[9] == nullptr);
constexpr std::int64_t weight_bytes = 4 * 16 * 4 + 8 * 4 + 5 * 8;
static_assert(alone.memory(0).weights == weight_bytes);
static_assert(alone.memory(0).optimizer_state == 2 * weight_bytes, "adam has two numbers per weight");
static_assert(alone.memory(0).gradient_accumulators == weight_bytes);
//   what is kept of forward passes: inputs of layers 1 to 5 (one vector on each tile), the sums before gelu
//   (and before no other: their gradients follow from the results), the gradient of the result
static_assert(alone.memory(0).activations == 5 * 8 + 8 + 8);
static_assert(alone.memory(0).batches == 3 * 8);
static_assert(alone.memory(0).peak() == alone.memory(0).always_live() + alone.memory(0).not_always_live);
static_assert(alone.free_bytes(0) == 624 * 1024 - alone.memory(0).peak());
static_assert(alone.streaming_bytes(0) == 0);

// Two stages on two IPUs, one after the other: what is handed on is 8 x 32 values and their gradients.
constexpr auto in_turn = sc::profile<two_stages, sequential, four_ipus>;
static_assert(in_turn.ipus() == 2 && in_turn.passes() == 4);
constexpr std::int64_t sent = batch * 32 * 4;
static_assert(in_turn.pass(0).sent_bytes == sent && in_turn.pass(1).sent_bytes == 0);
static_assert(in_turn.pass(2).sent_bytes == sent && in_turn.pass(3).sent_bytes == 0);
constexpr std::int64_t transfer =
    sc::inter_ipu_cycles(target, sc::tiles::ipu_transfer{0, 1, sent}) + sc::sync_cycles(target, 2);
constexpr std::int64_t round = in_turn.stage(0).cycles() + in_turn.stage(1).cycles() + in_turn.pass(0).host_cycles +
                               in_turn.pass(1).host_cycles + 2 * transfer;
static_assert(in_turn.cycles() == 16 * round + in_turn.update_cycles());
static_assert(in_turn.inter_ipu_cycles() == 2 * 16 * 2 * (transfer - sc::sync_cycles(target, 2)),
              "both IPUs take part in each transfer");
static_assert(in_turn.latency_cycles() == in_turn.stage(0).forward_cycles() + in_turn.stage(1).forward_cycles() +
                                              in_turn.pass(0).host_cycles + in_turn.pass(1).host_cycles + transfer);
static_assert(
    in_turn.update_cycles() ==
    (in_turn.update(0).cycles() > in_turn.update(1).cycles() ? in_turn.update(0) : in_turn.update(1)).cycles() +
        sc::sync_cycles(target, 2));

// A grouped pipeline of two stages: in slot t, pass p works on micro-batch t - p.
constexpr auto grouped = sc::profile<two_stages, plain, four_ipus>;
constexpr std::int64_t time_of(int pass) { return grouped.pass(pass).work().cycles() + grouped.pass(pass).host_cycles; }
constexpr std::int64_t most(std::int64_t a, std::int64_t b) { return a < b ? b : a; }
// Transfers there and back go over links of their own; they are equally long.
constexpr std::int64_t by_hand = (time_of(0) + transfer) + (most(time_of(0), time_of(1)) + transfer) +
                                 (most(time_of(0), time_of(1) + time_of(2)) + transfer) +
                                 13 * (most(time_of(0) + time_of(3), time_of(1) + time_of(2)) + transfer) +
                                 (most(time_of(3), time_of(1) + time_of(2)) + transfer) +
                                 (most(time_of(3), time_of(2)) + transfer) + time_of(3);
static_assert(grouped.cycles() == by_hand + grouped.update_cycles());
static_assert(grouped.bubble() > 0 && grouped.bubble() < in_turn.bubble());

// Options are seen in time and memory.
constexpr auto recomputing = with([](auto& t) { t.pipeline.recomputation_mode = sc::recomputation_mode::automatic; });
constexpr auto again = sc::profile<two_stages, recomputing, four_ipus>;
static_assert(again.stage(0).recompute_cycles() > 0 && again.stage(1).recompute_cycles() == 0);
static_assert(again.stage(0).recompute_cycles() <= again.stage(0).forward_cycles());
static_assert(again.stage(0).forward_cycles() == grouped.stage(0).forward_cycles());
static_assert(again.memory(0).activations < grouped.memory(0).activations);
static_assert(again.flops() > grouped.flops());

// What is recomputed takes the slot before its backward pass. Stage 0 then has a forward pass to do: grouped, where
// each slot has a forward and a backward pass anyway, the time moves by a slot; interleaved, a slot is max(f + r, b).
template <auto const& Profile>
struct times {
  static constexpr std::int64_t again = Profile.stage(0).recompute_cycles();
  static constexpr std::int64_t of(int pass) {
    return Profile.pass(pass).work().cycles() + Profile.pass(pass).host_cycles - (pass == 3 ? again : 0);
  }
  static constexpr std::int64_t f0 = of(0), f1 = of(1), b1 = of(2), b0 = of(3);
};
using grouped_times = times<again>;
static_assert(again.cycles() - again.update_cycles() ==
              grouped_times::f0 + most(grouped_times::f0, grouped_times::f1) +
                  most(grouped_times::f0 + grouped_times::again, grouped_times::f1 + grouped_times::b1) +
                  13 * most(grouped_times::f0 + grouped_times::b0 + grouped_times::again,
                            grouped_times::f1 + grouped_times::b1) +
                  most(grouped_times::b0 + grouped_times::again, grouped_times::f1 + grouped_times::b1) +
                  most(grouped_times::b0 + grouped_times::again, grouped_times::b1) + grouped_times::b0 +
                  18 * transfer);
constexpr auto recomputing_interleaved = with([](auto& t) {
  t.pipeline.schedule = sc::interleaved;
  t.pipeline.recomputation_mode = sc::recomputation_mode::automatic;
});
constexpr auto in_between = sc::profile<two_stages, recomputing_interleaved, four_ipus>;
using interleaved_times = times<in_between>;
static_assert(in_between.cycles() - in_between.update_cycles() ==
              interleaved_times::f0 + interleaved_times::f1 +
                  15 * most(interleaved_times::f0 + interleaved_times::again, interleaved_times::b1) +
                  most(interleaved_times::again, interleaved_times::b1) +
                  15 * most(interleaved_times::b0, interleaved_times::f1) + interleaved_times::b0 + 17 * transfer);
// It is no longer than two slots of which one has the forward pass, the other both.
static_assert(in_between.cycles() - in_between.update_cycles() <
              interleaved_times::f0 + interleaved_times::f1 + 15 * most(interleaved_times::f0, interleaved_times::b1) +
                  interleaved_times::b1 +
                  15 * most(interleaved_times::b0 + interleaved_times::again, interleaved_times::f1) +
                  interleaved_times::b0 + interleaved_times::again + 17 * transfer);

constexpr auto offloading = with([](auto& t) { t.pipeline.offload_activations = sc::offload::remote; });
constexpr auto offloaded = sc::profile<two_stages, offloading, four_ipus>;
static_assert(offloaded.streaming_bytes(0) > 0 && offloaded.streaming_bytes(1) == 0);
static_assert(offloaded.pass(0).stored_bytes == offloaded.pass(3).fetched_bytes);
static_assert(offloaded.streaming_bytes(0) == 4 * offloaded.pass(0).stored_bytes - offloaded.pass(0).stored_bytes,
              "of the three micro-batches that are in flight");
static_assert(offloaded.pass(0).streaming_cycles ==
              sc::tiles::streaming_memory_cycles(target, offloaded.pass(0).stored_bytes));
static_assert(offloaded.memory(0).activations < grouped.memory(0).activations);
static_assert(offloaded.cycles() > grouped.cycles());

constexpr auto remote_state = with([](auto& t) { t.pipeline.offload_weight_update_variables = sc::offload::remote; });
constexpr auto state_elsewhere = sc::profile<network, remote_state, one_ipu>;
// Biases of less than minimum_remote_tensor_size, 128 bytes, stay: those of 16 and of 10. So does nothing else.
static_assert(state_elsewhere.memory(0).optimizer_state == 2 * 2 * 8);
static_assert(state_elsewhere.streaming_bytes(0) ==
              2 * 4 * (64 * 96 + 96 + 96 * 48 + 48 + 48 * 32 + 32 + 32 * 16 + 16 * 10));
static_assert(state_elsewhere.update_cycles() > alone.update_cycles());

constexpr auto with_io_tiles = sc::ipu_config{.io_tiles = {.num_io_tiles = 32}};
using ipu_with_io_tiles = sc::ipu_devices<with_io_tiles>;
static_assert(ipu_with_io_tiles::target.tiles_per_ipu == 1440);
// Without operations on them, they do nothing (with them: overlapped_io_test.cpp).
static_assert(sc::profile<network, plain, ipu_with_io_tiles>.host_cycles() == 16 * host_cycles);

using ipu_that_waits = sc::ipu_devices<sc::ipu_config{.optimizations = {.prefetch_data_streams = false}}>;
static_assert(sc::profile<network, plain, ipu_that_waits>.host_cycles() ==
              alone.host_cycles() + 16 * 1 * target.host_latency_cycles);

// Half precision: half the bytes of values; weights and what the optimizer keeps, only with the policy float16.
constexpr auto mixed = with([](auto& t) { t.dtype_policy = sc::dtype_policies::mixed_float16; });
constexpr auto halves = with([](auto& t) { t.dtype_policy = sc::dtype_policies::float16; });
static_assert(sc::profile<two_stages, mixed, four_ipus>.pass(0).sent_bytes == sent / 2);
// Groups of halves are 16 x 8, whose 128 elements lie on 8 tiles, too. A column of 16 x 10 lies on 8 tiles, in whole
// vectors of four halves.
static_assert(sc::profile<network, mixed, one_ipu>.memory(0).weights == 4 * 16 * 4 + 4 * 4 + 5 * 8);
static_assert(sc::profile<network, halves, one_ipu>.memory(0).weights == 4 * 16 * 2 + 4 * 2 + 5 * 8);
static_assert(sc::profile<network, halves, one_ipu>.memory(0).optimizer_state == 2 * (4 * 16 * 2 + 4 * 2 + 5 * 8));
static_assert(sc::profile<network, mixed, one_ipu>.peak_flops_per_second() > alone.peak_flops_per_second());

// Replicas: the same passes, and gradients that are reduced in a ring.
constexpr auto replicated = with([](auto& t) { t.num_replicas = 4; });
constexpr auto replicas = sc::profile<two_stages, replicated, eight_ipus>;
static_assert(replicas.replicas() == 4 &&
              replicas.cycles() - replicas.update_cycles() == grouped.cycles() - grouped.update_cycles());
// Each replica's IPU sends a quarter of its gradients to the next one's, three times to add them up and three times to
// hand on the sums. IPUs of replica r are 2 r and 2 r + 1.
constexpr std::int64_t weights_of_stage[]{64 * 96 + 96 + 96 * 48 + 48 + 48 * 32 + 32, 32 * 16 + 16 + 16 * 10 + 10};
constexpr std::int64_t ring_phase = [] {
  std::array<sc::tiles::ipu_transfer, 8> all{};
  for (int ipu = 0; ipu < 8; ++ipu)
    all[static_cast<std::size_t>(ipu)] = {ipu, (ipu + 2) % 8, (weights_of_stage[ipu % 2] * 4 + 3) / 4};
  return sc::inter_ipu_cycles(target, 8, all) + sc::sync_cycles(target, 8);
}();
static_assert(replicas.update(0).reduced_bytes == 4 * weights_of_stage[0]);
static_assert(replicas.update_cycles() == most(replicas.update(0).cycles(), replicas.update(1).cycles()) +
                                              6 * ring_phase + sc::sync_cycles(target, 8));
static_assert(replicas.update(0).cost == grouped.update(0).cost && replicas.update(0).reduction.compute_sets == 3);
constexpr auto sharded = with([](auto& t) {
  t.num_replicas = 4;
  t.pipeline.replicated_optimizer_state_sharding = true;
});
constexpr auto shards = sc::profile<two_stages, sharded, eight_ipus>;
// Then the weights are gathered, of which there are as many bytes.
static_assert(shards.update_cycles() ==
              most(shards.update(0).cycles(), shards.update(1).cycles()) + 6 * ring_phase + sc::sync_cycles(target, 8));
static_assert(shards.update(0).cost.flops * 3 < replicas.update(0).cost.flops, "each updates a quarter");
static_assert(shards.streaming_bytes(0) > 0 && shards.memory(0).optimizer_state < replicas.memory(0).optimizer_state);

// Inference: no backward passes, no losses, results for the host.
constexpr auto predictions = sc::profile<two_stages, plain, four_ipus, execution_mode::inference>;
static_assert(predictions.passes() == 2 && predictions.update_cycles() == 0);
static_assert(predictions.memory(0).optimizer_state == 0 && predictions.memory(0).gradient_accumulators == 0);
static_assert(predictions.pass(1).host_bytes == batch * 10 * 4);
static_assert(predictions.cycles() < grouped.cycles());

// A machine that it does not fit into.
constexpr sc::ipu_target tiny_target = [] {
  auto result = sc::ipu_targets::ipu2;
  result.bytes_per_tile = 8 * 1024;
  return result;
}();
using tiny = sc::ipu_devices<sc::ipu_config{.ipu_model = {.version = tiny_target, .tiles_per_ipu = 4}}>;
static_assert(sc::profile<network, plain, tiny>.out_of_memory());
static_assert(sc::profile<network, plain, tiny>.free_bytes(0) < 0);
static_assert(sc::profile<network, plain, tiny>.peak_step() == "dense");
// The sum needs most: two tensors and itself; it makes nothing else for itself.
struct enlarged : sc::functional<enlarged> {
  static constexpr auto build(auto& model) {
    auto const x = up_sampling2d{{8, 8}}(model.input(4, 4, 8));
    return dense{2}(global_average_pooling2d{}(re_lu{}(add{}(x, re_lu{}(x)))));
  }
};
static_assert(sc::profile<enlarged, plain, tiny, execution_mode::inference>.peak_step() == "add");

/// All slots of a timetable one by one, as the profile's documentation says.
template <class M, auto Training, class Machine, execution_mode Mode = execution_mode::training>
std::int64_t cycles_of_slots() {
  auto const& table = sc::timetable_of<M, Training, Mode>;
  constexpr auto profile = sc::profile<M, Training, Machine, Mode>;
  std::vector<std::vector<sc::tiles::ipu_transfer>> sent_by;
  [&]<std::size_t... Pass>(std::index_sequence<Pass...>) {
    (
        [&] {
          auto& all = sent_by.emplace_back();
          for (auto const& own : sc::plan::pass_plan_of<job<M, Training, Mode>, static_cast<int>(Pass)>.transfers)
            if (own.device >= 0) all.push_back({profile.pass(Pass).device, own.device, own.floats * 4});
        }(),
        ...);
  }(std::make_index_sequence<static_cast<std::size_t>(profile.passes())>{});
  std::int64_t cycles = 0;
  for (int slot = 0; slot < table.slots(); ++slot) {
    std::int64_t longest = 0;
    std::vector<sc::tiles::ipu_transfer> transfers;
    for (int device = 0; device < table.devices(); ++device) {
      std::int64_t busy = 0;
      for (auto const& step : table.steps(slot, device)) {
        auto const& pass = profile.pass(step.pass);
        auto const ahead = table.is_backward(step.pass) && table.recomputes_ahead(step.stage)
                               ? pass.recompute.cycles() + pass.recompute_streaming_cycles
                               : 0;
        if (step.kind == sc::pass_kind::recompute) busy += ahead;
        if (step.kind != sc::pass_kind::forward && step.kind != sc::pass_kind::backward) continue;
        busy += pass.work(Mode == execution_mode::training).cycles() + pass.host_cycles + pass.streaming_cycles - ahead;
        auto const& own = sent_by[static_cast<std::size_t>(step.pass)];
        transfers.insert(transfers.end(), own.begin(), own.end());
      }
      longest = most(longest, busy);
    }
    cycles += longest;
    if (!transfers.empty())
      cycles += sc::inter_ipu_cycles(Machine::target, table.devices(), transfers) +
                sc::sync_cycles(Machine::target, table.devices());
  }
  return cycles;
}

template <int MicroBatches, sc::schedule Schedule, sc::recomputation_mode Recomputation = sc::recomputation_mode::none,
          sc::offload Activations = sc::offload::automatic>
constexpr auto long_training = with([](auto& t) {
  t.pipeline.schedule = Schedule;
  t.pipeline.recomputation_mode = Recomputation;
  t.pipeline.offload_activations = Activations;
  t.pipeline.gradient_accumulation_steps_per_replica = MicroBatches;
  t.steps_per_execution = MicroBatches;
});

template <class M, auto Training>
void check_long_training() {
  constexpr auto profile = sc::profile<M, Training, four_ipus>;
  CAPTURE(profile.micro_batches());
  CHECK(profile.cycles() - profile.update_cycles() == cycles_of_slots<M, Training, four_ipus>());
  for (int ipu = 0; ipu < profile.ipus(); ++ipu) CHECK(profile.cycles_of(ipu).total() == profile.cycles());
}
template <class M, sc::schedule Schedule, int... MicroBatches>
void check_long_trainings() {
  (check_long_training<M, long_training<MicroBatches, Schedule>>(), ...);
}

}  // namespace

TEST_CASE("a long timetable takes the time of all of its slots") {
  check_long_trainings<four_stages, sc::schedule::grouped, 8, 16, 24, 104>();
  check_long_trainings<four_stages, sc::schedule::interleaved, 4, 8, 12, 20, 100>();
  check_long_trainings<four_stages, sc::schedule::sequential, 1, 2, 3, 50>();
  check_long_trainings<network, sc::schedule::grouped, 1, 2, 3, 50>();
  constexpr auto training = long_training<40, sc::schedule::grouped>;
  CHECK(sc::profile<four_stages, training, four_ipus, execution_mode::inference>.cycles() ==
        cycles_of_slots<four_stages, training, four_ipus, execution_mode::inference>());
}

TEST_CASE("so does one that recomputes, and fetches for it what was offloaded") {
  using mode = sc::recomputation_mode;
  check_long_training<four_stages, long_training<24, sc::schedule::grouped, mode::automatic>>();
  check_long_training<four_stages, long_training<20, sc::schedule::interleaved, mode::automatic>>();
  check_long_training<two_stages, long_training<12, sc::schedule::interleaved, mode::automatic, sc::offload::remote>>();
  check_long_training<two_stages,
                      long_training<16, sc::schedule::grouped, mode::recompute_and_backpropagate_interleaved>>();
}

TEST_CASE("thousands of micro-batches are no effort") {
  constexpr auto some = long_training<100, sc::schedule::interleaved>;
  constexpr auto many = long_training<100'000, sc::schedule::interleaved>;
  constexpr auto few = sc::profile<four_stages, some, four_ipus>;
  constexpr auto lots = sc::profile<four_stages, many, four_ipus>;
  static_assert(lots.micro_batches() == 100'000);
  static_assert((lots.cycles() - few.cycles()) % 24'975 == 0, "blocks of four micro-batches, which are all alike");
  CHECK(lots.bubble() < few.bubble());
}

TEST_CASE("steps have their cycles and bytes") {
  std::int64_t cycles = 0, most_bytes = 0;
  for (int pass = 0; pass < alone.passes(); ++pass)
    for (auto const& step : alone.steps(pass)) {
      cycles += step.cost.cycles();
      most_bytes = most(most_bytes, step.bytes());
      CHECK_FALSE(alone.name_of(step).empty());
    }
  CHECK(cycles == all_steps);
  CHECK(most_bytes <= alone.memory(0).high_water_mark());
}
