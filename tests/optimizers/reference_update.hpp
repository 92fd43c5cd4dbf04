// SPDX-License-Identifier: BSD-3-Clause
// The optimizers' steps once more, as plain formulas of doubles: what the library's are held against.
#pragma once

#include <stagecraft/optimizers/optimizers.hpp>
#include <cmath>
#include <cstdint>

namespace reference {

namespace optimizers = stagecraft::optimizers;

/// One step of one weight; the slots are in the order in which the optimizer makes them.
inline void update(optimizers::sgd const& o, double rate, std::int64_t, double& w, double g, double* slots) {
  if (o.momentum == 0) {
    w -= rate * g;
    return;
  }
  slots[0] = o.momentum * slots[0] - rate * g;
  w += o.nesterov ? o.momentum * slots[0] - rate * g : slots[0];
}

inline void update(optimizers::rmsprop const& o, double rate, std::int64_t, double& w, double g, double* slots) {
  double& mean = slots[o.momentum != 0 ? 2 : 1];
  slots[0] = o.rho * slots[0] + (1 - o.rho) * g * g;
  double square = slots[0];
  if (o.centered) {
    mean = o.rho * mean + (1 - o.rho) * g;
    square -= mean * mean;
  }
  if (o.momentum != 0) {
    slots[1] = o.momentum * slots[1] + rate * g / std::sqrt(square + o.epsilon);
    w -= slots[1];
  } else {
    w -= rate * g / (std::sqrt(square) + o.epsilon);
  }
}

inline void update(optimizers::adam const& o, double rate, std::int64_t step, double& w, double g, double* slots) {
  double const t = static_cast<double>(step);
  slots[0] = o.beta_1 * slots[0] + (1 - o.beta_1) * g;
  slots[1] = o.beta_2 * slots[1] + (1 - o.beta_2) * g * g;
  double square = slots[1];
  if (o.amsgrad) square = slots[2] = slots[2] > slots[1] ? slots[2] : slots[1];
  w -= rate * std::sqrt(1 - std::pow(o.beta_2, t)) / (1 - std::pow(o.beta_1, t)) * slots[0] /
       (std::sqrt(square) + o.epsilon);
}

}  // namespace reference
