// SPDX-License-Identifier: BSD-3-Clause
// Several elements of a dataset that make one batch. Keras counterpart: what tf.data.Dataset.batch gives.
#pragma once

#include <vector>

namespace stagecraft::data {

/// Samples of one batch, one after the other.
template <class Element>
struct batch_of : std::vector<Element> {
  using std::vector<Element>::vector;
};

}  // namespace stagecraft::data
