// SPDX-License-Identifier: BSD-3-Clause
// Which sizes of batches go together, and with which models.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/serving/application_options.hpp>
#include <cstddef>
#include <span>

namespace stagecraft::serving::detail {

/// What sizes of batches depend on.
struct batch_facts {
  int batch_size = 1;
  int stages = 1;
  int replicas = 1;
  int of_inputs = 0;  ///< what the model's inputs say; 0: nothing
};

/// E5148, by the compiler or at run time: sizes that do not increase up to the batch size, or a program whose batches
/// have one size. `left_out`: how many more sizes are given than there is room for.
[[nodiscard]] constexpr diagnostics::diagnostic check_batch_sizes(std::span<int const> sizes, batch_facts const& facts,
                                                                  int left_out = 0) {
  diagnostics::diagnostic problem;
  if (sizes.empty()) return problem;
  if (int const count = static_cast<int>(sizes.size()) + left_out; count > static_cast<int>(batch_size_list::capacity))
    problem.report(5148, "allowed_batch_sizes has ", count, " sizes, of which there may be ",
                   static_cast<int>(batch_size_list::capacity));
  for (int before = 0; int const size : sizes) {
    if (size < 1) problem.report(5148, "allowed_batch_sizes has ", size, "; sizes are from 1 on");
    if (size <= before) problem.report(5148, "allowed_batch_sizes has ", size, " after ", before, "; sizes increase");
    before = size;
  }
  if (sizes.back() != facts.batch_size)
    problem.report(5148, "allowed_batch_sizes ends with ", sizes.back(), ", but batch_size is ", facts.batch_size,
                   "; the last size is the batch size");
  if (facts.stages > 1)
    problem.report(5148, "allowed_batch_sizes is given for a model in ", facts.stages,
                   " stages; batches in a pipeline follow each other, and have one size");
  if (facts.replicas > 1)
    problem.report(5148, "allowed_batch_sizes is given for ", facts.replicas,
                   " replicas, which work at the same time, on batches of one size");
  if (facts.of_inputs != 0 && sizes.size() > 1)
    problem.report(5148, "allowed_batch_sizes is given for a model whose inputs have a batch size, ", facts.of_inputs);
  return problem;
}

/// The same of a session.
template <class Session, batch_size_list Sizes>
inline constexpr diagnostics::diagnostic batch_sizes_problem =
    check_batch_sizes(Sizes.kept(),
                      {.batch_size = Session::batch,
                       .stages = Session::sizes::stages,
                       .replicas = Session::replicas,
                       .of_inputs = Session::graph.batch_size()},
                      Sizes.count - static_cast<int>(Sizes.kept().size()));

}  // namespace stagecraft::serving::detail
