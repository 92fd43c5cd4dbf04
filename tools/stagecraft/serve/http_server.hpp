// SPDX-License-Identifier: BSD-3-Clause
// cpp-httplib's server with limits of time for whole requests, where its own are for each read.
#pragma once

#include "serve/http_connection.hpp"

#include <chrono>
#include <functional>
#include <httplib.h>
#include <memory>
#include <string>
#include <utility>

namespace stagecraft::tool {

class http_server final : public httplib::Server {
 public:
  /// `request_time`: see http_connection. `late`: the answer to a client whose headers do not come in time, written to
  /// the connection as it is.
  http_server(std::chrono::milliseconds request_time, std::function<std::string()> late)
      : time_(request_time), late_(std::move(late)) {}

  /// Files in PEM's format: TLS from now on. False: they cannot be read, or do not go together.
  [[nodiscard]] bool use_tls(std::string const& certificate, std::string const& key);

  /// After a `bind`: the system keeps new connections until they are accepted. The library has it keep five, and others
  /// would try again after a second, or three.
  void queue_connections();

  /// The handlers of this thread's request have begun: its headers are whole.
  static void note_headers();
  /// This thread's request did not come in its time.
  [[nodiscard]] static bool is_late();

 private:
  struct tls_deleter {
    void operator()(SSL_CTX* of) const noexcept { SSL_CTX_free(of); }
  };

  bool process_and_close_socket(socket_t socket) override;
  void serve(http_connection& connection);
  template <class Connection>
  bool answer_request(Connection& connection, bool is_last, bool& closes);

  std::chrono::milliseconds time_;
  std::function<std::string()> late_;
  std::unique_ptr<SSL_CTX, tls_deleter> tls_;
};

}  // namespace stagecraft::tool
