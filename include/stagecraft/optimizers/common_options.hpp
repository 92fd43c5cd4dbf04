// SPDX-License-Identifier: BSD-3-Clause
// Options of gradients that the library's optimizers share. Read again each time, inside the braces of a struct: see
// layers/common_options.hpp.

/// The learning rate is divided by 1 + decay n after n weight updates. The trainer's `learning_rate()`, which callbacks
/// change, is the rate before this division.
float decay = 0;
/// The gradient of a weight is scaled down where its Euclidean norm is larger than this; 0: not at all.
float clipnorm = 0;
/// Gradients are limited to [-clipvalue, clipvalue]; 0: not at all.
float clipvalue = 0;
/// The gradients of all weights are scaled down where the norm of all of them together is larger than this; 0: not at
/// all. It excludes `clipnorm` (E4089).
float global_clipnorm = 0;
