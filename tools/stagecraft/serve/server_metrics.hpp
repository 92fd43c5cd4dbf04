// SPDX-License-Identifier: BSD-3-Clause
// A server's counts, for Prometheus.
#pragma once

#include "serve/models/served_models.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace stagecraft::tool {

/// Counts of requests by status, and their times.
class server_metrics {
 public:
  void count(int status, std::chrono::duration<double> time);

  /// Returns the metrics in Prometheus's text format, with the counts of the models' runtimes.
  [[nodiscard]] std::string text(served_models const& models) const;

 private:
  static constexpr std::array<double, 12> limits{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                 0.05,   0.1,   0.25,   0.5,   1,    2.5};
  mutable std::mutex mutex_;
  std::map<int, std::int64_t> requests_;
  std::array<std::int64_t, limits.size() + 1> times_{};
  double seconds_ = 0;
};

}  // namespace stagecraft::tool
