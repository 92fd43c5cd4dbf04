// SPDX-License-Identifier: BSD-3-Clause
// All weight penalties.
// Keras counterpart: tf.keras.regularizers.
#pragma once

#include <stagecraft/regularizers/l1.hpp>
#include <stagecraft/regularizers/l1_l2.hpp>
#include <stagecraft/regularizers/l2.hpp>
#include <stagecraft/regularizers/own_regularizer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
