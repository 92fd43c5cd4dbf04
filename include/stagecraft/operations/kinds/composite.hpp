// SPDX-License-Identifier: BSD-3-Clause
// A named group of operations that a machine may carry out as a whole.
#pragma once

#include <string_view>

namespace stagecraft::operations {

class composite_gradient;

/// Appends the gradients of a composite's operands to the list, by `give`.
using gradient_rule = void (*)(composite_gradient&);

/// Of its result and the tensors that it is a function of: the operations from `first` to here. A machine that knows
/// the name carries them out at once; one that does not carries out what is inside.
struct composite {
  std::string_view name;
  int first = 0;
  gradient_rule rule = nullptr;  ///< where the gradient of what is inside would lose digits or time
  bool is_gradient = false;  ///< of what the name says: its operands are what that reads, then its result's gradient
  static constexpr int most_numbers = 3;
  float numbers[most_numbers]{};  ///< what it is a function of beside tensors, in an order that its name knows
};

}  // namespace stagecraft::operations
