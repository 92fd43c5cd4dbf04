// SPDX-License-Identifier: BSD-3-Clause
// A copy of one of a model's weights.
#pragma once

#include <string>
#include <vector>

namespace stagecraft {

/// Name, shape and values (row-major) of one weight, in Keras's layout, independent of how kernels store it.
/// `xt::adapt(weight.values, weight.shape)` makes an xtensor adaptor of it.
struct weight_array {
  std::string name;           ///< as Keras names it, for example "dense/kernel:0"
  std::vector<int> shape;     ///< Keras's shape of it, for example (inputs, units)
  std::vector<float> values;  ///< all of it, row-major

  friend bool operator==(weight_array const&, weight_array const&) = default;
};

}  // namespace stagecraft
