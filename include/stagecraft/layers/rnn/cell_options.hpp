// SPDX-License-Identifier: BSD-3-Clause
// Options that gru_cell, lstm_cell and simple_rnn_cell share: penalties, constraints and dropout. Read again each time,
// inside the braces of a struct: see layers/common_options.hpp.

/// A penalty on the kernel that is added to the loss.
regularizer kernel_regularizer = {};
/// A penalty on the recurrent kernel that is added to the loss.
regularizer recurrent_regularizer = {};
/// A penalty on the bias that is added to the loss.
regularizer bias_regularizer = {};
/// The constraint on the kernel after each update.
constraint kernel_constraint = {};
/// The constraint on the recurrent kernel after each update.
constraint recurrent_constraint = {};
/// The constraint on the bias after each update.
constraint bias_constraint = {};
/// The share of the inputs' elements that training sets to 0, the same in all steps.
float dropout = 0;
/// The share of the state's elements that training sets to 0 before the product with the recurrent kernel.
float recurrent_dropout = 0;
