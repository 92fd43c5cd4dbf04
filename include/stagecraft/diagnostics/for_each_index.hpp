// SPDX-License-Identifier: BSD-3-Clause
// A loop over numbers that are constants in its body.
#pragma once

#include <cstddef>
#include <utility>

namespace stagecraft::diagnostics {

/// Calls `each<0>()`, `each<1>()` and so on, `Count` times: `for_each_index<3>([&]<int Index>() { ... })`.
template <std::size_t Count, class Each>
constexpr void for_each_index(Each const& each) {
  [&each]<std::size_t... Index>(std::index_sequence<Index...>) {
    static_cast<void>(each);
    // A list: Clang folds no more than 256 operands.
    [[maybe_unused]] int const done[] { 0, (each.template operator()<static_cast<int>(Index)>(), 0)... };
  }(std::make_index_sequence<Count>{});
}

}  // namespace stagecraft::diagnostics
