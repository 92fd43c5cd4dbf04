// SPDX-License-Identifier: BSD-3-Clause
// Poolings and their gradient, over one to three axes.
#pragma once

#include <stagecraft/operations/kinds/windows.hpp>

namespace stagecraft::operations {

/// What a window becomes. Padding counts in neither, as in Keras.
enum class pooling_kind : unsigned char { max, average };

/// Of (batch, places..., channels), for each channel.
struct pooling {
  pooling_kind kind = pooling_kind::max;
  operations::windows windows;

  [[nodiscard]] constexpr long long flops(extents const& out) const { return out.size() * windows.size(); }
};

/// Of the pooling's input, its output and a gradient of its output. The first maximum of a window gets all of its
/// gradient.
struct pooling_gradient {
  pooling_kind kind = pooling_kind::max;
  operations::windows windows;
};

}  // namespace stagecraft::operations
