// SPDX-License-Identifier: BSD-3-Clause
// Laws of timetables for random devices, by carrying the timetables out: nothing here knows a formula.
#include <stagecraft/engine/device_cursor.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <algorithm>
#include <cstddef>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sc = stagecraft;
using sc::pass_kind;
using sc::schedule;

namespace {

int pick(std::mt19937& random, int from, int to) {
  return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
}

/// When a pass has worked on a micro-batch: slot, device, and its place among the passes of that device and slot.
struct moment {
  int slot = -1;
  int device = -1;
  int place = -1;

  [[nodiscard]] bool comes_before(moment const& other) const {
    return slot < other.slot || (slot == other.slot && device == other.device && place < other.place);
  }
};

/// A timetable carried out slot by slot.
struct record {
  std::vector<std::vector<moment>> passes;  ///< [pass][micro-batch]
  std::vector<int> in_flight;               ///< by slot: micro-batches with a pass in it, or that come or leave
  int most_in_slot = 0;
  int updates = 0;
  std::map<int, sc::timetable_step> recomputed;  ///< by device: what its next pass is for

  explicit record(sc::timetable const& table) {
    passes.assign(at(table.passes()), std::vector<moment>(at(table.micro_batches())));
    for (int slot = -2; slot <= table.slots() + 2; ++slot) {
      std::set<int> micro_batches;
      for (int device = 0; device < table.devices(); ++device) carry_out(table, slot, device, micro_batches);
      if (slot >= 0 && slot < table.slots()) in_flight.push_back(static_cast<int>(micro_batches.size()));
    }
  }

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  moment& of(int pass, int micro_batch) { return passes[at(pass)][at(micro_batch)]; }

 private:
  void carry_out(sc::timetable const& table, int slot, int device, std::set<int>& micro_batches) {
    int place = 0, before = -1;
    for (auto const& step : table.steps(slot, device)) {
      // What belongs to a backward pass is recomputed right before it, stage after stage.
      bool const within = step.kind == pass_kind::recompute && !table.recomputes_ahead(step.stage);
      int const kind = static_cast<int>(within ? pass_kind::backward : step.kind);
      CHECK(kind >= before);
      before = kind;
      if (step.kind == pass_kind::weight_update) {
        CHECK(slot == table.slots());
        ++updates;
        continue;
      }
      CHECK(table.device_of_stage(step.stage) == device);
      CHECK(table.stage_of_pass(step.pass) == step.stage);
      if (step.kind == pass_kind::recompute) {
        CHECK(table.recompute_slot(step.stage, step.micro_batch) == slot);
        CHECK(table.recomputed_at(step.stage, slot) == step.micro_batch);
        CHECK(of(step.stage, step.micro_batch).slot < slot);
        CHECK(recomputed.count(device) == 0);
        recomputed[device] = step;
        continue;
      }
      if (step.kind == pass_kind::infeed) {
        CHECK((step.pass == 0 && place == 0));
        CHECK((table.infed_at(slot) == step.micro_batch && table.infeed_slot(step.micro_batch) == slot));
        micro_batches.insert(step.micro_batch);
        continue;
      }
      if (step.kind == pass_kind::outfeed) {
        CHECK(step.pass == table.stages() - 1);
        CHECK((table.outfed_at(slot) == step.micro_batch && table.outfeed_slot(step.micro_batch) == slot));
        CHECK(of(step.pass, step.micro_batch).slot == slot - (table.overlaps_io() ? 1 : 0));
        micro_batches.insert(step.micro_batch);
        continue;
      }
      CHECK(table.micro_batch_at(step.pass, slot) == step.micro_batch);
      if (step.kind == pass_kind::send) CHECK(of(step.pass, step.micro_batch).slot == slot);
      if (step.kind != pass_kind::forward && step.kind != pass_kind::backward) continue;
      CHECK(table.is_backward(step.pass) == (step.kind == pass_kind::backward));
      // A device does nothing between a recomputation and its backward pass, so that it needs memory for one at a time.
      bool const again = table.is_backward(step.pass) && table.recomputes(step.stage);
      CHECK(recomputed.count(device) == (again ? 1 : 0));
      if (again) {
        CHECK(recomputed[device].pass == step.pass);
        CHECK(recomputed[device].micro_batch == step.micro_batch);
        recomputed.erase(device);
      }
      auto& when = of(step.pass, step.micro_batch);
      CHECK(when.slot == -1);  // never twice
      when = {slot, device, place++};
      micro_batches.insert(step.micro_batch);
    }
    most_in_slot = std::max(most_in_slot, place);
  }
};

/// The passes of a device in the order of the timetable's steps.
std::vector<sc::timetable_step> passes_of(sc::timetable const& table, int device) {
  std::vector<sc::timetable_step> passes;
  for (int slot = 0; slot < table.slots(); ++slot)
    for (auto const& step : table.steps(slot, device))
      if (step.kind == pass_kind::forward || step.kind == pass_kind::backward) passes.push_back(step);
  return passes;
}

/// Whether a ring of buffers carries what `first` writes to `last`. Devices are not synchronized within a slot, so that
/// the writing device may be the first in it.
bool ring_suffices(sc::timetable const& table, record& done, int first, int last, int depth) {
  struct access {
    moment when;
    int micro_batch;
    bool writes;
  };
  std::vector<access> accesses;
  for (int m = 0; m < table.micro_batches(); ++m) {
    accesses.push_back({done.of(first, m), m, true});
    accesses.push_back({done.of(last, m), m, false});
  }
  int const writer = table.device_of_pass(first);
  std::sort(accesses.begin(), accesses.end(), [&](access const& a, access const& b) {
    if (a.when.slot != b.when.slot) return a.when.slot < b.when.slot;
    if (a.when.device != b.when.device) return a.when.device == writer;
    if (a.when.place != b.when.place) return a.when.place < b.when.place;
    return a.writes && !b.writes;
  });
  std::vector<int> ring(record::at(depth), -1);
  for (auto const& [when, m, writes] : accesses) {
    if (writes)
      ring[record::at(m % depth)] = m;
    else if (ring[record::at(m % depth)] != m)
      return false;
  }
  return true;
}

/// Rotations of a list of devices that do not collide, found by filling a block.
std::vector<int> fill_block(std::vector<int> const& device_of_pass) {
  auto const length = device_of_pass.size();
  std::vector<std::set<int>> busy(length);
  std::vector<int> offsets;
  for (std::size_t offset = 0; offset < length; ++offset) {
    bool free = true;
    for (std::size_t pass = 0; pass < length; ++pass)
      free = free && busy[(offset + pass) % length].count(device_of_pass[pass]) == 0;
    if (!free) continue;
    for (std::size_t pass = 0; pass < length; ++pass) busy[(offset + pass) % length].insert(device_of_pass[pass]);
    offsets.push_back(static_cast<int>(offset));
  }
  return offsets;
}

struct random_table {
  std::vector<int> devices;
  schedule order = schedule::grouped;
  int micro_batches = 1;
  bool trains = false;
  int serialized = 1;
  sc::recomputation_mode recomputation = sc::recomputation_mode::none;
  bool overlaps_io = false;
  std::vector<int> beside;  ///< stages that work at the same time as the one before

