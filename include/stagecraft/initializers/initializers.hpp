// SPDX-License-Identifier: BSD-3-Clause
// All weight initializers.
// Keras counterpart: tf.keras.initializers.
#pragma once

#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/initializer.hpp>
#include <stagecraft/initializers/random.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
