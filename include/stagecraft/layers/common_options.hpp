// SPDX-License-Identifier: BSD-3-Clause
// The options that every layer has: the last lines of the struct of a layer's options, which includes this inside its
// braces, so that a program names them there as it names the others. (Designators do not reach members of a base, and
// editors do not show comments inside a macro.) An empty line between two such includes keeps clang-format from sorting
// them. Read again each time.

/// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
fixed_name name = {};
/// False: a frozen layer, whose weights training does not change.
bool trainable = true;
/// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
stagecraft::dtype dtype = stagecraft::dtype::of_policy;
