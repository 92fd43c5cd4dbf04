// SPDX-License-Identifier: BSD-3-Clause
// The largest of several deviations, where one that is not a number must not be lost behind a later one.
#pragma once

#include <limits>

/// The larger of two deviations; infinity if `here` is not a number.
inline double larger_deviation(double worst, double here) {
  if (here <= worst) return worst;
  return here > worst ? here : std::numeric_limits<double>::infinity();
}
