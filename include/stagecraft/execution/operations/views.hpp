// SPDX-License-Identifier: BSD-3-Clause
// Layers without steps of their own on the host: inputs are filled from outside; flatten, reshape and checkpoints are
// views. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/layers/flatten.hpp>
#include <stagecraft/layers/input.hpp>
#include <stagecraft/layers/recomputation_checkpoint.hpp>
#include <stagecraft/layers/reshape.hpp>

namespace stagecraft {

template <>
struct operation<layers::input> : view_operation {};
template <>
struct operation<layers::flatten> : view_operation {};
template <>
struct operation<layers::reshape> : view_operation {};
template <>
struct operation<layers::recomputation_checkpoint> : view_operation {};

}  // namespace stagecraft
