// SPDX-License-Identifier: BSD-3-Clause
// Writes pictures and traces of all kinds to a folder, for check.py.
#include <stagecraft/pipeline.hpp>
#include <stagecraft/report/report.hpp>
#include <cstdio>
#include <string>

#include "../../examples/models/resnet50.hpp"
#include "../models/golden_models.hpp"
#include "../report/profile_example.hpp"

using namespace golden_models;

namespace {

using odd_names = sc::sequential<input{2}, dense{2, {.name = "a<b> & \"c\" ]]>"}},
                                 dense{2, {.name = "\xc3\xa4\\\xe2\x86\x92\x01"}}, dense{2, {.name = "cut \xe2\x86"}}>;
using staged_odd_names = sc::pipelined<odd_names, sc::stages<0, 1, 2>>;
using staged_branches = sc::pipelined<branches, sc::stages<0, 0, 0, 1, 1, 1, 2>, sc::device_mapping<0, 1, 2>>;
using staged_nested =
    sc::pipelined<nested, sc::stages<0, sc::stages<0, 0>, 1, sc::stages<1, 2>, 2, 3>, sc::device_mapping<0, 0, 1, 1>>;

template <class M>
void plot(std::string const& name) {
  int number = 0;
  for (auto const direction : {sc::rankdir::tb, sc::rankdir::lr})
    for (bool const expand : {false, true})
      for (bool const everything : {false, true}) {
        auto const file = name + "_" + std::to_string(number++);
        sc::plot_model_options const options{.show_shapes = everything,
                                             .show_dtype = everything,
                                             .show_layer_names = everything || !expand,
                                             .rankdir = direction,
                                             .expand_nested = expand};
        sc::plot_model<M>(file + ".svg", options);
        sc::plot_model<M>(file + ".dot", options);
      }
}

void plot_timetables(std::string const& folder) {
  static constexpr int devices[][4]{{0, 1, 2, 3}, {0, 1, 0, 2}, {0, 0, 0, 0}, {3, 1, 1, 0}};
  int number = 0;
  for (auto const& mapping : devices)
    for (auto const order : {sc::schedule::grouped, sc::schedule::interleaved, sc::schedule::sequential})
      for (bool const trains : {false, true})
        for (auto const recomputation : {sc::recomputation_mode::none, sc::recomputation_mode::automatic})
          for (int const count : {1, 8, 200}) {
            sc::timetable const table(order, mapping, count, trains, 1, recomputation);
            sc::plot_timetable(table, folder + "timetable_" + std::to_string(number++) + ".svg",
                               {.title = count == 1 ? "<one> & \"only\"" : "", .max_slots = count == 8 ? 0 : 20});
          }
}

void plot_overlapped_timetables(std::string const& folder) {
  static constexpr int devices[][3]{{0, 1, 2}, {0, 1, 0}, {0, 0, 0}};
  int number = 0;
  for (auto const& mapping : devices)
    for (bool const trains : {false, true})
      for (int const count : {9, 200})
        sc::plot_timetable({sc::grouped, mapping, count, trains, 1, sc::recomputation_mode::automatic, true},
                           folder + "overlapped_timetable_" + std::to_string(number++) + ".svg", {.max_slots = 20});
}

void write_traces(std::string const& folder) {
  sc::trace record(20);
  record.reserve(3);
  for (int i = 0; i < 21; ++i)
    for (int worker = 0; worker < 3; ++worker)
      record.record({.replica = i % 2,
                     .device = worker - 1,
                     .worker = worker,
                     .kind = static_cast<sc::pass_kind>(i % 7),
                     .stage = worker - 1,
                     .micro_batch = i - 1,
                     .begin_ns = 1'000'000'000'000 + 1001 * i,
                     .end_ns = 1'000'000'000'500 + 1001 * i});
  sc::write_chrome_trace(record, folder + "trace.json");
  sc::write_chrome_trace(sc::trace(), folder + "empty.json");
}

void write_profiles(std::string const& folder) {
  using namespace profile_example;
  int number = 0;
  for (auto const& data : {small(), with_odd_names(), sc::profile_data{}, large(1, 20, 1), large(4, 107, 64),
                           large(2, 107, 8, sc::interleaved, true), large(3, 60, 9, sc::schedule::sequential),
                           large(8, 107, 32, sc::grouped, true, 128 * 1024)}) {
    auto const name = folder + "profile_" + std::to_string(number++);
    sc::write_profile_html(data, name + ".html", {.json = "{}"});
    sc::write_profile_trace(data, name + ".trace.json");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto const folder = std::string(argv[1]) + "/";
  plot<mlp>(folder + "mlp");
  plot<subclass>(folder + "subclass");
  plot<nested_sequential>(folder + "nested_sequential");
  plot<staged_nested>(folder + "nested");
  plot<staged_branches>(folder + "branches");
  plot<staged_odd_names>(folder + "odd_names");
  plot<resnet::two_stages>(folder + "resnet50");
  plot_timetables(folder);
  plot_overlapped_timetables(folder);
  write_traces(folder);
  write_profiles(folder);
}
