// SPDX-License-Identifier: BSD-3-Clause
// Writing a weight. Level 1.
#pragma once

namespace stagecraft::operations {

/// Of a weight and a value: the weight has this value when the step has ended. Reads of the weight, before and after,
/// see the old one.
struct update {};

}  // namespace stagecraft::operations
