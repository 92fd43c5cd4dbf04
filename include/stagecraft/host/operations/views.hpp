// SPDX-License-Identifier: BSD-3-Clause
// Layers without steps on the host: inputs are filled from outside, checkpoints are views.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/layers/core/graphcore_layers.hpp>
#include <stagecraft/layers/core/input.hpp>

namespace stagecraft::cpu {

template <>
struct operation<layers::input> : view_operation {};
template <>
struct operation<layers::recomputation_checkpoint> : view_operation {};

}  // namespace stagecraft::cpu
