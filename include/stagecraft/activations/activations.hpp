// SPDX-License-Identifier: BSD-3-Clause
// All activation functions.
// Keras counterpart: tf.keras.activations.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/activations/own_activation.hpp>
