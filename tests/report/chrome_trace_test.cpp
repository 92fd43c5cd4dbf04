// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/chrome_trace.hpp>

#include <doctest/doctest.h>
#include <string>

#include "files.hpp"

namespace sc = stagecraft;

namespace {

/// What gives a process or a row its name.
std::string named(std::string const& what, std::string const& where, std::string const& name) {
  return ",\n{\"name\": \"" + what + "\", \"ph\": \"M\", \"pid\": " + where + ", \"args\": {\"name\": \"" + name +
         "\"}}";
}
std::string row(int process, int number, std::string const& name) {
  auto const where = std::to_string(process) + ", \"tid\": " + std::to_string(number);
  return named("thread_name", where, name) + ",\n{\"name\": \"thread_sort_index\", \"ph\": \"M\", \"pid\": " + where +
         ", \"args\": {\"sort_index\": " + std::to_string(number) + "}}";
}

}  // namespace

TEST_CASE("a trace is a process per replica, a row per device, and an event per pass") {
  sc::trace record(3);
  record.reserve(2);
  record.record({.device = 1,
                 .worker = 1,
                 .kind = sc::pass_kind::backward,
                 .stage = 1,
                 .micro_batch = 3,
                 .begin_ns = 5'001'250,
                 .end_ns = 5'001'249});
  record.record({.device = -1, .worker = 0, .kind = sc::pass_kind::infeed, .begin_ns = 5'000'000, .end_ns = 5'001'002});
  record.record({.replica = 1,
                 .device = 1,
                 .worker = 1,
                 .kind = sc::pass_kind::weight_update,
                 .begin_ns = 7'000'000,
                 .end_ns = 7'500'000});
  record.record({.device = 1, .worker = 1, .stage = 1, .micro_batch = 4, .begin_ns = 6'000'000, .end_ns = 6'900'001});
  record.record({.worker = 1});
  std::string const expected =
      std::string(R"({"displayTimeUnit": "ns", "otherData": {"dropped": 1}, "traceEvents": [)") +
      named("process_name", "0, \"tid\": 0", "replica 0").substr(1) +  //
      row(0, 0, "host") +
      R"(,
{"name": "infeed", "ph": "X", "pid": 0, "tid": 0, "cat": "infeed", "ts": 0.000, "dur": 1.002, "args": {"worker": 0}})" +
      row(0, 2, "device 1") +
      R"(,
{"name": "B3", "ph": "X", "pid": 0, "tid": 2, "cat": "backward", "ts": 1.250, "dur": 0.000, )"
      R"("args": {"stage": 1, "micro_batch": 3, "worker": 1}},
{"name": "F4", "ph": "X", "pid": 0, "tid": 2, "cat": "forward", "ts": 1000.000, "dur": 900.001, )"
      R"("args": {"stage": 1, "micro_batch": 4, "worker": 1}})" +
      named("process_name", "1, \"tid\": 2", "replica 1") + row(1, 2, "device 1") +
      R"(,
{"name": "U", "ph": "X", "pid": 1, "tid": 2, "cat": "weight update", "ts": 2000.000, "dur": 500.000, )"
      R"("args": {"worker": 1}}
]}
)";
  CHECK(sc::chrome_trace(record) == expected);
}

TEST_CASE("a trace without events is an empty list") {
  CHECK(sc::chrome_trace(sc::trace()) ==
        "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"dropped\": 0}, \"traceEvents\": [\n]}\n");
}

TEST_CASE("a trace is written to a file") {
  sc::trace record;
  record.reserve(1);
  record.record({.stage = 0, .micro_batch = 0, .begin_ns = 1, .end_ns = 2});
  temporary_file const file("trace.json");
  sc::write_chrome_trace(record, file.path());
  CHECK(file.text() == sc::chrome_trace(record));
  CHECK(error_of([&] { sc::write_chrome_trace(record, "no such folder/trace.json"); }) ==
        "write_chrome_trace: cannot open 'no such folder/trace.json': No such file or directory [E5050]");
}
