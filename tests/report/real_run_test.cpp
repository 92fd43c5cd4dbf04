// SPDX-License-Identifier: BSD-3-Clause
// The trace of a real run has the passes of the timetable, in its order.
#include "../pipelined/made_data.hpp"

#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <stagecraft/report/chrome_trace.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <map>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using mlp = sc::sequential<input{12}, dense{16, sc::relu}, dense{16, sc::relu}, dense{16, sc::relu}, dense{5}>;
using staged = sc::pipelined<mlp, sc::stages<0, 1, 2, 3>, sc::device_mapping<0, 1, 2, 0>>;

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 4,
                 .steps_per_execution = 16,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8, .schedule = sc::grouped},
                 .num_replicas = 2};
constexpr auto table = sc::timetable_of<staged, training>;
constexpr int micro_batches = table.micro_batches(), updates = 2;

/// What a device does, in order.
struct done {
  sc::pass_kind kind;
  int stage, micro_batch;

  friend bool operator==(done const&, done const&) = default;
};

std::vector<done> planned(int device) {
  std::vector<done> result;
  for (int update = 0; update < updates; ++update)
    for (int slot = 0; slot <= table.slots(); ++slot)
      for (auto const& step : table.steps(slot, device))
        if (step.kind == sc::pass_kind::forward || step.kind == sc::pass_kind::backward ||
            step.kind == sc::pass_kind::weight_update)
          result.push_back(
              {step.kind, step.stage, step.micro_batch < 0 ? -1 : step.micro_batch + update * micro_batches});
  return result;
}

template <int Threads>
void check_run() {
  using session = sc::engine::session_of<staged, training, sc::host<Threads>>;
  session pipeline(1);
  sc::trace record;
  pipeline.record(&record);
  random_runs::made_data<session> const data(0);
  pipeline.train(updates * micro_batches, data, [](auto const&) {});
  pipeline.record(nullptr);
  pipeline.train(micro_batches, data, [](auto const&) {});

  CHECK(record.dropped() == 0);
  std::map<std::pair<int, int>, std::vector<sc::engine::trace_event>> rows;
  for (auto const& event : record.events()) {
    CHECK(event.begin_ns <= event.end_ns);
    CHECK(event.worker < session::threads);
    if (event.kind == sc::pass_kind::forward || event.kind == sc::pass_kind::backward ||
        event.kind == sc::pass_kind::weight_update)
      rows[{event.replica, event.device}].push_back(event);
  }
  CHECK(rows.size() == static_cast<std::size_t>(2 * table.devices()));
  for (auto const& [row, events] : rows) {
    std::vector<done> seen;
    for (std::size_t i = 0; i < events.size(); ++i) {
      seen.push_back({events[i].kind, events[i].stage, events[i].micro_batch});
      if (i > 0) CHECK(events[i - 1].end_ns <= events[i].begin_ns);
      CHECK(events[i].worker == events[0].worker);
    }
    CHECK(seen == planned(row.second));
  }
}

}  // namespace

TEST_CASE("each device does what the timetable says, in its order") {
  SUBCASE("on one thread") { check_run<1>(); }
  SUBCASE("on three threads") { check_run<3>(); }
}
