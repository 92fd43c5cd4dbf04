// SPDX-License-Identifier: BSD-3-Clause
// Images with labels, in two parts, as Keras's datasets return them: `auto [train, test] = sc::datasets::digits();`.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/training/data/xtensor.hpp>
#include <cstdint>

namespace stagecraft::datasets {

/// Images and their classes, sample by sample.
struct labelled_data {
  /// Shape (samples, rows, columns), values from 0 (background) to 1 (ink).
  xt::xtensor<float, 3> x;
  /// Shape (samples), class of each image, from 0.
  xt::xtensor<std::int32_t, 1> y;
};

/// Data to train with, and data to evaluate the trained model with.
struct labelled_split {
  labelled_data train;  ///< samples to train with
  labelled_data test;   ///< samples that training does not see
};

}  // namespace stagecraft::datasets

#include <stagecraft/diagnostics/end_headers.hpp>
