// SPDX-License-Identifier: BSD-3-Clause
// What a front in a module of its own asks of the server, by virtual functions, so that the module needs none of the
// program's symbols; and what the program asks of such a front.
#pragma once

#include "serve/http/counted_bytes.hpp"
#include "serve/http/http_message.hpp"
#include "serve/models/served_models.hpp"
#include "serve/settings/request_traces.hpp"
#include "serve/settings/server_log.hpp"
#include "serve/shared_memory.hpp"

#include <stagecraft/version.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The version of this program, "0.2.0".
[[nodiscard]] inline std::string version_text() {
  return std::to_string(version_major) + "." + std::to_string(version_minor) + "." + std::to_string(version_patch);
}

/// What calls of a version have waited for a batch.
[[nodiscard]] inline call_times::sum queue_of(serving::runtime_statistics const& counts) noexcept {
  constexpr std::int64_t nanoseconds = 1000;  // of a microsecond
  return {.calls = counts.begun_calls, .nanoseconds = counts.queue_us * nanoseconds};
}

/// The parameters of a request's call.
struct call_options {
  std::chrono::microseconds time{};  ///< that it may take; 0: any
  sequence_request sequence;
  int priority = 0;              ///< as embedded_runtime::submit takes it
  std::string_view parent = {};  ///< the request's trace id; empty: none
  int depth = 0;                 ///< ensembles that the call is in
};

/// TensorFlow Serving's words for a model without versions, or without this one, 0: any.
[[nodiscard]] inline std::string no_version_text(std::string const& model, std::int64_t number) {
  return number == 0 ? "Could not find any versions of model " + model
                     : "Could not find version " + std::to_string(number) + " of model " + model;
}
/// The signature of examples that a request names, which may be empty. Throws http_error 400 with TensorFlow Serving's
/// words if there is none, `missing` and its name, or if it is of another method.
[[nodiscard]] inline bound_signature const& find_signature(
    served_version const& version, std::string const& asked, bool classifies,
    std::string const& missing = "No signature was found with the name: ") {
  if (!version.signatures->has(asked)) throw http_error{400, missing + asked};
  auto const* const found = version.signatures->find(asked);
  if (found != nullptr && found->classifies == classifies) return *found;
  throw http_error{400, std::string("Expected ") + (classifies ? "classification" : "regression") +
                            " signature method_name to be tensorflow/serving/" + (classifies ? "classify" : "regress") +
                            ". Was: " + (found == nullptr ? "tensorflow/serving/predict" : found->method_name())};
}

/// The models of a server and their calls. Any thread may call any function. Errors are http_error.
class server_calls {
 public:
  /// Finds a model and its version, as find_version does.
  [[nodiscard]] virtual served_version find(std::string_view model, version_choice const& which) = 0;
  /// The version that a request of a sequence means: the one where it began, or else the found one.
  [[nodiscard]] virtual served_version find(std::string_view model, served_version found,
                                            sequence_request const& sequence) = 0;
  /// Calls a version. Throws as call_version does.
  [[nodiscard]] virtual std::vector<std::vector<float>> call(served_version const& version,
                                                             std::vector<std::vector<float>> inputs,
                                                             std::int64_t samples, counted_bytes& counted,
                                                             call_options const& options) = 0;
  [[nodiscard]] virtual std::vector<std::string> names() = 0;
  /// True if there are several models.
  [[nodiscard]] virtual bool has_models() = 0;
  /// The states of a model's versions; none for an unknown model.
  [[nodiscard]] virtual std::map<std::int64_t, version_state> states(std::string_view model) = 0;
  /// The numbers of a model's versions that are served, increasing.
  [[nodiscard]] virtual std::vector<std::int64_t> numbers(std::string_view model) = 0;
  /// True if each model has a version, and the server does not end.
  [[nodiscard]] virtual bool is_ready() = 0;
  /// These change the models, and wait until that is done: see model_watcher, whose errors they throw.
  virtual void reload(std::vector<model_settings> models) = 0;
  virtual void load(std::string const& name) = 0;
  virtual void unload(std::string const& name, bool with_steps) = 0;
  /// True if the version answers: of an ensemble, if its models have versions, too.
  [[nodiscard]] virtual bool answers(served_version const& version) = 0;
  /// Counts an answer by the status that HTTP has for it.
  virtual void count(int status, std::chrono::duration<double> time) = 0;
  /// Bytes of all requests that are being read or answered.
  [[nodiscard]] virtual std::atomic<std::size_t>& bytes_in_flight() = 0;
  /// The memory that clients share, as memory_of.
  [[nodiscard]] virtual shared_regions& memory() = 0;
  /// Change what is logged, and which calls of a model, or of all, are traced, and return all settings. Throw
  /// http_error 400 as log_settings and request_traces do, 404 no such model.
  [[nodiscard]] virtual log_values change_log(log_values const& to) = 0;
  [[nodiscard]] virtual trace_values change_traces(std::string const& model, trace_values const& to) = 0;

