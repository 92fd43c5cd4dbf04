// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/profile_trace.hpp>

#include <doctest/doctest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files.hpp"
#include "profile_example.hpp"
#include "xml_problem.hpp"

namespace sc = stagecraft;
using namespace profile_example;

namespace {

/// Events of a row that overlap, but of which none lies in the other.
int crossing(nlohmann::json const& trace) {
  struct span {
    long long begin, end;
  };
  std::map<int, std::vector<span>> open;
  int number = 0;
  for (auto const& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    auto const picoseconds = [](nlohmann::json const& time) {
      return static_cast<long long>(time.get<double>() * 1e6 + 0.5);
    };
    span const own{picoseconds(event["ts"]), picoseconds(event["ts"]) + picoseconds(event["dur"])};
    auto& outer = open[event["tid"].get<int>()];
    while (!outer.empty() && outer.back().end <= own.begin) outer.pop_back();
    if (!outer.empty() && (own.begin < outer.back().begin || own.end > outer.back().end)) ++number;
    outer.push_back(own);
  }
  return number;
}

}  // namespace

TEST_CASE("a trace has passes, in them layers, in them what takes the time") {
  auto const text = sc::profile_trace(small());
  CHECK(text.starts_with(R"({"displayTimeUnit": "ns", "otherData": {"machine": "ipu2", "clock": 1000000000, )"
                         R"("cycles": 450, "slots_left_out": 0}, "traceEvents": [
{"name": "process_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": "two_stages"}},
{"name": "thread_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": "IPU 0, stage 0"}},
{"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": 0, "args": {"sort_index": 0}},
{"name": "thread_name", "ph": "M", "pid": 0, "tid": 1, "args": {"name": "IPU 1, stage 1"}},
{"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": 1, "args": {"sort_index": 1}},
{"name": "F0", "ph": "X", "pid": 0, "tid": 0, "cat": "forward", "ts": 0.000, "dur": 0.130, )"
                         R"("args": {"cycles": 130, "stage": 0, "micro_batch": 0}},
{"name": "dense", "ph": "X", "pid": 0, "tid": 0, "cat": "Dense", "ts": 0.000, "dur": 0.130, "args": {"cycles": 130}},
{"name": "compute", "ph": "X", "pid": 0, "tid": 0, "cat": "compute", "ts": 0.000, "dur": 0.100, )"
                         R"("args": {"cycles": 100}},
{"name": "exchange", "ph": "X", "pid": 0, "tid": 0, "cat": "exchange", "ts": 0.100, "dur": 0.030, )"
                         R"("args": {"cycles": 30}},
{"name": "send 0", )"));
  CHECK(text.ends_with("\n]}\n"));
  CHECK(crossing(nlohmann::json::parse(text)) == 0);
}

TEST_CASE("traces of all kinds can be read, and their events lie in each other") {
  for (auto const& data :
       {with_odd_names(), sc::profile_data{}, large(4, 30, 12), large(2, 30, 8, sc::interleaved, true)}) {
    auto const trace = nlohmann::json::parse(sc::profile_trace(data));
    CHECK(trace["otherData"]["cycles"] == data.time_line.cycles);
    CHECK(crossing(trace) == 0);
  }
}

TEST_CASE("a trace says what is left out") {
  auto data = small();
  data.time_line.left_out = {250, 400};
  data.time_line.slots_left_out = 12;
  auto const text = sc::profile_trace(data);
  CHECK(count_of(text, "{\"name\": \"12 slots left out\"") == 2);
  CHECK(count_of(text, "\"slots_left_out\": 12}") == 1);
  data.time_line.left_out = {130, 130};
  CHECK(count_of(sc::profile_trace(data), "left out\"") == 0);
  data.time_line.left_out = {250, 400};
  // What comes behind it stands behind it.
  CHECK(text.find("12 slots left out") < text.find("{\"name\": \"U\""));
}

TEST_CASE("times that are no whole nanoseconds have picoseconds") {
  auto data = small();
  data.machine.tile_clock_frequency = 1'330'000'000;
  CHECK(count_of(sc::profile_trace(data), "\"ts\": 0.097744, \"dur\": 0.015038, \"args\": {\"cycles\": 20") == 2);
}

TEST_CASE("a trace is written to a file") {
  temporary_file const file("profile.trace.json");
  sc::write_profile_trace(small(), file.path());
  CHECK(file.text() == sc::profile_trace(small()));
  CHECK(count_of(error_of([] { sc::write_profile_trace(small(), "/nonexistent/trace.json"); }), "E5050") == 1);
}
