// SPDX-License-Identifier: BSD-3-Clause
// All optimizers.
// Keras counterpart: tf.keras.optimizers.
#pragma once

#include <stagecraft/optimizers/adam.hpp>
#include <stagecraft/optimizers/rmsprop.hpp>
#include <stagecraft/optimizers/sgd.hpp>
