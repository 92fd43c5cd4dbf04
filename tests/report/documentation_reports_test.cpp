// SPDX-License-Identifier: BSD-3-Clause
// The snippets of docs/reports.md: what stands there compiles and does what is said of it.
#include <stagecraft/description/training.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/report/profile_data_of.hpp>
#include <stagecraft/report/profile_json.hpp>
#include <stagecraft/report/report.hpp>

#include <doctest/doctest.h>
#include <string>

#include "files.hpp"
#include "xml_problem.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{4}, dense{8, sc::relu}, dense{16, sc::relu}, dense{3}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 8,
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};
using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2}>;

}  // namespace

TEST_CASE("the reports of a profile") {
  sc::profile_data const data = sc::profile_data_of<two_stages, training, machine>();
  temporary_file const page("reports.html"), trace("reports.trace.json"), json("before.json");

  CHECK(sc::profile_text(data).starts_with("sequential\nmachine            ipu2, 2 IPUs for the model"));
  sc::write_profile_html(data, page.path());
  sc::write_profile_trace(data, trace.path());
  CHECK(xml_problem::of(page.text()) == "");
  CHECK(count_of(trace.text(), "\"F7\"") == 2);

  sc::write_profile_json(data, json.path());
  auto const before = sc::read_profile_json(json.path());
  CHECK((before == data));
  CHECK(before.totals.samples_per_second > 0);
  sc::write_profile_html(data, page.path(), {.json = sc::profile_json(data)});
  CHECK(count_of(page.text(), "id=\"profile\"") == 1);
  for (auto const& picture :
       {sc::memory_svg(data), sc::liveness_svg(data), sc::time_line_svg(data), sc::cycles_svg(data)})
    CHECK(xml_problem::of(picture) == "");
}
