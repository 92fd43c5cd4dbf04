// SPDX-License-Identifier: BSD-3-Clause
// What the traces of real runs show: devices at work at the same time on two threads, and the laws of pipelines.
#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/timetable_of.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "../pipelined/made_data.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using mlp = sc::sequential<input{48}, dense{64, sc::relu}, dense{64, sc::relu}, dense{64, sc::relu}, dense{48}>;
using staged = sc::pipelined<mlp, sc::stages<0, 1, 2, 3>>;

template <sc::schedule Schedule>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 16,
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

/// The devices that were in a pass while one of another thread was in a pass, too.
std::set<int> devices_at_work_together(std::vector<sc::engine::trace_event> const& events) {
  std::set<int> result;
  for (auto const& a : events)
    for (auto const& b : events)
      if (is_pass(a) && is_pass(b) && a.worker == 0 && b.worker == 1 && a.device != b.device &&
          std::max(a.begin_ns, b.begin_ns) < std::min(a.end_ns, b.end_ns))
        result.insert({a.device, b.device});
  return result;
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
  CHECK(devices_at_work_together(events).empty());
}

// Other programs may leave no second core to this one for a while: it looks until it sees what it looks for. For how
// much of the time they are is a question for benchmarks.
TEST_CASE_TEMPLATE("all devices are at work while another thread's are", Schedule,
                   std::integral_constant<sc::schedule, sc::schedule::grouped>,
                   std::integral_constant<sc::schedule, sc::schedule::interleaved>) {
  recorded_run<Schedule::value, 2> run;
  auto const end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  std::set<int> seen;
  while (seen.size() < 4 && std::chrono::steady_clock::now() < end) seen.merge(devices_at_work_together(run.train()));
  CHECK(seen == std::set<int>{0, 1, 2, 3});
}
