// SPDX-License-Identifier: BSD-3-Clause
// Which places of a value a place of a query sees: masks of the layers of attention.
#pragma once

#include <stagecraft/layers/traced_call.hpp>

namespace stagecraft::layers::detail {

/// What is taken from a score that must not count.
inline constexpr float unseen_score = 1e9F;

/// What several conditions, 1 or 0, leave.
class seen_places {
 public:
  constexpr void require(operations::tensor condition) { all_ = is_limited() ? all_ * condition : condition; }
  /// A place of the query, (batch, places), sees nothing where its mask is 0, and nothing sees such a place of the
  /// value: in scores (batch, places of the query, places of the value).
  constexpr void require_query(operations::tracer& ops, operations::tensor mask) {
    if (mask.list != nullptr) require(ops.reshape(mask, {mask.length(0), mask.length(1), 1}));
  }
  constexpr void require_value(operations::tracer& ops, operations::tensor mask) {
    if (mask.list != nullptr) require(ops.reshape(mask, {mask.length(0), 1, mask.length(1)}));
  }
  /// A place of the query sees those of the value that are not behind it.
  constexpr void require_causal(operations::tracer& ops, int query, int value) {
    operations::extents const places{query, value};
    require(ops.iota(places, 1) <= ops.iota(places, 0));
  }
  [[nodiscard]] constexpr bool is_limited() const { return all_.list != nullptr; }
  [[nodiscard]] constexpr operations::tensor all() const { return all_; }

 private:
  operations::tensor all_;
};

/// Scores of which those are -1e9 that are not seen, as single precision has it if 1e9 is taken from them; gradients
/// are those of the difference. `seen` is broadcast.
constexpr operations::tensor hide(operations::tensor scores, operations::tensor seen) {
  return scores + stop_gradient(where(seen, 0.0F, -unseen_score - scores));
}

}  // namespace stagecraft::layers::detail
