// SPDX-License-Identifier: BSD-3-Clause
// No timetable lets ranks wait for each other for ever: each carries out the passes of its devices in the order of the
// slots, and waits for messages of others. All schedules of up to seven stages, one to three replicas, all numbers of
// ranks and both placements are gone through, with more waits than any model has.
#include <stagecraft/mpi/stage_prices.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <utility>
#include <vector>

namespace {

namespace sc = stagecraft;

struct work {
  int replica = 0, pass = 0, micro_batch = 0;
};

/// The passes of each rank in its order.
std::vector<std::vector<work>> work_of_ranks(sc::timetable const& table, sc::mpi::stages_on_ranks const& placed) {
  using steps = sc::pipeline::timetable_steps<sc::timetable, sc::pipeline::steps_of_slot::passes>;
  std::vector<std::vector<work>> result(static_cast<std::size_t>(placed.ranks));
  for (int slot = 0; slot < table.slots(); ++slot)
    for (int replica = 0; replica < placed.replicas; ++replica)
      for (int device = 0; device < placed.devices; ++device)
        for (auto step = steps(table, slot, device).begin(); step != steps::iterator(); ++step)
          result[static_cast<std::size_t>(placed.rank_of(replica, device))].push_back(
              {replica, step->pass, step->micro_batch});
  return result;
}

/// Passes that are never carried out, because ranks wait for each other.
int count_stuck(sc::timetable const& table, int replicas, std::vector<std::vector<work>> const& all) {
  int const passes = table.passes();
  std::vector<int> done(static_cast<std::size_t>(replicas * passes));  // micro-batches of each pass
  std::vector<std::size_t> next(all.size());
  auto const done_by = [&](int replica, int pass) -> int& {
    return done[static_cast<std::size_t>(replica * passes + pass)];
  };
  // A pass reads what all before it have written, and its own results go where the last reader is done.
  auto const is_ready = [&](work const& what) {
    for (int pass = 0; pass < what.pass; ++pass)
      if (done_by(what.replica, pass) <= what.micro_batch) return false;
    for (int reader = what.pass + 1; reader < passes; ++reader)
      if (done_by(what.replica, reader) + table.alive(what.pass, reader) <= what.micro_batch) return false;
    return true;
  };
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      for (; next[rank] < all[rank].size() && is_ready(all[rank][next[rank]]); ++next[rank], goes_on = true)
        ++done_by(all[rank][next[rank]].replica, all[rank][next[rank]].pass);
  }
  int stuck = replicas * passes * table.micro_batches();
  for (int const count : done) stuck -= count;
  return stuck;
}

/// Each stage on a device of its own; pairs on one; the last ones on the devices of the first ones, back again.
std::vector<std::vector<int>> mappings_of(int stages) {
  std::vector<std::vector<int>> result(3);
  for (int stage = 0; stage < stages; ++stage) {
    result[0].push_back(stage);
    result[1].push_back(stage / 2);
    result[2].push_back(stage < (stages + 1) / 2 ? stage : stages - 1 - stage);
  }
  return result;
}

}  // namespace

TEST_CASE("no timetable of up to seven stages lets ranks wait for ever") {
  int timetables = 0;
  for (auto const schedule : {sc::schedule::grouped, sc::schedule::interleaved, sc::schedule::sequential})
    for (int stages = 1; stages <= 7; ++stages)
      for (auto const& mapping : mappings_of(stages))
        for (bool const trains : {true, false}) {
          sc::tracing::array_view<int const> const devices(mapping.data(), mapping.size());
          int const overlap = sc::timetable(schedule, devices, 64, trains).overlap_length();
          sc::timetable const table(schedule, devices, 2 * overlap, trains);
          for (int replicas = 1; replicas <= 3; ++replicas)
            for (int ranks = 1; ranks <= replicas * table.devices(); ++ranks)
              for (auto const by : {sc::stage_placement::by_replica, sc::stage_placement::by_stage}) {
                CAPTURE(static_cast<int>(schedule));
                CAPTURE(stages);
                CAPTURE(ranks);
                ++timetables;
                auto const all = work_of_ranks(table, {replicas, table.devices(), ranks, by});
                REQUIRE(count_stuck(table, replicas, all) == 0);
              }
        }
  CHECK(timetables > 2000);
}

TEST_CASE("ranks in another order wait for ever") {
  sc::timetable const table(sc::schedule::grouped, {0, 1}, 8, true);
  auto all = work_of_ranks(table, {1, 2, 2});
  std::swap(all[0].front(), all[0].back());
  CHECK(count_stuck(table, 1, all) > 0);
}
