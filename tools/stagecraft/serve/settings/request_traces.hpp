// SPDX-License-Identifier: BSD-3-Clause
// Times of single calls in a file: Triton's traces.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// Settings by Triton's names: trace_level, trace_rate, trace_count, log_frequency; trace_file and trace_mode are only
/// read.
using trace_values = std::map<std::string, std::vector<std::string>>;

/// Decides for each model which calls are traced, and writes them. Any thread may call any function.
class request_traces {
 public:
  using clock = std::chrono::steady_clock;

  /// `path`: the file; empty: nothing can be traced.
  explicit request_traces(std::string path = {}) : path_(std::move(path)) {}
  request_traces(request_traces const&) = delete;
  request_traces& operator=(request_traces const&) = delete;
  /// Completes the file.
  ~request_traces();

  /// The settings of a model, or those of all others.
  [[nodiscard]] trace_values values(std::string const& model) const;
  /// Changes settings of a model, or of all; an empty list takes a setting of a model back to that of all, or one of
  /// all to the default. Throws http_error 400: a setting that is unknown or cannot be changed, or a wrong value.
  void change(std::string const& model, trace_values const& to);

  /// The number of the trace, if this call of the model is traced; 0: it is not.
  [[nodiscard]] std::uint64_t begin(std::string const& model) noexcept;
  /// Writes a trace; `parent`: the trace id that the request came with, or nothing.
  void end(std::uint64_t id, std::string const& model, std::int64_t version, std::string_view parent,
           clock::time_point begin, clock::time_point end) noexcept;

 private:
  struct settings {
    std::map<std::string, std::string> told;  ///< what was set, in the place of that of all
    std::int64_t calls = 0, traced = 0;       ///< since it was set
  };
  [[nodiscard]] std::string value_of(std::string const& model, std::string const& name) const;
  void close() noexcept;

  std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, settings> models_;  ///< "": all others
  std::atomic<bool> is_on_ = false;         ///< some level is not OFF
  std::atomic<std::uint64_t> last_id_ = 0;
  std::FILE* file_ = nullptr;
  std::int64_t in_file_ = 0, files_ = 0;  ///< traces in the present file, and files that are complete
};

}  // namespace stagecraft::tool
