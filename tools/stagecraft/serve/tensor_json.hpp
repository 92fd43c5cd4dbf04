// SPDX-License-Identifier: BSD-3-Clause
// Tensors that are written as JSON: lists in lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// Appends numbers of a shape, which begin at `values`, as lists in lists.
void write_tensor(float const* values, std::vector<std::int64_t> const& shape, std::string& to);
void write_number(float value, std::string& to);
/// A text in quotes.
void write_text(std::string_view text, std::string& to);

}  // namespace stagecraft::tool
