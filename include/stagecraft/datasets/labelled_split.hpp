// SPDX-License-Identifier: BSD-3-Clause
// A data set in two parts, as Keras's datasets load: `auto [train, test] = sc::datasets::digits();`.
#pragma once

#include <stagecraft/datasets/labelled_data.hpp>

namespace stagecraft::datasets {

/// What to train with, and what to judge the trained model with.
struct labelled_split {
  labelled_data train;  ///< samples to train with
  labelled_data test;   ///< samples that training does not see
};

}  // namespace stagecraft::datasets
