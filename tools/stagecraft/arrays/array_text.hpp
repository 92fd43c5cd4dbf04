// SPDX-License-Identifier: BSD-3-Clause
// Prints arrays as NumPy does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Returns NumPy's `str(array)` for a float32 array, with NumPy's defaults: the fewest digits that distinguish the
/// numbers, at most eight after the point, 75 columns, and for more than 1000 numbers the first and last three along
/// each axis.
[[nodiscard]] std::string array_text(std::vector<std::int64_t> const& shape, std::vector<float> const& values);

}  // namespace stagecraft::tool
