// SPDX-License-Identifier: BSD-3-Clause
// Profiles made by hand, or by arithmetic, to test reports with.
#pragma once

#include <stagecraft/report/profile_data.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace profile_example {

namespace sc = stagecraft;

/// Two layers and a loss on two IPUs of two tiles, with numbers that are easy to find again.
inline sc::profile_data small() {
  sc::profile_data data{
      .model = "two_stages",
      .machine = {"ipu2", 2, 2, 2, 0, 1024, 1'000'000'000},
      .device_of_stage = {0, 1},
      .batch_size = 8,
      .micro_batches = 4,
      .totals = {12'345, 2'000, 12.345e-6, 5.184e6, 2e-6, 0.25, 0.125, 6'400, 1.0369e9, 0.0375},
  };
  data.ipus.resize(2);
  for (int ipu = 0; ipu < 2; ++ipu) {
    auto& own = data.ipus[static_cast<std::size_t>(ipu)];
    own.ipu = ipu;
    own.tiles.resize(2);
    own.tiles[0].bytes = {100, 20, 30, 40, 8, 64, 16, 32, 50 + ipu};
    own.tiles[1].bytes = {96, 16, 24, 40, 0, 64, 16, 32, 50};
    own.steps = {{"dense", sc::pass_kind::forward, ipu, 310, 20, 100},
                 {"dense", sc::pass_kind::backward, ipu, 310, 50 + ipu, 300},
                 {"dense/kernel", sc::pass_kind::weight_update, -1, 310, 0, 50}};
    own.cycles_of = {600, 200, 50, 30, 20, 0, 100};
  }
  data.layers = {{"dense", "Dense", 0, 0, {100, 20, 10}, {}, {200, 40, 20}, {50, 0, 0}, 392, 50, 128, 3'200, 0.05},
                 {"dense_1", "Dense", 1, 1, {90, 20, 10}, {}, {180, 40, 20}, {40, 0, 0}, 392, 51, 128, 3'200, 0.04}};
  data.time_line = {{{0, sc::cycle_kind::compute, sc::pass_kind::forward, 0, 0, 0, 0, 100},
                     {0, sc::cycle_kind::exchange, sc::pass_kind::forward, 0, 0, 0, 100, 130},
                     {0, sc::cycle_kind::inter_ipu, sc::pass_kind::send, 0, 0, -1, 130, 150},
                     {1, sc::cycle_kind::compute, sc::pass_kind::forward, 1, 0, 1, 150, 250},
                     {1, sc::cycle_kind::compute, sc::pass_kind::backward, 1, 0, 1, 250, 400},
                     {0, sc::cycle_kind::compute, sc::pass_kind::weight_update, -1, -1, -1, 400, 450}},
                    {{0, 150}, {150, 400}},
                    450,
                    {},
                    0};
  return data;
}

/// As large as a real model's on real machines: `layers` layers in `stages` stages, each on an IPU of its own.
inline sc::profile_data large(int stages, int layers, int micro_batches, sc::schedule order = sc::schedule::grouped,
                              bool recomputes = false, std::int64_t bytes_per_tile = 624 * 1024) {
  sc::profile_data data{
      .model = "resnet50_on_" + std::to_string(stages) + "_ipus",
      .machine = {"ipu2", 1, stages, 1472, 0, bytes_per_tile, 1'330'000'000},
      .dtype_policy = "mixed_float16",
      .schedule = order,
      .device_of_stage = {},
      .batch_size = 4,
      .micro_batches = micro_batches,
      .recomputation_mode = recomputes ? sc::recomputation_mode::automatic : sc::recomputation_mode::none};
  for (int stage = 0; stage < stages; ++stage) data.device_of_stage.push_back(stage);
  std::uint64_t state = 42;
  auto const random = [&](int most) {  // the same numbers everywhere
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(most));
  };
  static constexpr char const* classes[]{"Conv2D", "BatchNormalization", "ReLU", "Add"};
  for (int i = 0; i < layers; ++i) {
    auto const scale = i % 4 == 0 ? 6 : 1;
    auto const forward = (8'000 + random(9'000)) * scale;
    data.layers.push_back({.name = "conv" + std::to_string(i / 16 + 1) + "_block" + std::to_string(i / 4 % 4 + 1) +
                                   "_" + std::to_string(i % 4) + (i % 4 == 0 ? "_conv" : "_other"),
                           .class_name = classes[i % 4],
                           .stage = i * stages / layers,
                           .ipu = i * stages / layers,
                           .forward = {forward, forward / 5, 900},
                           .recompute = {},
                           .backward = {2 * forward, forward / 3, 2'100},
                           .update = {i % 4 == 0 ? forward / 20 : 0, 0, 126},
                           .weight_bytes = i % 4 == 0   ? 40'000 * (1 + i / 8)
                                           : i % 4 == 1 ? 1'024
                                                        : 0,
                           .temporary_bytes = 4'000 + random(60'000),
                           .bytes_exchanged = forward / 2,
                           .flops = i % 4 == 0 ? 200'000'000 + random(200'000'000) : 800'000,
                           .utilisation = i % 4 == 0 ? 0.2 + 0.001 * static_cast<double>(random(400)) : 0.001});
  }
  auto const table = data.timetable();
  for (int ipu = 0; ipu < stages; ++ipu) {
    sc::profile_ipu own{.ipu = ipu, .cycles_of = std::vector<std::int64_t>(sc::cycle_kind_count, 0)};
    std::int64_t weights = 0;
    for (auto const& layer : data.layers) weights += layer.ipu == ipu ? layer.weight_bytes : 0;
    weights /= 1472;
    std::int64_t const always = 4 * weights + 20'000 * table.activations_alive(ipu) + 32'000;
    std::int64_t most = 0;
    for (auto const pass : {sc::pass_kind::forward, sc::pass_kind::backward, sc::pass_kind::weight_update})
      for (int i = 0; i < layers; ++i) {
        auto const& layer = data.layers[static_cast<std::size_t>(pass == sc::pass_kind::backward ? layers - 1 - i : i)];
        if (layer.ipu != ipu || (pass == sc::pass_kind::weight_update && layer.weight_bytes == 0)) continue;
        auto const extra = pass == sc::pass_kind::weight_update ? 2'000
                           : pass == sc::pass_kind::forward     ? layer.temporary_bytes / 2 + 12'000
                                                                : layer.temporary_bytes + 30'000;
        own.steps.push_back({layer.name, pass, pass == sc::pass_kind::weight_update ? -1 : ipu, always, extra, 1'000});
        most = std::max(most, extra);
      }
    for (int tile = 0; tile < 1472; ++tile) {
      auto const few = tile >= 1'200 ? 1 : 0;
      own.tiles.push_back(
          {{weights - 8 * few, weights, 2 * weights, 20'000 * table.activations_alive(ipu) - 2'000 * few,
            ipu == 0    ? 4'096
            : tile < 40 ? 4'096
                        : 0,
            18'000, 6'000, 8'000 - 500 * few, most * (tile < 736 ? 4 : 3) / 4}});
    }
    data.ipus.push_back(own);
  }
  // Slot by slot, as long as the slowest IPU takes.
  std::int64_t now = 0;
  for (int slot = 0; slot < table.slots(); ++slot) {
    std::int64_t end = now;
    for (int ipu = 0; ipu < stages; ++ipu) {
      auto at = now;
      auto const add = [&](sc::cycle_kind kind, sc::pass_kind pass, int stage, int micro_batch, int layer,
                           std::int64_t cycles) {
        if (cycles == 0) return;
        data.time_line.events.push_back({ipu, kind, pass, stage, micro_batch, layer, at, at + cycles});
        data.ipus[static_cast<std::size_t>(ipu)].cycles_of[static_cast<std::size_t>(kind)] += cycles;
        at += cycles;
      };
      for (auto const& step : table.steps(slot, ipu)) {
        if (step.kind == sc::pass_kind::infeed)
          add(sc::cycle_kind::host, step.kind, step.stage, step.micro_batch, -1, 20'000);
        if (step.kind == sc::pass_kind::send)
          add(sc::cycle_kind::inter_ipu, step.kind, step.stage, step.micro_batch, -1, 9'000);
        if (step.kind != sc::pass_kind::forward && step.kind != sc::pass_kind::backward &&
            step.kind != sc::pass_kind::recompute)
          continue;
        for (int i = 0; i < layers; ++i) {
          int const number = step.kind == sc::pass_kind::backward ? layers - 1 - i : i;
          auto const& layer = data.layers[static_cast<std::size_t>(number)];
          if (layer.stage != step.stage) continue;
          auto const& cost = step.kind == sc::pass_kind::backward ? layer.backward : layer.forward;
          add(sc::cycle_kind::sync, step.kind, step.stage, step.micro_batch, number, cost.sync);
          add(sc::cycle_kind::exchange, step.kind, step.stage, step.micro_batch, number, cost.exchange);
          add(sc::cycle_kind::compute, step.kind, step.stage, step.micro_batch, number, cost.compute);
        }
      }
      end = std::max(end, at);
    }
    data.time_line.slots.push_back({now, end});
    now = end;
  }
  for (int ipu = 0; ipu < stages; ++ipu)
    data.time_line.events.push_back(
        {ipu, sc::cycle_kind::compute, sc::pass_kind::weight_update, -1, -1, -1, now, now + 30'000 + 4'000 * ipu});
  data.time_line.cycles = now + 30'000 + 4'000 * (stages - 1);
  for (auto& ipu : data.ipus) {
    std::int64_t sum = 0;
    for (auto const cycles : ipu.cycles_of) sum += cycles;
    ipu.cycles_of[static_cast<std::size_t>(sc::cycle_kind::idle)] = data.time_line.cycles - sum;
  }
  double const seconds = data.machine.seconds(data.time_line.cycles);
  data.totals = {data.time_line.cycles,
                 data.time_line.cycles / table.slots() * stages,
                 seconds,
                 static_cast<double>(data.effective_batch_size()) / seconds,
                 seconds / table.slots() * stages,
                 table.bubble(),
                 0.183,
                 std::int64_t{23'000'000'000} * micro_batches,
                 23e9 * micro_batches / seconds,
                 0.214};
  return data;
}

/// Names that mean something to HTML, JSON or a terminal, and bytes that are no character.
inline sc::profile_data with_odd_names() {
  auto data = small();
  data.model = "</title><script>alert(1)</script> & \"quoted\" ]]>";
  data.machine.name = "<ipu>&\x1b[31m";
  data.dtype_policy = "a<b";
  data.layers[0].name = "</td><b>\\\"\xc3\xa4\xe2\x86\x92\x01";
  data.layers[0].class_name = "Dense<4>";
  data.layers[1].name = "cut \xe2\x86";
  data.ipus[0].steps[1].layer = "</svg><i> & \x1b[2J";
  return data;
}

}  // namespace profile_example
