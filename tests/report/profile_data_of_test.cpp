// SPDX-License-Identifier: BSD-3-Clause
// Profiles as plain values say the same as the constants that they are made of.
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/report/profile_data_of.hpp>
#include <array>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using network = sc::sequential<input{64}, dense{96, sc::relu}, dense{48, sc::tanh}, dense{32}, dense{10}>;
using two_stages = sc::pipelined<network, sc::stages<0, 0, 1, 1>>;

constexpr sc::training plain{.optimizer = sc::optimizers::adam{},
                             .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                             .batch_size = 8,
                             .steps_per_execution = 40,
                             .pipeline = {.gradient_accumulation_steps_per_replica = 40},
                             .num_replicas = 1};
constexpr auto offloading = [] {
  auto result = plain;
  result.pipeline.offload_activations = sc::offload::remote;
  return result;
}();

constexpr auto interleaved = [] {
  auto result = plain;
  result.pipeline.schedule = sc::schedule::interleaved;
  return result;
}();

constexpr auto recomputing = [] {
  auto result = interleaved;
  result.pipeline.recomputation_mode = sc::recomputation_mode::automatic;
  result.pipeline.offload_activations = sc::offload::remote;
  return result;
}();

using ipus = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2}>;
using ipus_with_io_tiles = sc::ipu_devices<sc::ipu_config{
    .auto_select_ipus = 2, .io_tiles = {.num_io_tiles = 8, .place_ops_on_io_tiles = true}}>;

/// What each IPU does on the time line, with what is left out of it.
void check_time_line(sc::profile_data const& data) {
  auto const& line = data.time_line;
  CHECK(line.cycles == data.totals.cycles_per_update);
  auto const in_gap = line.left_out.end - line.left_out.begin;
  for (auto const& ipu : data.ipus) {
    std::array<std::int64_t, sc::cycle_kind_count> cycles{};
    std::int64_t now = 0;
    for (auto const& event : line.events) {
      if (event.ipu != ipu.ipu) continue;
      if (event.begin != now) CHECK(event.begin == now + in_gap);
      now = event.end;
      cycles[static_cast<std::size_t>(event.kind)] += event.end - event.begin;
    }
    CHECK(now == line.cycles);
    std::int64_t sum = 0;
    for (std::size_t kind = 0; kind < cycles.size(); ++kind) {
      sum += ipu.cycles_of[kind];
      if (in_gap == 0) CHECK(cycles[kind] == ipu.cycles_of[kind]);
    }
    CHECK(sum == line.cycles);
  }
  int const slots = static_cast<int>(line.slots.size()) + line.slots_left_out;
  CHECK(slots == data.timetable().slots());
}

}  // namespace

