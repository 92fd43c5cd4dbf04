// SPDX-License-Identifier: BSD-3-Clause
// Options that recurrent layers and cells share: the bias, and the values that their weights begin with.
// Read again each time, inside the braces of a struct: see layers/common_options.hpp.

/// True if there is a weight `bias`, which is added to the products.
bool use_bias = true;
/// The values that the kernel begins with.
initializer kernel_initializer = initializers::glorot_uniform{};
/// The values that the recurrent kernel begins with.
initializer recurrent_initializer = initializers::orthogonal{};
/// The values that the bias begins with.
initializer bias_initializer = initializers::zeros{};
