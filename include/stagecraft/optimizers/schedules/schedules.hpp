// SPDX-License-Identifier: BSD-3-Clause
// All schedules of learning rates.
// Keras counterpart: tf.keras.optimizers.schedules.
#pragma once

#include <stagecraft/optimizers/schedules/cosine_decay.hpp>
#include <stagecraft/optimizers/schedules/cosine_decay_restarts.hpp>
#include <stagecraft/optimizers/schedules/exponential_decay.hpp>
#include <stagecraft/optimizers/schedules/inverse_time_decay.hpp>
#include <stagecraft/optimizers/schedules/linear_warmup.hpp>
#include <stagecraft/optimizers/schedules/piecewise_constant_decay.hpp>
#include <stagecraft/optimizers/schedules/polynomial_decay.hpp>
