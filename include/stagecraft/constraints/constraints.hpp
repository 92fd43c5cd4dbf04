// SPDX-License-Identifier: BSD-3-Clause
// All constraints of weights.
// Keras counterpart: tf.keras.constraints.
#pragma once

#include <stagecraft/constraints/max_norm.hpp>
#include <stagecraft/constraints/min_max_norm.hpp>
#include <stagecraft/constraints/non_neg.hpp>
#include <stagecraft/constraints/own_constraint.hpp>
#include <stagecraft/constraints/radial_constraint.hpp>
#include <stagecraft/constraints/unit_norm.hpp>
