// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/profile_data.hpp>

#include <doctest/doctest.h>

#include "profile_example.hpp"

namespace sc = stagecraft;

static_assert(to_string(sc::memory_category::not_always_live) == "not always live");
static_assert(to_string(sc::cycle_kind::inter_ipu) == "between IPUs");

TEST_CASE("a profile answers what reports ask") {
  auto data = profile_example::small();
  CHECK(data.stages() == 2);
  CHECK(data.effective_batch_size() == 64);
  CHECK(data.machine.seconds(1'500) == doctest::Approx(1.5e-6));
  CHECK(sc::profile_machine{}.seconds(1'500) == 0);
  CHECK(data.timetable().slots() == 7);
  CHECK(data.layers[0].cycles() == 390);

  auto const& ipu = data.ipus[1];
  CHECK(ipu.fullest_tile() == 0);
  CHECK(ipu.most_bytes() == 361);
  CHECK(ipu.tiles[0].always_live() == 310);
  CHECK(ipu.bytes(sc::memory_category::weights) == 196);
  CHECK(ipu.peak_step() == 1);
  CHECK(ipu.steps[1].bytes() == 361);

  CHECK(data.fits());
  data.machine.bytes_per_tile = 361;
  CHECK(data.fits());
  data.machine.bytes_per_tile = 360;
  CHECK_FALSE(data.fits());
}

TEST_CASE("a profile of nothing has no fullest tile and no peak") {
  sc::profile_data const data;
  CHECK(data.fits());
  CHECK(sc::profile_ipu{}.fullest_tile() == -1);
  CHECK(sc::profile_ipu{}.most_bytes() == 0);
  CHECK(sc::profile_ipu{}.peak_step() == -1);
}
