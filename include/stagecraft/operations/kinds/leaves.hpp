// SPDX-License-Identifier: BSD-3-Clause
// Operations without operands, with which a computation begins; and the one with which it ends, which writes a weight.
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

/// One number at each place of its extents.
struct constant {
  float value = 0;
};

/// 0, 1, 2, ... along one axis.
struct iota {
  int axis = 0;
};

/// The distribution that `random` draws from.
enum class random_distribution : unsigned char {
  uniform,  ///< from [0, 1)
  normal,   ///< mean 0, standard deviation 1
};

/// Random numbers, drawn anew in each step from the stream of the call.
struct random {
  random_distribution distribution = random_distribution::uniform;
  std::uint64_t seed = 0;  ///< 0: the trainer's seed
};

/// Writes a weight. Operands: the weight, a value, and a copy of the weight. The weight gets the value when the forward
/// step has ended; until then all operations read the old one. The backward step, which comes later, reads the copy.
struct update {};

}  // namespace stagecraft::operations
