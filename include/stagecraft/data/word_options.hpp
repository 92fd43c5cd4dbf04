// SPDX-License-Identifier: BSD-3-Clause
// Options of a dataset's words and of `adapt`. Keras counterpart: the keyword arguments of tf.data.Dataset's
// methods, and of adapt of a preprocessing layer.
#pragma once

#include <cstdint>
#include <vector>

namespace stagecraft::data {

/// In place of a number of calls or of elements: the number of the processor's threads. tf.data.AUTOTUNE.
inline constexpr int autotune = -1;

/// Options of `shuffle`.
struct shuffle_options {
  std::uint64_t seed = 1;                ///< the order follows from it, and from the number of the pass
  bool reshuffle_each_iteration = true;  ///< true: each pass has an order of its own
};

/// Options of `map`.
struct map_options {
  /// Number of threads that call the function, each a copy of its own; 1: the thread that asks for elements. The order
  /// of the elements does not depend on it.
  int num_parallel_calls = 1;
};

/// Options of `interleave`.
struct interleave_options {
  /// Number of the function's datasets that are open at a time. It has no default, since the order depends on it.
  std::int64_t cycle_length = 0;
  std::int64_t block_length = 1;  ///< number of elements that one dataset contributes at a time
  /// Number of open datasets that have a thread of their own, which reads ahead; at most cycle_length; 1: none. The
  /// order of the elements does not depend on it.
  int num_parallel_calls = 1;
};

/// Options of `window`.
struct window_options {
  std::int64_t shift = 0;       ///< elements from the beginning of a window to that of the next; 0: the window's size
  std::int64_t stride = 1;      ///< elements from one of a window's elements to the next
  bool drop_remainder = false;  ///< true: the last windows are left out if they are shorter than the others
};

/// Options of `padded_batch`.
struct padded_batch_options {
  /// The shapes that samples are padded to, one for each array of an element, in order; -1 for an axis: the longest
  /// sample of the batch. None: -1 for each axis.
  std::vector<std::vector<int>> padded_shapes{};
  /// The numbers that samples are padded with: one for each array of an element, or one for all arrays. None: zeros.
  std::vector<double> padding_values{};
  bool drop_remainder = false;  ///< true: a last batch of fewer samples is left out
};

/// Options of `adapt`.
struct adapt_options {
  int steps = 0;  ///< number of batches, or of groups of 32 samples of a dataset without batches, that are read; 0: a
                  ///< whole pass
};

}  // namespace stagecraft::data
