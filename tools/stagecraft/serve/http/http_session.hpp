// SPDX-License-Identifier: BSD-3-Clause
// The exchange on one connection, independent of the connection: requests from bytes, limits, refusals, answers as
// bytes.
#pragma once

#include "serve/http/body_encoding.hpp"
#include "serve/http/counted_bytes.hpp"
#include "serve/http/http_message.hpp"
#include "serve/http/http_parser.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace stagecraft::tool {

class http_connection;

/// A request until its answer is written.
struct http_task {
  explicit http_task(std::atomic<std::size_t>& bytes_in_flight) : counted(bytes_in_flight) {}

  http_request request;
  counted_bytes counted;
  body_encoding encoding = body_encoding::none;
  bool takes_gzip = false;
  std::chrono::steady_clock::time_point begin;  ///< the time at which the request was complete
  std::optional<http_response> response;        ///< none: there was no memory even for an error
  bool is_packed = false;                       ///< true: the answer's body is packed with gzip
  bool closes = false;                          ///< true: the connection is closed after the answer
  std::shared_ptr<http_connection> connection;  ///< the connection that waits for the answer
  std::unique_ptr<http_task> next;              ///< the next task of a list
};

/// A refusal of a request by its head alone.
struct http_refusal {
  http_response response;
  bool closes = true;  ///< true: closes at once; false: after the body has been read, if it is not too long
};

/// Limits and functions that all connections of a server share.
struct http_rules {
  std::size_t max_head_bytes = std::size_t{16} << 10;
  std::size_t max_body_bytes = 0;
  std::size_t max_bytes_in_flight = 0;
  std::chrono::milliseconds read_time{};
  std::atomic<std::size_t>* bytes_in_flight = nullptr;
  std::function<std::optional<http_refusal>(http_head const&)> refusal_of;
  std::function<void(int status, std::chrono::duration<double>)> count;  ///< sees each answer
};

/// One connection's exchange. Requests are answered one by one, in their order: while one is being answered, the bytes
/// after it wait. After a request without a definite end, or with too many unread bytes, nothing more is answered.
class http_session {
 public:
  explicit http_session(http_rules const& rules) : rules_(rules), parser_(rules.max_head_bytes) {}

  /// Takes received bytes, which are discarded if the connection is closing.
  void receive(std::string_view bytes);
  /// Reports that no more bytes will come.
  void end_input();
  /// Reports that the request did not come in time.
  void time_out();
  /// Returns the next request to be answered, or nullptr if there is output to write or more bytes are needed.
  [[nodiscard]] std::unique_ptr<http_task> next();
  /// Takes the answer of the last request, which counts until its answer is written.
  void answer(std::unique_ptr<http_task> task);

  /// Bytes to be written; the caller removes them.
  [[nodiscard]] std::string& output() noexcept { return output_; }
  /// True if the connection is to be closed after the output is written.
  [[nodiscard]] bool is_closing() const noexcept { return is_closing_; }
  /// True if no byte of a request is pending, and nothing is to be written.
  [[nodiscard]] bool is_idle() const noexcept { return !task_is_out_ && !parser_.has_begun() && output_.empty(); }
  /// Makes the next answer the last one.
  void end_soon() noexcept { ends_soon_ = true; }
  void shrink() { parser_.shrink(); }

 private:
  using clock = std::chrono::steady_clock;

  void begin_request();
  void take_body(std::string_view bytes);
  /// Refuses the request: discards the body, but reads it to its end before it answers, so that the client reads the
  /// answer.
  void refuse(http_response response);
  void refuse_and_close(http_response const& response);
  [[nodiscard]] std::unique_ptr<http_task> finish_request();
  void write(http_response const& response, bool is_packed, bool closes);
  /// Takes the request's trace id, if it is one.
  void take_trace(std::string_view value);

  http_rules const& rules_;
  http_parser parser_;
  std::string output_;
  std::unique_ptr<http_task> task_;       // the task whose body is being read
  std::unique_ptr<http_task> answered_;   // the task whose answer is being written, until which it counts
  std::optional<http_response> refused_;  // the answer of a refused request
  std::string trace_;                     // the trace id of the request that is being answered
  std::size_t size_ = 0;                  // received bytes of the body
  std::size_t refused_bytes_ = 0;
  bool is_head_ = false, keeps_alive_ = true, is_http_1_1_ = true;
  bool task_is_out_ = false, is_closing_ = false, ends_soon_ = false;
};

}  // namespace stagecraft::tool