  explicit random_table(std::mt19937& random) {
    order = static_cast<schedule>(pick(random, 0, 2));
    trains = pick(random, 0, 1) == 1;
    recomputation = static_cast<sc::recomputation_mode>(pick(random, 0, 3));
    devices.resize(record::at(pick(random, 1, 7)));
    int const highest = pick(random, 0, static_cast<int>(devices.size()));
    bool const own = pick(random, 0, 2) == 0;
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i] = own ? static_cast<int>(i) : pick(random, 0, highest);
    for (int stage = 2, first = 1; stage + 1 < static_cast<int>(devices.size()); ++stage) {
      bool free = pick(random, 0, 2) == 0;
      for (int other = first; other < stage; ++other)
        free = free && devices[record::at(other)] != devices[record::at(stage)];
      if (free)
        beside.push_back(stage);
      else
        first = stage;
    }
    if (order == schedule::sequential && pick(random, 0, 1) == 1) serialized = pick(random, 2, 5);
    micro_batches = pick(random, 1, 4) * make(1).overlap_length() * serialized;
    overlaps_io = order == schedule::grouped && pick(random, 0, 1) == 1;
    if (overlaps_io) micro_batches = make(1).overlap_length() + pick(random, 2, 20);
  }
  [[nodiscard]] sc::timetable make(int count) const {
    std::vector<sc::pipeline::placed_stage> placed;
    for (int const device : devices) placed.push_back({device});
    for (int const stage : beside) placed[record::at(stage)].is_beside = true;
    return {order, placed, count, trains, serialized, recomputation, overlaps_io};
  }
  [[nodiscard]] sc::timetable make() const { return make(micro_batches); }
  [[nodiscard]] std::string text() const {
    std::string result = order == schedule::grouped       ? "grouped"
                         : order == schedule::interleaved ? "interleaved"
                                                          : "one";
    result += trains ? " training, " : " inference, ";
    if (overlaps_io) result += "overlapped, ";
    result += std::to_string(micro_batches) + " micro-batches by " + std::to_string(serialized) + ", devices";
    for (int const device : devices) result += " " + std::to_string(device);
    for (int const stage : beside) result += ", " + std::to_string(stage) + " beside";
    return result;
  }
};

