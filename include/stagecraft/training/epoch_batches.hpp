// SPDX-License-Identifier: BSD-3-Clause
// The batches of an epoch or an evaluation, from arrays or from a dataset.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/training/data/batch_loader.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/labelled_samples.hpp>
#include <stagecraft/training/data/shuffle.hpp>
#include <stagecraft/training/execution_rules.hpp>
#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// The source of the batches, their order, and their number: `steps` for each replica, out of `batches`.
template <class Session>
struct epoch_batches {
  using loader = batch_loader<Session>;

  loader data;
  epoch_order order;
  int batch_size, batches, steps;

  /// Batches for the evaluation of samples in memory; `asked`: number of batches, 0: all. Errors: E4003, E4011, E4019,
  /// E4041.
  [[gnu::cold]] static epoch_batches to_evaluate(loader data, char const* name, int batch_size, char const* option,
                                                 int asked) {
    if constexpr (Session::graph.is_stateful()) check_full_batches(name, data.count(), batch_size, Session::batch);
    epoch_order order(data.count(), false, 0);
    int const batches = order.batches(batch_size);
    check_at_least(option, asked, 0);
    int const steps = steps_of_replica(name, option, asked, batches, Session::replicas);
    return {std::move(data), std::move(order), batch_size, batches, steps};
  }

  /// The batches of a dataset, a streamed_batches, from epoch `epoch` on. An epoch is a pass over the dataset or, if
  /// `continues`, goes on where the one before has ended.
  template <class Stream>
  static epoch_batches of_stream(Stream& stream, char const* option, int asked, int epoch, bool continues,
                                 std::vector<class_weight_entry> const& class_weight = {},
                                 typename loader::argument_names const& names = {}) {
    check_at_least(option, asked, 0);
    int const batches = stream.batches_of_pass(option, asked);
    if constexpr (Session::graph.is_stateful()) stream.expect_full_batches();
    if (continues)
      stream.continue_epoch(epoch, asked / Session::replicas * Session::replicas);
    else
      stream.begin_epoch(epoch);
    for (std::size_t i = 0; i < Session::output_count; ++i)
      if (Session::sparse_targets(i)) stream.expect_classes(i, label_rule_of<Session>(i));
    loader data(stream.x(), stream.y(), stream.sample_weight(), class_weight, names);
    int const steps = steps_of_replica("dataset", option, asked, batches, Session::replicas);
    stream.expect_batches(steps * Session::replicas);
    return {std::move(data), epoch_order(stream), Session::batch, batches, steps};
  }
};

}  // namespace stagecraft::trainers
