// SPDX-License-Identifier: BSD-3-Clause
// The mean over classes of intersection over union: how well the classes of places, such as pixels, are found.
// Keras counterpart: tf.keras.metrics.MeanIoU.
#pragma once

#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics {

/// The mean over classes of intersection over union: how well the classes of places, such as pixels, are found. Keras:
/// tf.keras.metrics.MeanIoU.
/// The mean over classes of true positives / (true positives + false positives + false negatives), without classes that
/// do not occur. With one column, the whole part of a prediction or target is its class; with several, the largest
/// column is, as in Keras's OneHotMeanIoU. Rows of other classes do not count.
struct mean_io_u {
  int num_classes = 2;  ///< classes are 0 ... num_classes - 1

  static constexpr std::string_view name = "mean_io_u";

  constexpr operator metric() const noexcept {
    return {.kind = metric_kind::class_matrix,
            .k = num_classes,
            .options = stagecraft::detail::words_of(num_classes),
            .result = &rule};
  }

 private:
  static double mean(diagnostics::own_options const& options, metric_sums const& sums) {
    int const classes = stagecraft::detail::own_from<int>(options);
    double total = 0;
    int valid = 0;
    for (int i = 0; i < classes; ++i) {
      double both = -sums[i * classes + i];
      for (int j = 0; j < classes; ++j) both += sums[i * classes + j] + sums[j * classes + i];
      if (both == 0) continue;
      total += sums[i * classes + i] / both;
      ++valid;
    }
    return detail::ratio(total, valid);
  }
  static constexpr metric_result rule{name, &mean};
};

}  // namespace stagecraft::metrics
