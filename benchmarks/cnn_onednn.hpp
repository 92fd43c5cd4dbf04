// SPDX-License-Identifier: BSD-3-Clause
// The peer: the small convolutional network of oneDNN's primitives.
#pragma once

#include "cnn_network.hpp"
#include "onednn_network.hpp"

namespace stagecraft::benchmarks {

class cnn_onednn : public onednn_network {
 public:
  cnn_onednn(int batch, bool trains, network_weights const& weights)
      : onednn_network({batch, 1, cnn_side, cnn_side}, trains) {
    convolution(cnn_first, 3, weights[0]);
    convolution(cnn_second, 3, weights[1]);
    max_pooling(2);
    flatten();
    inner_product(cnn_units, true, weights[2]);
    inner_product(cnn_classes, false, weights[3]);
  }
};

}  // namespace stagecraft::benchmarks
