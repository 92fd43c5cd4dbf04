// SPDX-License-Identifier: BSD-3-Clause
// HTTP's side of a server: limits, tokens, refusals before a request's body is read, and the threads that answer.
#pragma once

#include "serve/api.hpp"
#include "serve/http/http_session.hpp"
#include "serve/serve_command.hpp"

#include <memory>
#include <optional>
#include <string>

namespace stagecraft::tool {

class http_loop;
template <class Task>
class worker_pool;

/// Carries requests to the API and answers back: a loop reads and writes for all connections, and threads answer whole
/// requests. Requests about the state have a thread of their own, and are answered however long others take.
class http_front {
 public:
  /// Keeps references. Throws file_error E5096 if the files of TLS or of the token are wrong, std::system_error if the
  /// system has no threads.
  http_front(serve_command const& options, server_state& state);
  http_front(http_front const&) = delete;
  http_front& operator=(http_front const&) = delete;
  ~http_front();

  /// Begins to listen and returns the port. Throws file_error E5096.
  int bind();
  /// Serves until `stop` is called and the last answer is written.
  void run();
  /// Ends `run`. Any thread may call it.
  void stop() noexcept;

 private:
  struct tls;

  [[nodiscard]] bool is_allowed(http_head const& head) const;
  [[nodiscard]] std::optional<http_refusal> refusal_of(http_head const& head) const;
  void dispatch(std::unique_ptr<http_task> task);
  void answer_task(http_task& task) noexcept;

  serve_command const& options_;
  server_state& state_;
  std::string token_;
  http_rules rules_;
  std::unique_ptr<tls> tls_;
  std::unique_ptr<http_loop> loop_;
  std::unique_ptr<worker_pool<http_task>> callers_, lookers_;  // threads for calls of models, and for everything else
};

}  // namespace stagecraft::tool