 protected:
  ~server_calls() = default;
};

/// Triton's extensions that REST and gRPC have.
inline constexpr char const* triton_extensions[]{"classification",
                                                 "model_configuration",
                                                 "sequence",
                                                 "sequence(string_id)",
                                                 "model_repository",
                                                 "schedule_policy",
                                                 "statistics",
                                                 "system_shared_memory",
                                                 "model_repository(unload_dependents)",
                                                 "trace",
                                                 "logging"};
inline constexpr std::int64_t most_priority = 1000000;

/// An entry of Triton's index of a repository.
struct index_entry {
  std::string name, version, state, reason;
};
/// All versions of all models; `ready_alone`: those that answer.
[[nodiscard]] inline std::vector<index_entry> index_of(server_calls& calls, bool ready_alone) {
  std::vector<index_entry> result;
  for (auto const& name : calls.names()) {
    auto const states = calls.states(name);
    if (states.empty() && !ready_alone) result.push_back({name, "", "UNAVAILABLE", ""});
    for (auto const& [number, of] : states) {
      bool const is_available = of.state == "AVAILABLE";
      if (ready_alone && !is_available) continue;
      auto const* const word = is_available              ? "READY"
                               : of.state == "LOADING"   ? "LOADING"
                               : of.state == "UNLOADING" ? "UNLOADING"
                                                         : "UNAVAILABLE";
      bool const is_unloaded = of.state == "END" && of.error_message.empty();
      result.push_back({name, std::to_string(number), word, is_unloaded ? "unloaded" : of.error_message});
    }
  }
  return result;
}

/// Options of a front of gRPC, a part of the command's.
struct rpc_options {
  std::string host;
  int port = 0;
  std::size_t threads = 0, most_waiting = 0;
  std::size_t max_message_bytes = 0, max_header_bytes = 0, max_bytes_in_flight = 0;
  std::chrono::milliseconds time{};       ///< time that a call may take; 0: any
  std::chrono::milliseconds idle_time{};  ///< time that a connection may be without a call
  std::string token;                      ///< bearer token that calls must have; empty: none
  std::string certificate, key;           ///< TLS: texts of PEM files; empty: none
};

/// A server of gRPC, which answers from its construction on.
class rpc_front {
 public:
  virtual ~rpc_front() = default;
  [[nodiscard]] virtual int port() const noexcept = 0;
  /// Takes no more calls, and returns at once; calls that have come are answered.
  virtual void begin_stop() noexcept = 0;
  /// True if all calls are answered.
  [[nodiscard]] virtual bool has_stopped() const noexcept = 0;
};

/// The only symbol of the module. Keeps a reference to the calls. Throws file_error E5282 if the address cannot be
/// listened to or the certificate is wrong, std::system_error if the system lacks threads.
using rpc_front_maker = rpc_front* (*)(rpc_options const&, server_calls&);
inline constexpr char const* rpc_front_symbol = "stagecraft_make_grpc_front_4";

/// Loads the module of gRPC, and makes its front. Throws file_error E5280 if this program has no such module, E5281 if
/// it cannot be loaded, and what the module throws.
[[nodiscard]] std::unique_ptr<rpc_front> load_rpc_front(rpc_options const& options, server_calls& calls);

}  // namespace stagecraft::tool
