// SPDX-License-Identifier: BSD-3-Clause
// All optimizers.
// Keras counterpart: tf.keras.optimizers.
#pragma once

#include <stagecraft/optimizers/adagrad.hpp>
#include <stagecraft/optimizers/adam.hpp>
#include <stagecraft/optimizers/ftrl.hpp>
#include <stagecraft/optimizers/loss_scale_optimizer.hpp>
#include <stagecraft/optimizers/moving_average.hpp>
#include <stagecraft/optimizers/rmsprop.hpp>
#include <stagecraft/optimizers/sgd.hpp>
#include <stagecraft/optimizers/trust_ratio.hpp>
