// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/profile_text.hpp>

#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"
#include "profile_example.hpp"
#include "xml_problem.hpp"

namespace sc = stagecraft;
using namespace profile_example;

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    auto const end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// A character for each of a text, so that places can be compared.
std::string in_columns(std::string_view text) {
  std::string result;
  for (char const c : text)
    if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80) result += static_cast<unsigned char>(c) < 0x80 ? c : '?';
  return result;
}

/// The lines of tables in which something stands between two columns.
std::vector<std::string> out_of_line(std::string_view text) {
  std::vector<std::string> wrong;
  auto const lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("---")) continue;
    auto const& rule = lines[i];
    auto first = i, last = i;
    while (first > 0 && !lines[first - 1].empty() && first + 1 > i) --first;
    while (last + 1 < lines.size() && !lines[last + 1].empty() && !lines[last + 1].starts_with("Cycles per")) ++last;
    for (auto row = first; row <= last; ++row) {
      auto const line = in_columns(lines[row]);
      bool fits = line.size() <= rule.size();
      for (std::size_t place = 0; fits && place < line.size(); ++place) fits = rule[place] == '-' || line[place] == ' ';
      if (!fits) wrong.push_back(lines[row]);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("a profile as text") {
  CHECK(sc::profile_text(small()) == R"(two_stages
machine            ipu2, 2 IPUs for the model, 2 replicas; 2 tiles of 1 KiB; 1 GHz
program            training, 2 stages, grouped schedule, float32
batch per update   64 samples (4 micro-batches of 8 on each of 2 replicas)
time per update    12.3 µs, 12,345 cycles
throughput         5.18 M samples/s
latency            2 µs, 2,000 cycles
bubble             25 %
exchange and sync  12.5 %
work               6.4 k flop, 1.04 GFLOP/s, utilisation 3.8 %
memory             361 B of 1 KiB on the fullest tile, 35.3 %: fits

Memory of each IPU's fullest tile
IPU  stages   tile  always live  not always  in all  of room
---  -------  ----  -----------  ----------  ------  -------  ----------------------
  0  stage 0     0        310 B        50 B   360 B   35.2 %  [#######.............]
  1  stage 1     0        310 B        51 B   361 B   35.3 %  [#######.............]

By category, on the fullest tile
                       IPU 0  IPU 1
---------------------  -----  -----
weights                100 B  100 B
optimizer state         20 B   20 B
gradient accumulators   30 B   30 B
activations             40 B   40 B
batches                  8 B    8 B
code                    64 B   64 B
vertex state            16 B   16 B
exchange code           32 B   32 B
not always live         50 B   51 B

Steps that need most memory
IPU  step          pass           not always  in all
---  ------------  -------------  ----------  ------
  0  dense         backward             50 B   360 B
     dense         forward              20 B   330 B
     dense/kernel  weight update         0 B   310 B
  1  dense         backward             51 B   361 B
     dense         forward              20 B   330 B
     dense/kernel  weight update         0 B   310 B

Where the cycles go
              IPU 0  IPU 1
------------  -----  -----
compute        60 %   60 %
exchange       20 %   20 %
sync            5 %    5 %
between IPUs    3 %    3 %
host            2 %    2 %
streaming       0 %    0 %
idle           10 %   10 %

Layers
layer    class  stage  forward  backward  update  weights  temporary  flops  use
-------  -----  -----  -------  --------  ------  -------  ---------  -----  ---  ----------------
dense    Dense      0      130       260      50    392 B       50 B  3.2 k  5 %  ################
dense_1  Dense      1      120       240      40    392 B       51 B  3.2 k  4 %  ###############
Cycles per micro-batch, backward with recomputation; weights of all tiles; temporary: of the fullest
tile; use: of the units for matrix products; bars: cycles.
)");
}

TEST_CASE("columns stand below each other") {
  for (auto const& data :
       {small(), with_odd_names(), large(1, 3, 1), large(4, 107, 64), large(2, 30, 8, sc::interleaved, true),
        large(8, 50, 100, sc::schedule::sequential, false, 16 * 1024)})
    CHECK(out_of_line(sc::profile_text(data)) == std::vector<std::string>());
}

TEST_CASE("a terminal is told nothing by a name") {
  auto const text = sc::profile_text(with_odd_names());
  for (char const c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK(count_of(text, "<ipu>&\xef\xbf\xbd[31m") == 1);
  CHECK(count_of(text, "cut \xef\xbf\xbd\xef\xbf\xbd ") == 1);
}

TEST_CASE("of many layers, those that take most cycles are shown") {
  auto const data = large(2, 40, 8);
  auto const text = sc::profile_text(data, {.max_layers = 10});
  CHECK(count_of(text, "Layers, the 10 of 40 that take most cycles") == 1);
  CHECK(count_of(text, "  Conv2D  ") == 10);
  CHECK(count_of(text, "  Add  ") == 0);
  CHECK(count_of(sc::profile_text(data, {.max_layers = 0}), "  Add  ") == 10);
}

TEST_CASE("a profile of nothing is a short text") {
  auto const text = sc::profile_text({}, {.title = "nothing"});
  CHECK(text.starts_with("nothing\n"));
  CHECK(lines_of(text).size() == 11);
}

TEST_CASE("a bar of something is not empty") {
  CHECK(sc::detail::bar(0, 4, true) == "....");
  CHECK(sc::detail::bar(0.001, 4, true) == "#...");
  CHECK(sc::detail::bar(0.5, 4, false) == "##");
  CHECK(sc::detail::bar(7, 4, true) == "####");
}

TEST_CASE("the text is written to a file") {
  temporary_file const file("profile.txt");
  sc::write_profile_text(small(), file.path());
  CHECK(file.text() == sc::profile_text(small()));
  CHECK(count_of(error_of([] { sc::write_profile_text(small(), "/nonexistent/profile.txt"); }), "E5050") == 1);
}
