// SPDX-License-Identifier: BSD-3-Clause
// Options that layer_normalization and group_normalization share: epsilon, and the weights beta and gamma.
// Read again each time, inside the braces of a struct: see layers/common_options.hpp.

/// A small number that is added to the variance, so that nothing is divided by 0.
float epsilon = 1e-3F;
/// True if the layer has weights `beta`, which are added to the result.
bool center = true;
/// True if the layer has weights `gamma`, which the result is multiplied by.
bool scale = true;
/// The values that `beta` begins with.
initializer beta_initializer = initializers::zeros{};
/// The values that `gamma` begins with.
initializer gamma_initializer = initializers::ones{};
/// A penalty on `beta` that is added to the loss: l1, l2 or both.
regularizer beta_regularizer = {};
/// A penalty on `gamma` that is added to the loss: l1, l2 or both.
regularizer gamma_regularizer = {};
/// The constraint on `beta` after each update: non_neg, max_norm and the like.
constraint beta_constraint = {};
/// The constraint on `gamma` after each update: non_neg, max_norm and the like.
constraint gamma_constraint = {};
