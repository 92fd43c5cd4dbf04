// SPDX-License-Identifier: BSD-3-Clause
// How the batches of a run become steps of its replicas, and steps become executions: Keras on IPU's rules, checked
// before anything runs. Keras counterpart: IPUDataHandler.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <algorithm>
#include <cstdio>

namespace stagecraft::trainers {

/// False while a process leaves warnings to another one that has the same to say.
inline bool warns = true;

/// The number of steps of each replica: the batches that are asked for, or all, shared out evenly. As in Keras on IPU,
/// leftover batches are skipped, with a warning. Errors: E4003 if more batches are asked for (0: all) than there are,
/// E4041 if some replica would have none.
/// \param option the name of the option in errors, and `argument` the name of the data
[[nodiscard]] inline int steps_of_replica(char const* argument, char const* option, int asked, int batches,
                                          int replicas) {
  if (asked > 0) check_steps(option, asked, batches);
  int const taken = asked > 0 ? asked : batches;
  if (taken < replicas)
    throw_data_error("E4041", "%s: expected at least %d batches, one for each replica, found %d",
                     asked > 0 ? option : argument, replicas, taken);
  int const left = taken % replicas;
  if (left != 0 && warns)
    std::fprintf(stderr, "stagecraft: %d batches are not a multiple of the %d replicas; %s left out\n", taken, replicas,
                 left == 1 ? "the last one is" : "the last ones are");
  return taken / replicas;
}

/// The number of steps of each replica that training executes at once. As in Keras on IPU, an execution is shortened to
/// a shorter epoch (with a warning), and must divide a longer one. Errors: E4017, E4018.
[[nodiscard]] inline int steps_of_training_execution(int steps_of_epoch, int wanted, int accumulation_steps,
                                                     int replicas) {
  int const steps = std::min(wanted, steps_of_epoch);
  char const* const whose = replicas > 1 ? " of each replica" : "";
  if (steps_of_epoch % steps != 0)
    throw_data_error("E4017", "steps_per_execution: expected a divisor of the epoch's %d batches%s, found %d",
                     steps_of_epoch, whose, steps);
  if (steps % accumulation_steps != 0)
    throw_data_error(
        "E4018", "gradient_accumulation_steps_per_replica: expected a divisor of the epoch's %d batches%s, found %d",
        steps, whose, accumulation_steps);
  if (steps < wanted && warns)
    std::fprintf(stderr,
                 "stagecraft: steps_per_execution %d is more than the %d steps there are; %d are executed at once\n",
                 wanted, steps_of_epoch, steps);
  return steps;
}

}  // namespace stagecraft::trainers
