// SPDX-License-Identifier: BSD-3-Clause
// The peer: the perceptron of oneDNN's primitives.
#pragma once

#include "mlp_network.hpp"
#include "onednn_network.hpp"

namespace stagecraft::benchmarks {

class mlp_onednn : public onednn_network {
 public:
  mlp_onednn(int batch, bool trains, network_weights const& weights) : onednn_network({batch, mlp_inputs}, trains) {
    inner_product(mlp_first, true, weights[0]);
    inner_product(mlp_second, true, weights[1]);
    inner_product(mlp_classes, false, weights[2]);
  }
};

}  // namespace stagecraft::benchmarks
