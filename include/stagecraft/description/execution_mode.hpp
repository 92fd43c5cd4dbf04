// SPDX-License-Identifier: BSD-3-Clause
// Whether a program trains or only predicts. Keras counterpart: the modes of tf.estimator.
#pragma once

namespace stagecraft {

/// Whether a program trains or only predicts.
enum class execution_mode : unsigned char { training, inference };

}  // namespace stagecraft
