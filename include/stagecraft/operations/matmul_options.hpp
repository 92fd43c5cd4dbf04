// SPDX-License-Identifier: BSD-3-Clause
// Options of a product of matrices.
#pragma once

namespace stagecraft::operations {

/// Both transposes of a product, as in tf.linalg.matmul.
struct matmul_options {
  bool transpose_a = false;  ///< whether the last two axes of a change places first
  bool transpose_b = false;  ///< whether those of b do
};

}  // namespace stagecraft::operations
