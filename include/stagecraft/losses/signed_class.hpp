// SPDX-License-Identifier: BSD-3-Clause
// How hinge losses take yes/no targets.
#pragma once

#include <stagecraft/operations/tensor.hpp>

namespace stagecraft::losses::detail {

/// -1 in place of 0.
constexpr operations::tensor signed_class(operations::tensor target) {
  return where(equal(target, 0.0F), -1.0F, target);
}

}  // namespace stagecraft::losses::detail
