// SPDX-License-Identifier: BSD-3-Clause
// Images and their labels: what a data set hands to fit, evaluate and predict.
#pragma once

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

}  // namespace stagecraft::datasets
