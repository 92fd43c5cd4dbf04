// SPDX-License-Identifier: BSD-3-Clause
// All weight initializers.
// Keras counterpart: tf.keras.initializers.
#pragma once

#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/glorot_normal.hpp>
#include <stagecraft/initializers/glorot_uniform.hpp>
#include <stagecraft/initializers/he_normal.hpp>
#include <stagecraft/initializers/he_uniform.hpp>
#include <stagecraft/initializers/identity.hpp>
#include <stagecraft/initializers/initializer.hpp>
#include <stagecraft/initializers/lecun_normal.hpp>
#include <stagecraft/initializers/lecun_uniform.hpp>
#include <stagecraft/initializers/ones.hpp>
#include <stagecraft/initializers/orthogonal.hpp>
#include <stagecraft/initializers/own_initializer.hpp>
#include <stagecraft/initializers/random_normal.hpp>
#include <stagecraft/initializers/random_uniform.hpp>
#include <stagecraft/initializers/truncated_normal.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/initializers/zeros.hpp>
