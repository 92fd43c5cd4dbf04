// SPDX-License-Identifier: BSD-3-Clause
// ResNet-50 as tf.keras.applications builds it: 177 layers, the input included.
#pragma once

#include <stagecraft/applications/resnet50.hpp>
#include <stagecraft/pipeline.hpp>

namespace resnet {

namespace sc = stagecraft;

using sc::applications::bottleneck;
using resnet50 = sc::applications::resnet50<>;

/// The assignment of the guide: all up to one residual block in stage 0, the rest in stage 1.
using two_stages = sc::pipelined<resnet50, [](auto& assignment) {
  int stage = 0;
  for (auto& call : assignment) {
    call.pipeline_stage = stage;
    if (call.layer_name() == "conv4_block2_add") stage = 1;
  }
}>;

}  // namespace resnet
