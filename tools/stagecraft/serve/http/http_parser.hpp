// SPDX-License-Identifier: BSD-3-Clause
// Parses requests of HTTP/1.0 and 1.1 from the bytes of a connection with Boost.Beast's parser, and refuses requests
// that it accepts, but that two readers may understand differently.
#pragma once

#include "serve/http/http_message.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// A request line and its headers.
struct http_head {
  std::string method, target;
  bool is_http_1_1 = true;
  std::vector<std::pair<std::string, std::string>> fields;  ///< names in lower case
  std::optional<std::uint64_t> content_length;
  bool is_chunked = false;
  bool keeps_alive = true;  ///< true: the client wants the connection to stay open

  [[nodiscard]] bool has(std::string_view name) const;
  /// The first value of a field; empty if there is none.
  [[nodiscard]] std::string_view value(std::string_view name) const;
};

/// Parses one request after the other.
///
/// A request without a definite end is refused: two lengths, a length and a transfer encoding, any encoding but
/// chunked; lines that do not end with CR and LF, folded lines, a space before a colon, control characters; no Host in
/// HTTP/1.1, or two. Nothing after it is read then, since it may have been hidden in the request by somebody else.
class http_parser {
 public:
  enum class event {
    more,     ///< more bytes are needed
    head,     ///< `head` is complete
    body,     ///< `body` is the next piece
    whole,    ///< the request has ended
    refused,  ///< `problem` says why
  };

  explicit http_parser(std::size_t max_head_bytes);
  http_parser(http_parser const&) = delete;
  http_parser& operator=(http_parser const&) = delete;
  ~http_parser();

  /// Adds bytes, which invalidates pieces of a body.
  void feed(std::string_view bytes);
  /// Parses up to the next event.
  [[nodiscard]] event read();

  [[nodiscard]] http_head const& head() const noexcept { return head_; }
  [[nodiscard]] std::string_view body() const noexcept { return body_; }
  [[nodiscard]] http_error const& problem() const noexcept { return problem_; }
  /// True if there are unread bytes.
  [[nodiscard]] bool has_bytes() const noexcept { return first_ < input_.size(); }
  /// True if a request has begun, but not ended.
  [[nodiscard]] bool has_begun() const noexcept { return state_ != state::head || has_bytes(); }
  /// Frees memory if it holds no unread bytes.
  void shrink();

 private:
  class machine;
  enum class state { head, body, refused };

  event refuse(int status, std::string text);
  event read_head();
  event read_body();
  void check_head();

  std::size_t max_head_bytes_;
  state state_ = state::head;
  std::string input_;
  std::size_t first_ = 0;                     // the first unread byte of the input
  std::size_t scanned_ = 0, line_begin_ = 0;  // places in the head
  bool has_skipped_line_ = false;
  http_head head_;
  std::string_view body_;
  http_error problem_;
  std::unique_ptr<machine> machine_;
};

}  // namespace stagecraft::tool
