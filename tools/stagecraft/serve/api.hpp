// SPDX-License-Identifier: BSD-3-Clause
// What a server answers, apart from how bytes come and go: TensorFlow Serving's REST, KServe's version 2, metrics.
#pragma once

#include "serve/http/http_message.hpp"
#include "serve/served_models.hpp"
#include "serve/server_metrics.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The state that all handlers share.
struct server_state {
  served_models models;
  server_metrics metrics;
  std::chrono::microseconds time{};       ///< that a call may take; 0: any
  std::atomic<bool> is_stopping = false;  ///< no longer ready
  std::size_t max_bytes_in_flight = 0;
  std::atomic<std::size_t> bytes_in_flight =
      0;  ///< bytes of requests that are being read, and of the numbers of answers
};

/// Answers a request. Nothing is thrown.
[[nodiscard]] http_response answer(server_state& state, http_request request);

/// Answer requests under /v1 and /v2, and free their bodies once they are read. Throw http_error.
[[nodiscard]] http_response answer_rest(server_state& state, http_request& request);
[[nodiscard]] http_response answer_kserve(server_state& state, http_request& request);

/// A model that is there, and its version. Throws http_error 404 with TensorFlow Serving's words.
[[nodiscard]] served_version find_version(server_state const& state, std::string_view model,
                                          std::optional<std::int64_t> number);

/// Calls a version, and counts its outputs instead of the request if they are more; its errors become http_error: 400
/// inputs, 413 more outputs than may be there at all, 503 than may be there now, queue and stop, 504 time, 500 others.
[[nodiscard]] std::vector<std::vector<float>> call_version(server_state& state, served_version const& version,
                                                           std::vector<std::vector<float>> inputs, std::int64_t samples,
                                                           counted_bytes& counted);

/// "name/versions/3:predict" in parts.
struct model_path {
  std::string model;
  std::optional<std::int64_t> version;
  std::string rest;  ///< ":predict", "/metadata"
};
/// Throws http_error 404 if it is none.
[[nodiscard]] model_path parse_model_path(std::string_view path);

}  // namespace stagecraft::tool
