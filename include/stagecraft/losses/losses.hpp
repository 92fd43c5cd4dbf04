// SPDX-License-Identifier: BSD-3-Clause
// All loss functions.
// Keras counterpart: tf.keras.losses. Level 2 of the house.
#pragma once

#include <stagecraft/losses/binary_crossentropy.hpp>
#include <stagecraft/losses/categorical_crossentropy.hpp>
#include <stagecraft/losses/huber.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/mean_absolute_error.hpp>
#include <stagecraft/losses/mean_squared_error.hpp>
#include <stagecraft/losses/sparse_categorical_crossentropy.hpp>