template <class Law>
void for_random_tables(unsigned seed, int count, Law const& law) {
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    random_table const description(random);
    auto const text = description.text();
    CAPTURE(text);
    law(description, description.make());
  }
}

TEST_CASE("Every micro-batch passes every stage once, in order") {
  for_random_tables(1, 300, [](random_table const&, sc::timetable const& table) {
    record done(table);
    for (int m = 0; m < table.micro_batches(); ++m)
      for (int pass = 0; pass < table.passes(); ++pass) {
        auto const& when = done.of(pass, m);
        CHECK(when.slot == table.slot(pass, m));
        CHECK(when.device == table.device_of_pass(pass));
        for (int before = 0; before < pass; ++before)
          CHECK((done.of(before, m).slot < when.slot) == (table.place(before) < table.place(pass)));
        // Each stage sees the micro-batches in their order, so that sums are always the same.
        if (m > 0) CHECK(done.of(pass, m - 1).slot < when.slot);
      }
  });
}

TEST_CASE("A device does one thing at a time; a grouped device one forward and one backward pass of each stage") {
  for_random_tables(2, 300, [](random_table const& of, sc::timetable const& table) {
    record const done(table);
    CHECK(done.most_in_slot == table.passes_per_slot());
    if (of.order != schedule::grouped) CHECK(done.most_in_slot == 1);
    auto const busiest = [&] {
      std::map<int, int> stages;
      int most = 0;
      for (int const device : of.devices) most = std::max(most, ++stages[device]);
      return most;
    }();
    CHECK(done.most_in_slot <= (of.trains ? 2 : 1) * busiest);
    CHECK(done.updates ==
          (of.trains ? static_cast<int>(std::set<int>(of.devices.begin(), of.devices.end()).size()) : 0));
  });
}

TEST_CASE("Engines carry out the passes of a device in the order of its steps, which rings rely on") {
  for_random_tables(10, 200, [](random_table const&, sc::timetable const& table) {
    for (int device = 0; device <= table.devices(); ++device) {
      auto const passes = passes_of(table, device);
      sc::engine::device_cursor next(table, device);
      for (std::size_t i = 0; i < passes.size(); ++i, next.advance()) {
        REQUIRE(!next.at_end());
        CHECK(next.slot() == table.slot(passes[i].pass, passes[i].micro_batch));
        CHECK((next.pass() == passes[i].pass && next.micro_batch() == passes[i].micro_batch));
        if (i == 0) continue;
        auto const& before = passes[i - 1];
        CHECK(table.finishes_before(before.pass, before.micro_batch, passes[i].pass, passes[i].micro_batch));
      }
      CHECK(next.at_end());
    }
  });
}

TEST_CASE("A pass and a slot give the micro-batch, and the other way round") {
  for_random_tables(3, 200, [](random_table const&, sc::timetable const& table) {
    for (int pass = 0; pass < table.passes(); ++pass) {
      int found = 0;
      for (int slot = -3; slot < table.slots() + 3; ++slot) {
        int const m = table.micro_batch_at(pass, slot);
        if (m == -1) continue;
        CHECK(m == found++);
        CHECK(table.slot(pass, m) == slot);
      }
      CHECK(found == table.micro_batches());
    }
  });
}

TEST_CASE("The bubble is the part of the passes that there is time for and that nothing uses") {
  for_random_tables(4, 200, [](random_table const&, sc::timetable const& table) {
    record const done(table);
    double room = 0, used = 0;
    for (int slot = 0; slot < table.slots(); ++slot)
      for (int device = 0; device < table.devices(); ++device) {
        room += done.most_in_slot;
        for (auto const& step : table.steps(slot, device))
          used += step.kind == pass_kind::forward || step.kind == pass_kind::backward ? 1 : 0;
      }
    CHECK(table.bubble() == (room - used) / room);
  });
}

TEST_CASE("The overlap is the number of rotations of the devices that do not collide") {
  for_random_tables(5, 500, [](random_table const& of, sc::timetable const& table) {
    if (of.order != schedule::interleaved || !of.beside.empty()) return;
    std::vector<int> device_of_pass;
    for (int pass = 0; pass < table.passes(); ++pass) device_of_pass.push_back(table.device_of_pass(pass));
    auto const offsets = fill_block(device_of_pass);
    REQUIRE(table.overlap_length() == static_cast<int>(offsets.size()));
    for (int m = 0; m < table.micro_batches(); ++m) {
      auto const in_block = record::at(m) % offsets.size();
      int const block = m / static_cast<int>(offsets.size());
      CHECK(table.slot(0, m) == block * table.passes() + offsets[in_block]);
    }
  });
}

