// SPDX-License-Identifier: BSD-3-Clause
// All loss functions.
// Keras counterpart: tf.keras.losses.
#pragma once

#include <stagecraft/losses/binary_crossentropy.hpp>
#include <stagecraft/losses/categorical_crossentropy.hpp>
#include <stagecraft/losses/categorical_hinge.hpp>
#include <stagecraft/losses/cosine_similarity.hpp>
#include <stagecraft/losses/ctc.hpp>
#include <stagecraft/losses/hinge.hpp>
#include <stagecraft/losses/huber.hpp>
#include <stagecraft/losses/kl_divergence.hpp>
#include <stagecraft/losses/log_cosh.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/mean_absolute_error.hpp>
#include <stagecraft/losses/mean_absolute_percentage_error.hpp>
#include <stagecraft/losses/mean_squared_error.hpp>
#include <stagecraft/losses/mean_squared_logarithmic_error.hpp>
#include <stagecraft/losses/poisson.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/losses/sparse_categorical_crossentropy.hpp>
#include <stagecraft/losses/squared_hinge.hpp>
