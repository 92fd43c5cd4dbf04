// SPDX-License-Identifier: BSD-3-Clause
// What the traces of real runs show: devices at work at the same time on two threads, and the laws of pipelines.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session_of.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/timetable_of.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "../pipelined/made_data.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using mlp = sc::sequential<input{96}, dense{128, sc::relu}, dense{128, sc::relu}, dense{128, sc::relu}, dense{96}>;
using staged = sc::pipelined<mlp, sc::stages<0, 1, 2, 3>>;

template <sc::schedule Schedule>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 32,
                 .steps_per_execution = 16,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 16, .schedule = Schedule}};

template <sc::schedule Schedule>
constexpr auto table = sc::timetable_of<staged, training<Schedule>>;

bool is_pass(sc::engine::trace_event const& event) {
  return event.kind == sc::pass_kind::forward || event.kind == sc::pass_kind::backward;
}
template <sc::schedule Schedule>
int pass_of(sc::engine::trace_event const& event) {
  return event.kind == sc::pass_kind::forward ? table<Schedule>.forward_pass(event.stage)
                                              : table<Schedule>.backward_pass(event.stage);
}

template <sc::schedule Schedule, int Threads>
class recorded_run {
  using session = sc::engine::session_of<staged, training<Schedule>, sc::host<Threads>>;

 public:
  static constexpr int micro_batches = table<Schedule>.micro_batches();

  /// The events of one weight update.
  std::vector<sc::engine::trace_event> train() {
    record_.clear();
    pipeline_.record(&record_);
    pipeline_.train(micro_batches, data_, [](auto const&) {});
    return record_.events();
  }

 private:
  sc::trace record_;
  session pipeline_{1};
  random_runs::made_data<session> data_{0};
};

/// Nanoseconds in which two devices are in passes at the same time, and those of all passes.
std::pair<std::int64_t, std::int64_t> overlap_of(std::vector<sc::engine::trace_event> const& events) {
  std::int64_t together = 0, all = 0;
  for (auto const& a : events) {
    if (!is_pass(a)) continue;
    all += a.end_ns - a.begin_ns;
    if (a.worker != 0) continue;
    for (auto const& b : events)
      if (is_pass(b) && b.worker == 1 && a.device != b.device)
        together += std::max<std::int64_t>(0, std::min(a.end_ns, b.end_ns) - std::max(a.begin_ns, b.begin_ns));
  }
  return {together, all};
}

template <sc::schedule Schedule, int Threads>
void check_laws(std::vector<sc::engine::trace_event> const& events) {
  constexpr int passes = table<Schedule>.passes();
  std::map<std::pair<int, int>, sc::engine::trace_event> by_pass;
  std::int64_t last_end = 0;
  for (auto const& event : events) {
    CHECK(event.begin_ns <= event.end_ns);
    if (event.kind != sc::pass_kind::weight_update) last_end = std::max(last_end, event.end_ns);
    if (!is_pass(event)) continue;
    CHECK(event.device == table<Schedule>.device_of_stage(event.stage));
    CHECK(by_pass.insert({{pass_of<Schedule>(event), event.micro_batch}, event}).second);
  }
  CHECK(by_pass.size() == static_cast<std::size_t>(passes * table<Schedule>.micro_batches()));
  for (auto const& [key, event] : by_pass)
    if (auto const [pass, micro_batch] = key; pass > 0)
      CHECK(by_pass.at({pass - 1, micro_batch}).end_ns <= event.begin_ns);
  int updates = 0;
  for (auto const& event : events) {
    if (event.kind != sc::pass_kind::weight_update) continue;
    ++updates;
    CHECK(last_end <= event.begin_ns);
  }
  CHECK(updates == table<Schedule>.devices());
}

}  // namespace

TEST_CASE_TEMPLATE("each pass comes once, after the pass before it, and updates come after all", Schedule,
                   std::integral_constant<sc::schedule, sc::schedule::grouped>,
                   std::integral_constant<sc::schedule, sc::schedule::interleaved>,
                   std::integral_constant<sc::schedule, sc::schedule::sequential>) {
  recorded_run<Schedule::value, 1> one;
  recorded_run<Schedule::value, 2> two;
  recorded_run<Schedule::value, 4> four;
  for (int i = 0; i < 3; ++i) {
    check_laws<Schedule::value, 1>(one.train());
    check_laws<Schedule::value, 2>(two.train());
    check_laws<Schedule::value, 4>(four.train());
  }
}

TEST_CASE_TEMPLATE("one thread follows the slots", Schedule,
                   std::integral_constant<sc::schedule, sc::schedule::grouped>,
                   std::integral_constant<sc::schedule, sc::schedule::interleaved>,
                   std::integral_constant<sc::schedule, sc::schedule::sequential>) {
  recorded_run<Schedule::value, 1> run;
  auto const events = run.train();
  int slot = 0, device = 0;
  for (auto const& event : events) {
    if (!is_pass(event)) continue;
    int const now = table<Schedule::value>.slot(pass_of<Schedule::value>(event), event.micro_batch);
    CHECK(now >= slot);
    if (now == slot) CHECK(event.device >= device);
    slot = now;
    device = event.device;
  }
  CHECK(slot + 1 == table<Schedule::value>.slots());
  CHECK(overlap_of(events).first == 0);
}

// Other programs may leave no second core to this one for a while: it looks until it sees what it looks for.
TEST_CASE_TEMPLATE("two threads work at the same time", Schedule,
                   std::integral_constant<sc::schedule, sc::schedule::grouped>,
                   std::integral_constant<sc::schedule, sc::schedule::interleaved>) {
  recorded_run<Schedule::value, 2> run;
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  double most = 0;
  do {
    auto const [together, all] = overlap_of(run.train());
    most = std::max(most, static_cast<double>(together) / static_cast<double>(all));
  } while (most < 0.25 && std::chrono::steady_clock::now() < end);
  // Half of the passes' time if neither thread ever waits.
  CHECK(most >= 0.25);
  CHECK(most <= 0.5);
}
