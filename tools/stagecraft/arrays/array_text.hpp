// SPDX-License-Identifier: BSD-3-Clause
// Arrays as NumPy prints them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Returns what NumPy's `str(array)` is for a float32 array, with NumPy's defaults: the fewest digits that tell numbers
/// apart, at most eight behind the point, 75 columns, and the first and last three along each axis of more than 1000
/// numbers.
[[nodiscard]] std::string array_text(std::vector<std::int64_t> const& shape, std::vector<float> const& values);

}  // namespace stagecraft::tool
