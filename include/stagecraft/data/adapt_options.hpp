// SPDX-License-Identifier: BSD-3-Clause
// The options of `adapt` of a dataset. Keras counterpart: the keyword arguments of a preprocessing layer's adapt.
#pragma once

namespace stagecraft::data {

/// Options of `adapt`.
struct adapt_options {
  int steps = 0;  ///< batches that are read, or groups of 32 samples of a dataset without batches; 0: all of a pass
};

}  // namespace stagecraft::data
