// SPDX-License-Identifier: BSD-3-Clause
// Which steps of a sequence count: Keras's mask, as what it follows from.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::tracing {

/// A step counts where a tensor has not this value: the whole number that stands for it, or any of its features.
struct mask_rule {
  // No default values, as in step_masks.
  float value;
  bool of_features;
  bool is_none;  ///< true: the layer makes no mask after all

  friend constexpr bool operator==(mask_rule const&, mask_rule const&) = default;
};

/// The masks that a layer takes: the rules of the tensors that its call gets after its own inputs.
/// A step of an input counts if it does for all rules that are about that input.
struct step_masks {
  static constexpr int most = 4, most_inputs = 3;

  // No default values: GCC then prints `step_masks()` for a layer that has not been called.
  mask_rule rules[most];
  int inputs[most];  ///< the input of the layer that each rule is about
  int count;

  friend constexpr bool operator==(step_masks const&, step_masks const&) = default;
};

/// The mask of a tensor while a model is traced: rules, and the calls whose outputs they are about.
struct traced_mask {
  step_masks masks = {};
  int sources[step_masks::most]{};
  bool is_too_long = false;

  constexpr traced_mask() = default;
  /// Every step counts without a rule.
  constexpr traced_mask(mask_rule const& rule, int source) { add(rule, source); }

  constexpr void add(mask_rule const& rule, int source, int input = 0) {
    if (rule.is_none) return;
    for (int i = 0; i < masks.count; ++i)
      if (sources[i] == source && masks.rules[i] == rule && masks.inputs[i] == input) return;
    is_too_long = is_too_long || masks.count == step_masks::most;
    if (is_too_long) return;
    sources[masks.count] = source;
    masks.inputs[masks.count] = input;
    masks.rules[masks.count++] = rule;
  }
  constexpr void add(traced_mask const& other, int input = 0) {
    is_too_long = is_too_long || other.is_too_long;
    for (int i = 0; i < other.masks.count; ++i) add(other.masks.rules[i], other.sources[i], input);
  }

  friend constexpr bool operator==(traced_mask const& a, traced_mask const& b) {
    bool same = a.masks == b.masks;
    for (int i = 0; i < a.masks.count; ++i) same = same && a.sources[i] == b.sources[i];
    return same;
  }
};

}  // namespace stagecraft::tracing
