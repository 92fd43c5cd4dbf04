// SPDX-License-Identifier: BSD-3-Clause
// Options that gru, lstm and simple_rnn share: penalties, constraints, dropout, and the handling of states and outputs.
// Read again each time, inside the braces of a struct: see layers/common_options.hpp.

/// A penalty on the kernel that is added to the loss: l1, l2 or both.
regularizer kernel_regularizer = {};
/// A penalty on the recurrent kernel that is added to the loss: l1, l2 or both.
regularizer recurrent_regularizer = {};
/// A penalty on the bias that is added to the loss: l1, l2 or both.
regularizer bias_regularizer = {};
/// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
regularizer activity_regularizer = {};
/// The constraint on the kernel after each update: non_neg, max_norm and the like.
constraint kernel_constraint = {};
/// The constraint on the recurrent kernel after each update: non_neg, max_norm and the like.
constraint recurrent_constraint = {};
/// The constraint on the bias after each update: non_neg, max_norm and the like.
constraint bias_constraint = {};
/// The share of the input's elements that training sets to 0, the same ones in all steps of time.
float dropout = 0;
/// The share of the state's elements that training sets to 0 before the product with the recurrent kernel.
float recurrent_dropout = 0;
/// True if the result is the output of all steps, or of the last one.
bool return_sequences = false;
/// True if the states after the last step are outputs as well, after the result.
bool return_state = false;
/// True if to begin at the end; a sequence has the order of the steps that were made.
bool go_backwards = false;
/// True if a batch begins with the states after the one before: see recurrent_layer.
bool stateful = false;
