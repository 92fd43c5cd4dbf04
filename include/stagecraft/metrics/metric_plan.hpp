// SPDX-License-Identifier: BSD-3-Clause
// What a metric that has a `result` adds to its sums, as operations on some rows.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/metrics/metric_call.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <stagecraft/operations/trace.hpp>

namespace stagecraft::metrics::detail {

/// Inputs are (rows, columns) of targets, or (rows, 1) if they are class numbers, (rows, columns) of outputs, and
/// (rows, 1) of weights; the output is (1, sums). E1070.
constexpr operations::trace trace_metric_sums(metrics::metric const& of, bool sparse_targets, int rows, int columns) {
  operations::extents const row_of_output{rows, columns};
  operations::extents const inputs[]{{rows, sparse_targets ? 1 : columns}, row_of_output, {rows, 1}};
  return operations::trace_call(
      [&](operations::tracer& ops, tracing::array_view<operations::tensor const> in) {
        ops.list().kind = "metric";
        auto const each = of.rules->call(of.options, ops, in[0], in[1]);
        if (each.rank() != 2 || each.length(0) != rows) {
          ops.list().fail("it gives a tensor of shape ", each.shape(), " for outputs of shape ", in[1].shape());
          return in[2];
        }
        return ops.sum(each * in[2], 0);
      },
      inputs, false, of.rules->name);
}

template <metrics::metric Metric, bool SparseTargets, int Rows, int Columns>
class plan_of_metric {
  struct make {
    constexpr operations::traced_plan operator()() const {
      return operations::traced_plan(trace_metric_sums(Metric, SparseTargets, Rows, Columns), false);
    }
  };
  static constexpr auto const& plan = frozen<make>;

 public:
  static constexpr operations::plan_view value = plan;
};

}  // namespace stagecraft::metrics::detail
