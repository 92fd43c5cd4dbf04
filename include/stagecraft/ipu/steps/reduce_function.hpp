// SPDX-License-Identifier: BSD-3-Clause
// What reductions make of the elements along an axis.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstdint>

namespace stagecraft::tiles {

enum class reduce_function : std::int64_t {
  sum,
  mean,
  sum_of_squares,
  sum_of_products,  ///< of two inputs, element by element
  maximum
};

}  // namespace stagecraft::tiles
