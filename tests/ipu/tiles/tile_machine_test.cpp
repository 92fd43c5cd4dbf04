// SPDX-License-Identifier: BSD-3-Clause
// Tiles that have nothing in common: what a vertex may touch, what an exchange costs, how far memory is used.
#include <stagecraft/ipu/tiles/tile_machine.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

namespace sc = stagecraft;

namespace {

constexpr sc::ipu_target three_tiles = [] {
  auto target = sc::ipu_targets::ipu2;
  target.tiles_per_ipu = 3;
  return target;
}();

// Ten numbers: 4, 4 and 2 on three tiles.
constexpr sc::tiles::lowered_step step_with_two_tensors() {
  sc::tiles::lowered_step step;
  int const x = step.tensor(sc::tiles::tensor_role::input, 0, sc::dtype::float32, 10);
  int const y = step.temporary(10, sc::dtype::float16);
  step.add(sc::tiles::map_task{}, {x}, {y});
  return step;
}
constexpr auto step = step_with_two_tensors();

struct fixture {
  sc::tiles::step_layout layout{step, three_tiles};
  sc::tiles::tile_machine machine{three_tiles, 256};

  fixture() {
    std::int64_t const offsets[sc::tiles::lowered_step::most_tensors]{64};
    machine.begin_step(step, layout, offsets, 96, {});
    std::vector<float> values(10);
    std::iota(values.begin(), values.end(), 1.0F);
    machine.load(0, values.data());
    machine.begin_task(96 + layout.copies[0]);
  }
};

std::string message_of(auto const& work) {
  try {
    work();
  } catch (sc::tile_access_error const& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("tensors are cut into equal pieces, tile 0 has most") {
  fixture f;
  CHECK(f.machine.home(0, 0).size() == 4);
  CHECK(f.machine.home(0, 2).size() == 2);
  CHECK(f.machine.home(0, 1)[0] == 5);
  CHECK(f.machine.home(1, 0).size() == 4);  // vectors of four halves
  CHECK(f.machine.home(1, 2).size() == 2);
}

TEST_CASE("a vertex touches its own tile only") {
  fixture f;
  auto const own = f.machine.home(0, 1), other = f.machine.home(0, 2);
  f.machine.vertex("reader", 1, 10, [&] { CHECK(own[1] == 6); });
  CHECK(message_of([&] { f.machine.vertex("reader", 1, 10, [&] { (void)other[0]; }); }) ==
        "vertex 'reader' on tile 1 touches the memory of tile 2; an exchange must bring it there first [E4101]");
  CHECK(message_of([&] { f.machine.vertex("writer", 0, 10, [&] { other.set(0, 1); }); }) ==
        "vertex 'writer' on tile 0 touches the memory of tile 2; an exchange must bring it there first [E4101]");
  CHECK(message_of([&] { f.machine.vertex("reader", 2, 10, [&] { (void)other[2]; }); }) ==
        "vertex 'reader' on tile 2 touches element 2 of 2 [E4102]");
  CHECK(message_of([&] { f.machine.vertex("reader", 2, 10, [&] { (void)other[-1]; }); }) ==
        "vertex 'reader' on tile 2 touches element -1 of 2 [E4102]");
  CHECK(other[1] == 10);  // after an error, no vertex runs any more
}

TEST_CASE("an exchange brings elements, and takes as long as the tile that receives most") {
  fixture f;
  auto const copy = f.machine.allocate(2, 5, sc::dtype::float32);
  f.machine.receive(copy, 0, 0, 2, 5);
  auto const again = f.machine.allocate(0, 1, sc::dtype::float32);
  f.machine.receive(again, 0, copy, 4, 1);
  f.machine.end_exchange();
  CHECK(copy[0] == 3);
  CHECK(copy[4] == 7);
  CHECK(again[0] == 7);
  CHECK(f.machine.counted().bytes_exchanged == 20);
  CHECK(f.machine.counted().exchange_cycles == 5);
  CHECK(f.machine.counted().sync_cycles == three_tiles.max_ipu_sync_delay);
  f.machine.end_exchange();  // nothing was received: no exchange
  CHECK(f.machine.counted().exchanges == 1);
}

TEST_CASE("results go where they belong, rounded to their type") {
  fixture f;
  auto const results = f.machine.allocate(1, 3, sc::dtype::float32);
  f.machine.vertex("writer", 1, 7, [&] {
    results.set(0, 1.0F);
    results.set(1, 2049.0F);  // halves are even from 2048 on
    results.set(2, 70000.0F);
  });
  f.machine.vertex("another writer", 1, 5, [] {});
  f.machine.vertex("short", 0, 6, [] {});
  f.machine.end_compute_set();
  f.machine.send(results, 0, 1, 3, 3);
  f.machine.end_exchange();
  std::vector<float> values(10);
  f.machine.store(1, values.data());
  CHECK(values[3] == 1.0F);
  CHECK(values[4] == 2048.0F);
  CHECK(values[5] == 65504.0F);  // the largest half: the default of floating_point_behaviour
  CHECK(f.machine.counted().compute_cycles == 12);
  CHECK(f.machine.counted().compute_sets == 1);
  CHECK(f.machine.counted().bytes_exchanged == 4);  // tile 1 receives two halves
}

TEST_CASE("memory is used up to where the last copy ends") {
  fixture f;
  CHECK(f.machine.memory(0).high_water_mark() == 96 + 8);  // y: four halves
  (void)f.machine.allocate(0, 3, sc::dtype::float16);      // 6 bytes, and whole loads
  (void)f.machine.allocate(0, 1, sc::dtype::float32);
  CHECK(f.machine.memory(0).high_water_mark() == 96 + 8 + 8 + 4);
  CHECK(f.machine.memory(1).high_water_mark() == 96 + 8);
  CHECK(f.machine.high_water_mark() == 116);
  CHECK(message_of([&] { (void)f.machine.allocate(1, 100, sc::dtype::float32); }) ==
        "tile 1: a tensor ends at byte 504 of 256 [E4102]");
}
