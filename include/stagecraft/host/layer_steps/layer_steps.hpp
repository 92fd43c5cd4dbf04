// SPDX-License-Identifier: BSD-3-Clause
// The layer steps of all layers with kernels of their own, and of layers without steps: inputs are filled from outside,
// checkpoints are views.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/layer_steps/batch_normalization.hpp>
#include <stagecraft/host/layer_steps/convolution.hpp>
#include <stagecraft/host/layer_steps/dense.hpp>
#include <stagecraft/host/layer_steps/layer_normalization.hpp>
#include <stagecraft/host/layer_steps/pooling.hpp>
#include <stagecraft/host/layer_steps/separable_convolution.hpp>
#include <stagecraft/host/layer_steps/time_distributed.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/layers/core/graphcore_layers.hpp>
#include <stagecraft/layers/core/input.hpp>

namespace stagecraft::cpu {

template <>
struct layer_steps<layers::input> : view_steps {};
template <>
struct layer_steps<layers::recomputation_checkpoint> : view_steps {};

}  // namespace stagecraft::cpu
