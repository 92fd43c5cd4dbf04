// SPDX-License-Identifier: BSD-3-Clause
// Writing a weight.
#pragma once

namespace stagecraft::operations {

/// Of a weight, a value and a copy of the weight: the weight has the value when the forward step has ended. All reads
/// see the old one: a backward step, which comes later, those of the copy.
struct update {};

}  // namespace stagecraft::operations