TEST_CASE("Between ramp-up and ramp-down, as many micro-batches are in flight as the overlap says") {
  for_random_tables(6, 300, [](random_table const& of, sc::timetable const& table) {
    if (of.serialized > 1) return;
    record const done(table);
    // While a micro-batch leaves, backward passes work on it.
    int const beside = of.overlaps_io ? (of.trains ? 1 : 2) : 0;
    int const overlap = table.overlap_length() + beside, last = table.slots() - table.ramp_down_slots();
    CHECK((of.overlaps_io || table.micro_batches() % overlap == 0));
    CHECK(table.steady_slots() > 0);
    for (int slot = 0; slot < table.slots(); ++slot) {
      bool const steady = slot >= table.ramp_up_slots() && slot < last;
      CHECK((done.in_flight[record::at(slot)] == overlap) == steady);
    }
  });
}

void check_rings(sc::timetable const& table) {
  record done(table);
  for (int first = 0; first < table.passes(); ++first)
    for (int last = first; last < table.passes(); ++last) {
      if (first != last && table.place(first) == table.place(last)) continue;  // neither reads what the other writes
      int const depth = table.alive(first, last);
      CAPTURE(first);
      CAPTURE(last);
      REQUIRE((depth >= 1 && depth <= table.micro_batches()));
      CHECK(ring_suffices(table, done, first, last, depth));
      for (int less = 1; less < depth; ++less) CHECK(!ring_suffices(table, done, first, last, less));
      for (int m = depth; m < table.micro_batches(); ++m) {
        CHECK(done.of(last, m - depth).comes_before(done.of(first, m)));
        CHECK(table.finishes_before(last, m - depth, first, m));
      }
    }
}

TEST_CASE("A ring of alive() buffers is enough from any pass to any later one, and one buffer less is not") {
  for_random_tables(7, 150, [](random_table const&, sc::timetable const& table) { check_rings(table); });
  // Starts that are nearer to each other across two blocks (8, 11, 12, 15) than within one (0, 1, 4, 8).
  std::vector const uneven{2, 5, 4, 7, 4, 2, 5, 1, 3, 6, 0};
  for (int const micro_batches : {4, 8, 12}) check_rings({sc::interleaved, uneven, micro_batches, false});
}

TEST_CASE("A stage holds no more activations than the table says, and at some time as many") {
  for_random_tables(8, 200, [](random_table const& of, sc::timetable const& table) {
    if (!of.trains) return;
    for (int stage = 0; stage < table.stages(); ++stage) {
      int alive = 0, most = 0;
      for (int slot = 0; slot < table.slots(); ++slot)
        for (auto const& step : table.steps(slot, table.device_of_stage(stage))) {
          if (step.stage != stage) continue;
          if (step.kind == pass_kind::forward) most = std::max(most, ++alive);
          if (step.kind == pass_kind::backward) --alive;
        }
      CHECK(alive == 0);
      CHECK(table.activations_alive(stage) == most);
      CHECK(table.fifo_depth(stage) == (of.order == schedule::sequential ? 0 : most - 1));
    }
  });
}

TEST_CASE("What is sent, fed and recomputed is what the devices ask for") {
  for_random_tables(9, 200, [](random_table const& of, sc::timetable const& table) {
    std::map<pass_kind, int> count;
    for (int slot = 0; slot < table.slots(); ++slot)
      for (int device = 0; device < table.devices(); ++device)
        for (auto const& step : table.steps(slot, device)) ++count[step.kind];
    int borders = 0;
    for (std::size_t i = 1; i < of.devices.size(); ++i) borders += of.devices[i] != of.devices[i - 1] ? 1 : 0;
    int const n = table.micro_batches(), stages = table.stages();
    CHECK(count[pass_kind::infeed] == n);
    CHECK(count[pass_kind::outfeed] == n);
    CHECK(count[pass_kind::forward] == n * stages);
    CHECK(count[pass_kind::backward] == (of.trains ? n * stages : 0));
    CHECK(count[pass_kind::recompute] ==
          (of.trains && of.recomputation != sc::recomputation_mode::none ? n * (stages - 1) : 0));
    if (of.beside.empty()) CHECK(count[pass_kind::send] == n * borders * (of.trains ? 2 : 1));
  });
}

}  // namespace
