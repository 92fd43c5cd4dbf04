// SPDX-License-Identifier: BSD-3-Clause
// HTTP's side of a server: limits, tokens, and what a request is refused for before anybody reads it.
#pragma once

#include "serve/api.hpp"
#include "serve/http_server.hpp"
#include "serve/serve_command.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace stagecraft::tool {

/// Carries requests to the API and answers back.
class http_front {
 public:
  /// Throws file_error E5096: TLS's files or the token's are not as they should be. Keeps references.
  http_front(serve_command const& options, server_state& state);

  /// Returns the port. Throws file_error E5096.
  int bind();
  /// Until `stop`, and the last answer.
  void listen() { server_.listen_after_bind(); }
  /// Has an effect once it listens.
  [[nodiscard]] bool is_listening() const { return server_.is_running(); }
  void stop() { server_.stop(); }

 private:
  using clock = std::chrono::steady_clock;

  void set_up();
  [[nodiscard]] bool is_allowed(httplib::Request const& request) const;
  [[nodiscard]] std::optional<http_response> refusal_of(httplib::Request const& request) const;
  void post(httplib::Request const& request, httplib::Response& response, httplib::ContentReader const& read);
  void finish(clock::time_point begin, http_response const& answered, httplib::Response& response, bool closes = false);
  [[nodiscard]] http_response refusal_of_time() const;
  [[nodiscard]] std::string answer_to_late_headers();

  serve_command const& options_;
  server_state& state_;
  std::string authorization_;
  http_server server_;
};

}  // namespace stagecraft::tool
