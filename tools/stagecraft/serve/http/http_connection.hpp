// SPDX-License-Identifier: BSD-3-Clause
// A client's connection in the loop of a server: its socket, TLS, and time limits.
#pragma once

#include "serve/http/http_session.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <openssl/ssl.h>
#include <string>

namespace stagecraft::tool {

class http_loop;

/// Waits until its client sends or reads, without a thread of its own. Everything happens on the loop's thread.
///
/// There is a time limit for a request, from its first byte to its last, for a handshake, and for the client to read
/// each mebibyte of an answer.
class http_connection : public std::enable_shared_from_this<http_connection> {
 public:
  using clock = std::chrono::steady_clock;
  using socket_type = boost::asio::ip::tcp::socket;
  /// Connections that wait for their clients, the one that has waited longest first.
  using list = std::list<http_connection*>;

  http_connection(http_loop& loop, socket_type socket);
  http_connection(http_connection const&) = delete;
  http_connection& operator=(http_connection const&) = delete;

  /// Begins to wait for the client. Like all functions that the loop calls, it closes the connection if memory is
  /// short: an exception would leave the loop with the address of a connection that no longer exists.
  void begin() noexcept;
  /// Takes the answer of one of its requests.
  void take_answer(std::unique_ptr<http_task> task);
  /// Closes the connection as soon as no part of a request is pending.
  void end_soon();
  void close() noexcept;

 private:
  enum class phase { handshake, idle, reading, answering, writing, lingering, closed };
  struct tls_deleter {
    void operator()(SSL* of) const noexcept { SSL_free(of); }
  };
  enum class result { done, waits, failed };

  template <class Function>
  void guarded(Function const& function) noexcept;
  void enter(phase next);
  void set_deadline(clock::time_point deadline);
  void arm();
  void expire();
  void wait(bool writes);
  /// Waits for what the last operation needs, according to its outcome.
  result wait_for(long outcome, bool writes);
  void proceed();
  void go_on();
  result shake_hands();
  result read();
  result flush();
  void linger();
  void discard();

  http_loop& loop_;
  socket_type socket_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<SSL, tls_deleter> tls_;
  http_session session_;
  phase phase_ = phase::handshake;
  list* list_ = nullptr;  // the list in which it waits
  list::iterator place_;
  clock::time_point deadline_ = clock::time_point::max(), armed_ = clock::time_point::max();
  std::size_t written_ = 0;    // bytes of the session's output
  std::size_t discarded_ = 0;  // bytes that were discarded while it lingers
};

}  // namespace stagecraft::tool
