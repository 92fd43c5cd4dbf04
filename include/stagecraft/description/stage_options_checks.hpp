// SPDX-License-Identifier: BSD-3-Clause
// Options of Poplar for single stages: what they become with a machine's, and their rules.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/pipeline_checks.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/machines/ipu_config.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <string_view>

namespace stagecraft::jobs {

/// A machine's options, with those that are given for a stage in their place.
[[nodiscard]] constexpr poplar_options with_options_of_stage(poplar_options options, stage_poplar_options const& own) {
  options.available_memory_proportion = own.available_memory_proportion.or_else(options.available_memory_proportion);
  options.partials_type = own.partials_type.or_else(options.partials_type);
  options.use_128bit_conv_unit_load = own.use_128bit_conv_unit_load.or_else(options.use_128bit_conv_unit_load);
  return options;
}

/// The options that are given for the passes of a stage; a model without stages has none.
template <class Job>
[[nodiscard]] constexpr pipeline_stage_options options_of_pass(bool backward, int stage) {
  constexpr auto const& options = Job::options;
  if (!is_pipelined<typename Job::model>) return {};
  return (backward ? options.backward_propagation_stages_poplar_options
                   : options.forward_propagation_stages_poplar_options)
      .of(stage);
}

/// E3004, E3005: numbers and types that no plan can have. `stage` -1: it is no option of a stage.
constexpr void check_options_of_stage(pipeline_stage_options const& options, std::string_view name, int stage,
                                      diagnostic& problem) {
  if (!options.given()) return;
  auto const check = [&](stage_poplar_options const& own, std::string_view library) {
    fixed_text<100> option(name);
    if (stage >= 0) option.append('[').append(stage).append(']');
    option.append('.').append(library);
    check_poplar_options(with_options_of_stage({}, own), option, problem);
  };
  check(options.convolution_options, "convolution_options");
  check(options.matmul_options, "matmul_options");
}

/// E2065: as many entries as stages.
constexpr void check_options_of_stages(stage_options_list const& list, std::string_view name,
                                       checked_options const& checked, diagnostic& problem) {
  if (list.given() && list.count != checked.stages())
    problem.report(2065, checked.subject(), "'s pipeline has ", list.count, list.count == 1 ? " entry" : " entries",
                   " in ", name, ", but model '", checked.name(), "' has ", checked.stages(),
                   " pipeline stages; give one for each, or none");
  for (int stage = 0; stage < list.count; ++stage) check_options_of_stage(list.of(stage), name, stage, problem);
}

/// The options of Poplar of a model with stages; one without ignores them.
constexpr void check_poplar_options_of_stages(checked_options const& checked, diagnostic& problem) {
  if (!checked.pipelined) return;
  auto const& options = checked.options;
  check_options_of_stages(options.forward_propagation_stages_poplar_options,
                          "forward_propagation_stages_poplar_options", checked, problem);
  check_options_of_stages(options.backward_propagation_stages_poplar_options,
                          "backward_propagation_stages_poplar_options", checked, problem);
  check_options_of_stage(options.weight_update_poplar_options, "weight_update_poplar_options", -1, problem);
}

}  // namespace stagecraft::jobs
