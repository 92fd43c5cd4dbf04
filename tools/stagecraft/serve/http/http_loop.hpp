// SPDX-License-Identifier: BSD-3-Clause
// The one thread that waits for all connections of a server.
#pragma once

#include "serve/http/http_connection.hpp"
#include "serve/http/http_session.hpp"
#include "serve/http/reserved_memory.hpp"
#include "serve/http/worker_pool.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <openssl/ssl.h>
#include <string>
#include <unordered_set>

namespace stagecraft::tool {

struct http_loop_options {
  std::chrono::milliseconds read_time{}, idle_time{};
  std::size_t max_connections = 0;
  SSL_CTX* tls = nullptr;
  /// Dispatches a task, whose answer comes by `finish` from any thread.
  std::function<void(std::unique_ptr<http_task>)> dispatch;
};

class http_loop {
 public:
  http_loop(http_loop_options options, http_rules const& rules);
  http_loop(http_loop const&) = delete;
  http_loop& operator=(http_loop const&) = delete;

  /// Begins to listen and returns the port; 0 if that fails.
  int bind(std::string const& host, int port);
  /// Serves until `stop` is called and the last answer is written.
  void run();
  /// Ends `run`. Any thread may call it.
  void stop() noexcept;
  /// Hands over an answered task. Any thread may call it; it needs no memory.
  void finish(std::unique_ptr<http_task> task) noexcept;

 private:
  friend class http_connection;

  void wait_for_all();
  void accept();
  void accept_some();
  void pause();
  bool make_room(bool of_idle_alone = false);
  void wait_for_wake();
  void take_finished();
  void begin_end();
  void forget(http_connection* connection) noexcept;

  http_loop_options options_;
  http_rules const& rules_;
  // The loop's own waits need no memory of the system's: without them nothing would go on that gives memory back.
  reserved_memory memory_of_wake_, memory_of_clients_;  // they outlive what uses them
  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_{context_};
  boost::asio::steady_timer pause_{context_};
  boost::asio::posix::stream_descriptor wakes_{context_};
  std::mutex mutex_;
  std::unique_ptr<http_task> finished_;                      // a list, the last one first
  bool stops_ = false;                                       // true: an end was asked for
  bool is_ending_ = false;                                   // true: the loop is ending
  bool waits_for_clients_ = false, waits_for_wake_ = false;  // both are false after a lack of memory
  http_connection::list idle_, reading_, writing_;           // they are closed in this order if there is no room
  std::unordered_set<http_connection*> connections_;
  std::array<char, 65536> buffer_;  // bytes that were read, before a connection takes them
};

}  // namespace stagecraft::tool
