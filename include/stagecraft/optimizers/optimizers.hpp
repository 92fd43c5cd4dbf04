// SPDX-License-Identifier: BSD-3-Clause
// All optimizers.
// Keras counterpart: tf.keras.optimizers.
#pragma once

#include <stagecraft/optimizers/adadelta.hpp>
#include <stagecraft/optimizers/adagrad.hpp>
#include <stagecraft/optimizers/adam.hpp>
#include <stagecraft/optimizers/adamax.hpp>
#include <stagecraft/optimizers/adamw.hpp>
#include <stagecraft/optimizers/als_optimizer.hpp>
#include <stagecraft/optimizers/ftrl.hpp>
#include <stagecraft/optimizers/lamb.hpp>
#include <stagecraft/optimizers/lars.hpp>
#include <stagecraft/optimizers/loss_scale_optimizer.hpp>
#include <stagecraft/optimizers/moving_average.hpp>
#include <stagecraft/optimizers/nadam.hpp>
#include <stagecraft/optimizers/rmsprop.hpp>
#include <stagecraft/optimizers/sgd.hpp>
#include <stagecraft/optimizers/sgdw.hpp>
