// SPDX-License-Identifier: BSD-3-Clause
// A metric that is written as a `call`, as operations on one row.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <stagecraft/operations/trace.hpp>
#include <string_view>

namespace stagecraft::metrics {

/// A metric with `call`, in the form of a loss, whose rows are then computed like those of losses.
template <metric Metric, bool SparseTargets>
struct metric_call {
  static constexpr std::string_view name = "metric";
  static constexpr bool sparse_targets = SparseTargets;
  static constexpr metric of = Metric;  // a copy, since Clang 19 finds members of template arguments at wrong places

  constexpr operations::tensor call(operations::tensor target, operations::tensor output) const
    requires(!Metric.rules -> takes_ops)
  {
    tracing::growing_array<parameter> no_weights;
    operations::tracer ops(*output.list, no_weights);
    return of.rules->call(of.options, ops, target, output);
  }
  constexpr operations::tensor call(operations::tracer& ops, operations::tensor target, operations::tensor output) const
    requires(Metric.rules -> takes_ops)
  {
    auto const each = of.rules->call(of.options, ops, target, output);
    return of.scales_columns ? each * of.numbers.as_tensor(ops) : each;
  }

  friend constexpr bool operator==(metric_call const&, metric_call const&) = default;
};

}  // namespace stagecraft::metrics

namespace stagecraft::metrics::detail {

/// Traces the sums that a metric with a `result` adds. Inputs: targets (rows, columns), or (rows, 1) if they are class
/// numbers, outputs (rows, columns), weights (rows, 1). Output: (1, sums). E1070.
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
  static constexpr auto const& plan = frozen_draft<make>;

 public:
  static constexpr operations::plan_view value = plan;
};

}  // namespace stagecraft::metrics::detail
