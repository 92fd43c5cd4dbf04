// SPDX-License-Identifier: BSD-3-Clause
// All optimizers.
// Keras counterpart: tf.keras.optimizers. Level 2 of the house.
#pragma once

#include <stagecraft/optimizers/adam.hpp>
#include <stagecraft/optimizers/rmsprop.hpp>
#include <stagecraft/optimizers/sgd.hpp>
