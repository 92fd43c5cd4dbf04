// SPDX-License-Identifier: BSD-3-Clause
// Operations that have no operands, where a computation begins; and the one where it ends, which writes a weight.
#pragma once

#include <stagecraft/operations/kinds/extents.hpp>
#include <cstdint>

namespace stagecraft::operations {

/// A tensor that the computation is called with.
struct input {
  int index = 0;
};

/// A weight of the layer, by its place in the list of weights.
struct weight {
  int index = 0;
};

/// One number, at each place of its extents.
struct constant {
  float value = 0;
};

/// 0, 1, 2, ... along one axis.
struct iota {
  int axis = 0;
};

/// What `random` draws from.
enum class random_distribution : unsigned char {
  uniform,  ///< from [0, 1)
  normal,   ///< mean 0, standard deviation 1
};

/// Numbers that are drawn anew in each step, from the stream of the call.
struct random {
  random_distribution distribution = random_distribution::uniform;
  std::uint64_t seed = 0;  ///< 0: that of the program
};

/// Writing a weight.
/// Of a weight, a value and a copy of the weight: the weight has the value when the forward step has ended. All reads
/// see the old one: a backward step, which comes later, those of the copy.
struct update {};

}  // namespace stagecraft::operations