TEST_CASE("plain values of a profile") {
  constexpr auto profile = sc::profile<two_stages, plain, ipus>;
  auto const data = sc::profile_data_of<two_stages, plain, ipus>();
  CHECK(data.model == "sequential");
  CHECK(data.machine.name == "ipu2");
  CHECK(data.machine.tiles_per_ipu == 1472);
  CHECK(data.stages() == 2);
  CHECK(data.effective_batch_size() == 320);
  CHECK(data.fits());
  CHECK(data.time_line.slots_left_out > 0);
  check_time_line(data);
  REQUIRE(data.ipus.size() == 2);
  for (auto const& ipu : data.ipus) {
    REQUIRE(ipu.tiles.size() == 1472);
    CHECK(ipu.fullest_tile() == 0);
    CHECK(ipu.most_bytes() == profile.memory(ipu.ipu).peak());
    CHECK(ipu.steps[static_cast<std::size_t>(ipu.peak_step())].bytes() == profile.memory(ipu.ipu).peak());
  }
  // 6144 weights in the first layer lie where they are multiplied, 16 on each of 384 tiles; the second layer's 4608 on
  // 288, likewise (tests/ipu/profile/profile_test.cpp).
  CHECK(data.ipus[0].tiles[287][sc::memory_category::weights] == 2 * 64);
  CHECK(data.ipus[0].tiles[383][sc::memory_category::weights] == 64);
  CHECK(data.ipus[0].tiles[1'471][sc::memory_category::weights] == 0);
  // Four layers and a loss.
  REQUIRE(data.layers.size() == 5);
  CHECK(data.layers[0].name == "dense");
  CHECK(data.layers[0].class_name == "Dense");
  CHECK(data.layers[0].weight_bytes == 4 * (64 * 96 + 96));
  CHECK(data.layers[2].ipu == 1);
  CHECK(data.layers[4].name == "dense_3 (loss)");
  std::int64_t flops = 0, cycles = 0;
  for (auto const& layer : data.layers) {
    flops += layer.flops;
    cycles += layer.cycles();
  }
  CHECK(cycles == profile.stage(0).cycles() + profile.stage(1).cycles());
  CHECK(40 * flops < data.totals.flops);  // which has the weight update's, too
  CHECK(data.totals.samples_per_second == profile.samples_per_second());
}

TEST_CASE("time lines of streaming memory, of I/O tiles, and of inference") {
  check_time_line(sc::profile_data_of<two_stages, offloading, ipus>());
  auto const overlapped = sc::profile_data_of<two_stages, offloading, ipus_with_io_tiles>();
  CHECK(overlapped.timetable().overlaps_io());
  CHECK(overlapped.time_line.events.front().pass == sc::pass_kind::infeed);
  check_time_line(overlapped);
  auto const& tiles = overlapped.ipus[0].tiles;
  constexpr auto io_bytes = sc::profile<two_stages, offloading, ipus_with_io_tiles>.io_bytes(0);
  CHECK(tiles.size() == 1472);
  CHECK(tiles.back().total() == (io_bytes + 7) / 8);  // of eight I/O tiles
  CHECK(tiles.back().total() > 0);
  check_time_line(sc::profile_data_of<network, plain, ipus_with_io_tiles>());
  check_time_line(sc::profile_data_of<two_stages, recomputing, ipus>());
  auto const predictions = sc::profile_data_of<two_stages, plain, ipus, sc::execution_mode::inference>();
  CHECK_FALSE(predictions.trains);
  check_time_line(predictions);
  constexpr auto short_training = [] {
    auto result = plain;
    result.pipeline.gradient_accumulation_steps_per_replica = result.steps_per_execution = 4;
    return result;
  }();
  auto const all = sc::profile_data_of<two_stages, short_training, ipus>();
  CHECK(all.time_line.slots_left_out == 0);
  check_time_line(all);
}

TEST_CASE("a time line shows micro-batches as the timetable has them") {
  auto const check_labels = [](sc::profile_data const& data) {
    auto const table = data.timetable();
    auto const& line = data.time_line;
    int wrong = 0;
    for (auto const& event : line.events) {
      if (event.micro_batch < 0) continue;
      int slot = 0;
      while (line.slots[static_cast<std::size_t>(slot)].end <= event.begin) ++slot;
      if (event.begin >= line.left_out.end) slot += line.slots_left_out;
      bool found = false;
      if (table.overlaps_io())
        slot += event.pass == sc::pass_kind::infeed ? 1 : event.pass == sc::pass_kind::outfeed ? -1 : 0;
      if (event.pass == sc::pass_kind::recompute) found = table.recomputed_at(event.stage, slot) == event.micro_batch;
      for (int pass = 0; pass < table.passes() && event.pass != sc::pass_kind::recompute; ++pass)
        found = found || (table.stage_of_pass(pass) == event.stage && table.device_of_pass(pass) == event.ipu &&
                          table.micro_batch_at(pass, slot) == event.micro_batch);
      wrong += found ? 0 : 1;
    }
    CHECK(wrong == 0);
  };
  check_labels(sc::profile_data_of<two_stages, plain, ipus>());
  check_labels(sc::profile_data_of<network, plain, ipus_with_io_tiles>());
  check_labels(sc::profile_data_of<two_stages, plain, ipus_with_io_tiles>());
  check_labels(sc::profile_data_of<two_stages, plain, ipus, sc::execution_mode::inference>());
  check_labels(sc::profile_data_of<two_stages, interleaved, ipus>());
  check_labels(sc::profile_data_of<two_stages, recomputing, ipus>());
}
