// SPDX-License-Identifier: BSD-3-Clause
// The masks of the tensors of a model while it is traced.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/step_mask.hpp>
#include <string_view>

namespace stagecraft::tracing {

/// The masks that a model's tensors have; a call knows the number of its output's, 0 if there is none. Errors: E1073.
class masks_of_calls {
 public:
  static constexpr int most = 32;

  constexpr explicit masks_of_calls(diagnostic& problem) : problem_(&problem) {}

  constexpr traced_mask const& operator[](int number) const { return known_[number]; }
  /// How many there are; number 0 is none.
  [[nodiscard]] constexpr int count() const noexcept { return count_; }

  /// The number of a mask.
  constexpr int number_of(traced_mask const& mask) {
    check_length(mask);
    for (int i = 0; i < count_; ++i)
      if (known_[i] == mask) return i;
    if (count_ == most) {
      problem_->report(1073, "the model has more than ", most - 1, " masks");
      return 0;
    }
    known_[count_] = mask;
    return count_++;
  }
  constexpr void check_length(traced_mask const& mask) const {
    if (mask.is_too_long) problem_->report(1073, "more than ", step_masks::most, " masks meet in one layer");
  }
  /// For a layer that cannot leave steps out.
  constexpr void check_none(traced_mask const& mask, std::string_view class_name) const {
    if (mask.masks.count > 0)
      problem_->report(1073, "a layer ", class_name,
                       " is given a sequence some of whose steps are masked, and cannot leave them out");
  }
  /// For a layer that is called again, and has the masks of its first call.
  constexpr void check_same(step_masks const& first, traced_mask const& now, std::string_view class_name) const {
    if (!(first == now.masks))
      problem_->report(1073, "a layer ", class_name,
                       " is called with other masks than at its first call; make a layer of its own for each");
  }

 private:
  diagnostic* problem_;
  traced_mask known_[most]{};  // the first one is none
  int count_ = 1;
};

}  // namespace stagecraft::tracing
