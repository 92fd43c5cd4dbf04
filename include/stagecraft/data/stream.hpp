// SPDX-License-Identifier: BSD-3-Clause
// One pass over a dataset. Keras counterpart: the iterator of a tf.data.Dataset.
#pragma once

#include <optional>

namespace stagecraft::data {

/// Elements one after the other. One thread at a time asks; `next` may throw, and the pass is over then.
template <class Element>
class stream {
 public:
  stream() = default;
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  virtual ~stream() = default;

  /// The next element, or none at the end, and again none behind it.
  [[nodiscard]] virtual std::optional<Element> next() = 0;
};

}  // namespace stagecraft::data
