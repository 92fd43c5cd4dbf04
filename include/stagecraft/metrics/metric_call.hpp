// SPDX-License-Identifier: BSD-3-Clause
// A metric that is a `call`, as what computes the losses of rows sees it.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <string_view>

namespace stagecraft::metrics {

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
