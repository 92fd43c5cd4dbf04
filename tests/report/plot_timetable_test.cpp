// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/plot_timetable.hpp>

#include <cstddef>
#include <cstdio>
#include <doctest/doctest.h>
#include <string>

#include "files.hpp"

namespace sc = stagecraft;

namespace {

constexpr int two_devices[]{0, 1};
constexpr int revisited[]{0, 1, 0};

std::size_t count(std::string const& text, std::string const& what) {
  std::size_t number = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++number;
  return number;
}

}  // namespace

TEST_CASE("a picture has a cell for each pass and each update") {
  auto const text = sc::timetable_svg({sc::grouped, two_devices, 4, true});
  for (int micro_batch = 0; micro_batch < 4; ++micro_batch) {
    // Twice, and once more in the legend.
    std::size_t const times = micro_batch == 0 ? 3 : 2;
    CHECK(count(text, ">F" + std::to_string(micro_batch) + "<") == times);
    CHECK(count(text, ">B" + std::to_string(micro_batch) + "<") == times);
  }
  CHECK(count(text, ">U<") == 3);
  for (auto const* label : {">ramp-up<", ">steady<", ">ramp-down<", ">slot<", ">device<", ">stage 0<", ">stage 1<"})
    CHECK(count(text, label) == 1);
  CHECK(count(text, ">Grouped schedule<") == 1);
  CHECK(count(text, ">2 stages on 2 devices, training, 4 micro-batches, 7 slots, bubble 42.9 %<") == 1);
}

TEST_CASE("what comes and goes has a strip below the passes") {
  auto const text = sc::timetable_svg({sc::grouped, two_devices, 6, true, 1, sc::recomputation_mode::none, true});
  for (int micro_batch = 0; micro_batch < 6; ++micro_batch)
    for (auto const* letter : {">I", ">O"})
      CHECK(count(text, letter + std::to_string(micro_batch) + "<") == (micro_batch == 0 ? 2 : 1));
  CHECK(count(text, ">from the host<") == 1);
  CHECK(count(text, ">to the host<") == 1);
  CHECK(count(sc::timetable_svg({sc::grouped, two_devices, 6, true}), ">I0<") == 0);
}

TEST_CASE("inference has neither backward passes nor updates") {
  auto const text = sc::timetable_svg({sc::interleaved, two_devices, 4, false});
  CHECK(count(text, ">F3<") == 2);
  CHECK(count(text, ">B0<") == 0);
  CHECK(count(text, ">U<") == 0);
  CHECK(count(text, ">backward<") == 0);
}

TEST_CASE("stages of one device are told apart, and recomputation is shown") {
  auto const text = sc::timetable_svg({sc::grouped, revisited, 6, true, 1, sc::recomputation_mode::automatic});
  CHECK(count(text, ">F5.0<") == 1);
  CHECK(count(text, ">F5.2<") == 1);
  CHECK(count(text, ">F5<") == 1);
  CHECK(count(text, ">R5.0<") == 1);
  CHECK(count(text, ">R5.2<") == 0);  // the last stage
  CHECK(count(text, ">recompute<") == 1);
}

TEST_CASE("a title of one's own is escaped") {
  auto const text = sc::timetable_svg({sc::grouped, two_devices, 4, true}, {.title = "a < b & c"});
  CHECK(count(text, ">a &lt; b &amp; c<") == 1);
  CHECK(count(text, "a < b") == 0);
}

TEST_CASE("of a long timetable the middle is left out") {
  auto const text = sc::timetable_svg({sc::grouped, two_devices, 400, true}, {.max_slots = 10});
  CHECK(count(text, ">+394<") == 1);
  CHECK(count(text, ">B399<") == 2);
  CHECK(count(text, ">B200<") == 0);
  CHECK(text.size() < 20'000);
}

TEST_CASE("files get what their names say") {
  sc::timetable const table(sc::interleaved, two_devices, 4, true);
  temporary_file const svg("timetable.svg"), txt("timetable.txt");
  sc::plot_timetable(table, svg.path());
  CHECK(svg.text() == sc::timetable_svg(table));
  sc::plot_timetable(table, txt.path(), {.title = "T"});
  CHECK(txt.text() == sc::timetable_text(table, {.title = "T"}));

  CHECK(error_of([&] { sc::plot_timetable(table, "no such folder/timetable.svg"); }) ==
        "plot_timetable: cannot open 'no such folder/timetable.svg': No such file or directory [E5050]");
  CHECK(error_of([&] { sc::plot_timetable(table, "timetable.png"); }) ==
        "plot_timetable: cannot tell from the name 'timetable.png' what to write; it ends in .svg or .txt [E5051]");
}

TEST_CASE("a full disk is an error") {
  if (std::FILE* const full = std::fopen("/dev/full", "wb"); full != nullptr) {
    std::fclose(full);
    CHECK(error_of([] { sc::detail::write_text_file("/dev/full", "text", "f"); }) ==
          "f: cannot write '/dev/full': No space left on device [E5050]");
    CHECK(error_of([] { sc::detail::write_text_file("/dev/full", std::string(100'000, 'x'), "f"); }) ==
          "f: cannot write '/dev/full': No space left on device [E5050]");
  }
}
