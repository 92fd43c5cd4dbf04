// SPDX-License-Identifier: BSD-3-Clause
// All loss functions.
// Keras counterpart: tf.keras.losses.
#pragma once

#include <stagecraft/losses/ctc.hpp>
#include <stagecraft/losses/hinge.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/probabilistic.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/losses/regression.hpp>
