// SPDX-License-Identifier: BSD-3-Clause
// Plans made by hand to test the page with.
#pragma once

#include <stagecraft/report/plan_data.hpp>
#include <string>

#include "profile_example.hpp"

namespace plan_example {

namespace sc = stagecraft;

/// One and two IPUs, two schedules and both splits; the second split into stages does not fit, and the interleaved
/// schedule of the first has a problem. Plan 1 is the fastest that fits.
inline sc::plan_data small(std::string const& name = "mlp", std::string const& layer = "dense") {
  sc::plan_data data{.model = name,
                     .choices = {.ipus = {1, 2}, .schedules = {sc::grouped, sc::interleaved}, .micro_batches = {4}}};
  for (int combination = 0; combination < data.choices.combinations(); ++combination) {
    int const representative = data.choices.representative(combination);
    if (representative != combination) {
      data.entry_of.push_back(data.entry_of[static_cast<std::size_t>(representative)]);
      continue;
    }
    data.entry_of.push_back(static_cast<int>(data.entries.size()));
    sc::plan_entry entry{.choice = data.choices.choice(combination), .combination = combination};
    if (!entry.choice.is_next_best && entry.choice.schedule == sc::interleaved) {
      entry.problem = layer + ": a rule is broken [E2024]";
    } else {
      entry.profile = profile_example::small();
      entry.profile.model = name;
      for (auto& own : entry.profile.layers) own.name = layer + (own.stage > 0 ? "_1" : "");
      entry.profile.totals.samples_per_second = 1000.0 * (1 + combination);
      if (entry.choice.is_next_best) entry.profile.machine.bytes_per_tile = 100;
      entry.bounds = {{600, 150}, 100, 50, 100};
      entry.layers_of_stage = {{layer, layer}, {layer + "_1", layer + (entry.choice.is_next_best ? "_2" : "_1")}};
      if (entry.choice.is_next_best) entry.layers_of_stage[1].first = layer + "_2";
      entry.sent_forward = {2048, 0};
      entry.sent_backward = {0, 1024};
      if (entry.choice.stages == 1) {
        entry.profile.device_of_stage = {0};
        entry.profile.ipus.resize(1);
        entry.profile.layers.resize(1);
        entry.bounds = {{900}, 0, 0, 100};
        entry.layers_of_stage.resize(1);
        entry.sent_forward = entry.sent_backward = {0};
      }
    }
    data.entries.push_back(entry);
  }
  return data;
}

/// Names that are markup, script, JSON and a title, should anything take them for such.
inline sc::plan_data with_hostile_names() {
  return small("</title></script><script>document.title='taken'</script>\"}]",
               "<img src=x onerror=\"document.title='taken'\"/>&amp;'\\u0022</script>");
}

}  // namespace plan_example
