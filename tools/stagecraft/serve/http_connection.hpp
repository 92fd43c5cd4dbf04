// SPDX-License-Identifier: BSD-3-Clause
// A client's connection as cpp-httplib wants it: its limits of time are for each read, these are for requests.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <httplib.h>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <string_view>

namespace stagecraft::tool {

/// A socket, with TLS or without. A request must come within a time, from its first byte to its last, and a handshake
/// as well; of an answer each mebibyte must be taken within it. What is written is kept until `flush` or the next wait.
class http_connection final : public httplib::Stream {
 public:
  using clock = std::chrono::steady_clock;

  /// `tls`: nullptr for none. Closes the socket in the end.
  http_connection(int socket, SSL_CTX* tls, std::chrono::milliseconds time);
  http_connection(http_connection const&) = delete;
  http_connection& operator=(http_connection const&) = delete;
  ~http_connection() override;

  /// The handshake of TLS, if there is any; false: it has failed.
  [[nodiscard]] bool begin();
  /// Waits for a request's first byte; false if none comes in `idle`, the other end closes, or `ends` says so.
  [[nodiscard]] bool wait_for_request(std::chrono::milliseconds idle, std::function<bool()> const& ends);
  /// A request's headers are whole: what is late from now on is its body.
  void note_headers() noexcept { has_headers_ = true; }
  /// Something was waited for in vain.
  [[nodiscard]] bool is_late() const noexcept { return is_late_; }
  /// The headers did not come in time; what has been answered to them is forgotten.
  [[nodiscard]] bool are_headers_late();
  /// Sends what was written; false: the client does not take it.
  [[nodiscard]] bool flush();
  /// Lets the client read the last answer, also if it is still sending: reads on for a short time, and closes.
  void end();

  [[nodiscard]] bool is_readable() const override { return true; }
  [[nodiscard]] bool is_writable() const override { return !has_failed_; }
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(char const* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& address, int& port) const override {
    address.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& address, int& port) const override { get_remote_ip_and_port(address, port); }
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  struct tls_deleter {
    void operator()(SSL* of) const noexcept { SSL_free(of); }
  };

  /// Until the socket is ready for what the last operation with this result wants; false: not by then, or never.
  bool wait(int result, bool writes, clock::time_point until);
  ssize_t receive(char* to, std::size_t size, clock::time_point until);

  int socket_;
  std::unique_ptr<SSL, tls_deleter> tls_;
  std::chrono::milliseconds time_;
  clock::time_point request_end_;
  bool has_headers_ = false, is_late_ = false, has_failed_ = false;
  std::array<char, 16384> buffer_;
  std::size_t first_ = 0, last_ = 0;  // what of the buffer is not read yet
  std::string written_;
};

}  // namespace stagecraft::tool
