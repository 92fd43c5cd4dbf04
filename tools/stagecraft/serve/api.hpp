// SPDX-License-Identifier: BSD-3-Clause
// The answers of a server, independent of its connections: TensorFlow Serving's REST, KServe's version 2, metrics.
#pragma once

#include "serve/http/http_message.hpp"
#include "serve/models/served_models.hpp"
#include "serve/server_calls.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings/request_traces.hpp"
#include "serve/settings/server_log.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

class model_watcher;

/// The state that all handlers share. `trace_file`: where calls are traced; empty: nowhere.
struct server_state {
  explicit server_state(std::string trace_file = {}) : traces(std::move(trace_file)) {}

  served_models models;
  server_metrics metrics;
  model_watcher* watcher = nullptr;       ///< changes the models; null before the first requests
  std::chrono::microseconds time{};       ///< time that a call may take; 0: any
  std::atomic<bool> is_stopping = false;  ///< true: the server is no longer ready
  std::size_t max_bytes_in_flight = 0;
  request_traces traces;
  std::unique_ptr<shared_regions> memory;  ///< null: nothing is shared with clients
  /// Paths of the metrics; empty ones have none.
  std::array<std::string, 2> metrics_paths{"/metrics", "/monitoring/prometheus/metrics"};
  std::atomic<std::size_t> bytes_in_flight =
      0;  ///< bytes of requests that are being read, and of the numbers of answers
};

/// Answers a request. Throws nothing.
[[nodiscard]] http_response answer(server_state& state, http_request request);

/// These answer requests under /v1 and /v2, and free their bodies when they have been read. They throw http_error.
[[nodiscard]] http_response answer_rest(server_state& state, http_request& request);
[[nodiscard]] http_response answer_kserve(server_state& state, http_request& request);
/// Answers one of Triton's extensions about models: `path` is that of /v2 without it, "repository/index",
/// "models/stats". None if it is no path of them. Throws http_error.
[[nodiscard]] std::optional<http_response> answer_triton(server_state& state, std::string_view path,
                                                         http_request& request);

/// Answers one of Triton's extensions of settings, as answer_triton does: "logging", "trace/setting".
[[nodiscard]] std::optional<http_response> answer_settings(server_state& state, std::string_view path,
                                                           http_request const& request);

/// True if each model has a version, which answers, and the server does not end. Allocates nothing, but for ensembles.
[[nodiscard]] bool is_ready(server_state const& state);
/// True if the version answers: of an ensemble, if its models have versions, too.
[[nodiscard]] bool answers(server_state const& state, served_version const& version, int depth = 0);

/// Finds a model and its version. Throws http_error with TensorFlow Serving's words: 404 there is none, 400 there is no
/// such label.
[[nodiscard]] served_version find_version(server_state const& state, std::string_view model,
                                          version_choice const& which);

/// Calls a version, and counts its outputs in place of the request if they have more bytes. Its errors become
/// http_error: 400 wrong inputs; 413 more bytes of outputs than are ever allowed; 503 more than are allowed now, a full
/// queue, a stopped runtime; 504 time; 500 others; and those of a sequence_batcher.
[[nodiscard]] std::vector<std::vector<float>> call_version(server_state& state, served_version const& version,
                                                           std::vector<std::vector<float>> inputs, std::int64_t samples,
                                                           counted_bytes& counted, call_options const& options);

/// The version that a request of a sequence means: the one where it began, or else the found one.
[[nodiscard]] served_version find_version(server_state const& state, std::string_view model, served_version found,
                                          sequence_request const& sequence);

/// The memory that clients share. Throws http_error 400 without --allow_shared_memory.
[[nodiscard]] shared_regions& memory_of(server_state& state);

/// The state of a server as a front in another module sees it. Keeps a reference.
class state_calls final : public server_calls {
 public:
  explicit state_calls(server_state& state) : state_(state) {}
  [[nodiscard]] served_version find(std::string_view model, version_choice const& which) override {
    return find_version(state_, model, which);
  }
  [[nodiscard]] std::vector<std::vector<float>> call(served_version const& version,
                                                     std::vector<std::vector<float>> inputs, std::int64_t samples,
                                                     counted_bytes& counted, call_options const& options) override {
    return call_version(state_, version, std::move(inputs), samples, counted, options);
  }
  [[nodiscard]] served_version find(std::string_view model, served_version found,
                                    sequence_request const& sequence) override {
    return find_version(state_, model, std::move(found), sequence);
  }
  [[nodiscard]] std::vector<std::string> names() override;
  [[nodiscard]] bool has_models() override { return state_.models.all()->size() > 1; }
  [[nodiscard]] std::map<std::int64_t, version_state> states(std::string_view model) override;
  [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view model) override;
  [[nodiscard]] bool is_ready() override;
  void reload(std::vector<model_settings> models) override;
  void load(std::string const& name) override;
  void unload(std::string const& name, bool with_steps) override;
  [[nodiscard]] bool answers(served_version const& version) override;
  void count(int status, std::chrono::duration<double> time) override { state_.metrics.count(status, time); }
  [[nodiscard]] std::atomic<std::size_t>& bytes_in_flight() override { return state_.bytes_in_flight; }
  [[nodiscard]] shared_regions& memory() override { return memory_of(state_); }
  [[nodiscard]] log_values change_log(log_values const& to) override;
  [[nodiscard]] trace_values change_traces(std::string const& model, trace_values const& to) override;

 private:
  server_state& state_;
};

/// The parts of a path such as "name/versions/3:predict" or "name/labels/stable:predict".
struct model_path {
  std::string model;
  version_choice version;
  std::string rest;  ///< ":predict", "/metadata"
};
/// Divides a path into its parts; only TensorFlow Serving's have labels. Throws http_error 404 for any other path.
[[nodiscard]] model_path parse_model_path(std::string_view path, bool has_labels);

}  // namespace stagecraft::tool
