// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/plot_profile.hpp>

#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "profile_example.hpp"
#include "xml_problem.hpp"

namespace sc = stagecraft;
using namespace profile_example;

namespace {

std::vector<sc::profile_data> profiles() {
  auto slots = small();
  slots.time_line.left_out = {150, 400};
  slots.time_line.slots_left_out = 7;
  return {small(),
          with_odd_names(),
          slots,
          {},
          large(1, 12, 1),
          large(4, 60, 40),
          large(4, 60, 40, sc::interleaved, true),
          large(3, 60, 9, sc::schedule::sequential, false, 64 * 1024)};
}

sc::profile_time_line line_of(int slots) {
  sc::profile_time_line line;
  for (int i = 0; i < slots; ++i) line.slots.push_back({100 * i, 100 * i + 100});
  line.cycles = 100 * slots + 50;
  return line;
}

}  // namespace

TEST_CASE("pictures of profiles are well-formed") {
  for (auto const& data : profiles())
    for (auto const& text :
         {sc::memory_svg(data), sc::liveness_svg(data), sc::time_line_svg(data), sc::cycles_svg(data)}) {
      CHECK(xml_problem::of(text) == "");
      for (auto const* wrong : {"nan", " inf ", "\"inf\"", "\"-\""}) CHECK(count_of(text, wrong) == 0);
    }
}

TEST_CASE("a long time line is cut in the steady state") {
  sc::detail::time_line_cut const whole(line_of(8), 8);
  CHECK_FALSE(whole.is_cut());
  CHECK(whole.spans == std::vector<sc::profile_span>{{0, 850}});
  CHECK(sc::detail::time_line_cut(line_of(100), 0).spans == std::vector<sc::profile_span>{{0, 10'050}});

  sc::detail::time_line_cut const cut(line_of(100), 8);
  CHECK(cut.is_cut());
  CHECK(cut.spans == std::vector<sc::profile_span>{{0, 600}, {9'800, 10'050}});
  CHECK(cut.slots_left_out == 92);
  CHECK(cut.cycles() == 850);

  SUBCASE("what the profile leaves out is left out, too") {
    auto line = line_of(10);
    for (int i = 6; i < 10; ++i) line.slots[static_cast<std::size_t>(i)] = {100'000 + 100 * i, 100'100 + 100 * i};
    line.cycles = 101'000;
    line.left_out = {600, 100'600};
    line.slots_left_out = 1'000;
    sc::detail::time_line_cut const all(line, 24);
    CHECK(all.spans == std::vector<sc::profile_span>{{0, 600}, {100'600, 101'000}});
    CHECK(all.slots_left_out == 1'000);
    sc::detail::time_line_cut const fewer(line, 4);
    CHECK(fewer.spans == std::vector<sc::profile_span>{{0, 300}, {100'900, 101'000}});
    CHECK(fewer.slots_left_out == 1'006);
  }
  SUBCASE("the picture says so") {
    auto const text = sc::time_line_svg(large(4, 8, 64));
    CHECK(count_of(text, ">+47<") == 1);
    CHECK(count_of(text, "not shown: 47 slots, ") == 1);
    CHECK(count_of(sc::time_line_svg(large(4, 8, 64), {.max_slots = 0}), "not shown") == 0);
  }
}

TEST_CASE("memory by tile shows each category that is used, and the room if it is near") {
  auto data = small();
  auto text = sc::memory_svg(data);
  for (int i = 0; i < sc::memory_category_count; ++i)
    CHECK(count_of(text, '>' + std::string(to_string(static_cast<sc::memory_category>(i))) + '<') == 1);
  CHECK(count_of(text, "tile 0 needs most: 361 B, 35.3 % of 1 KiB") == 1);
  CHECK(count_of(text, ">room: ") == 0);
  CHECK(count_of(text, "<title>weights: 196 B on all tiles</title>") == 2);

  data.machine.bytes_per_tile = 400;
  data.ipus[0].tiles[0][sc::memory_category::optimizer_state] = 0;
  data.ipus[0].tiles[1][sc::memory_category::optimizer_state] = 0;
  data.ipus[1].tiles = {};
  text = sc::memory_svg(data);
  CHECK(count_of(text, ">room: 400 B<") == 2);
  CHECK(count_of(text, ">optimizer state<") == 0);
}

TEST_CASE("memory over the program marks the step that needs most") {
  auto const text = sc::liveness_svg(small());
  CHECK(count_of(text, ">peak<") == 2);
  CHECK(count_of(text, "most in dense, backward: 361 B, of which 310 B are always live") == 1);
  CHECK(count_of(text, "<title>dense, forward: 330 B, of them not always live: 20 B</title>") == 2);
  for (auto const* pass : {">forward<", ">backward<", ">weight update<"}) CHECK(count_of(text, pass) == 2);
}

TEST_CASE("a time line names passes and what takes the time") {
  auto const text = sc::time_line_svg(small());
  CHECK(count_of(text, ">F0<") == 2);
  CHECK(count_of(text, ">B0<") == 1);
  CHECK(count_of(text, ">send 0<") == 1);
  CHECK(count_of(text, "<title>F0: forward, stage 0, micro-batch 0, 130 cycles from 0 on</title>") == 1);
  CHECK(count_of(text, "<title>U: weight update, 50 cycles from 400 on</title>") == 1);
  CHECK(count_of(text, ">450 cycles, 450 ns<") == 1);
}

TEST_CASE("neighbouring events of a pass are one pass") {
  auto const passes = sc::detail::passes_of(small().time_line, 0);
  REQUIRE(passes.size() == 3);
  CHECK(passes[0].begin == 0);
  CHECK(passes[0].end == 130);
  CHECK(passes[0].events.size() == 2);
  CHECK(passes[1].pass == sc::pass_kind::send);
  CHECK(sc::detail::passes_of(small().time_line, 2).empty());
}

TEST_CASE("bars say where the cycles go") {
  auto const text = sc::cycles_svg(small());
  CHECK(count_of(text, "<title>compute: 600 cycles, 60 %</title>") == 2);
  CHECK(count_of(text, ">60 %<") == 2);
  CHECK(count_of(text, "streaming: ") == 0);
}
