// SPDX-License-Identifier: BSD-3-Clause
// Requests of HTTP/1.0 and 1.1 from the bytes of a connection: Boost.Beast's parser, and what it takes but two readers
// may understand in two ways.
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
  std::vector<std::pair<std::string, std::string>> fields;  ///< names in small letters
  std::optional<std::uint64_t> content_length;
  bool is_chunked = false;
  bool keeps_alive = true;  ///< the client wants the connection to stay open

  [[nodiscard]] bool has(std::string_view name) const;
  /// The first value of a field; empty if there is none.
  [[nodiscard]] std::string_view value(std::string_view name) const;
};

/// One request after the other.
///
/// A request is refused whose end is not sure: two lengths, a length and a transfer encoding, any encoding but chunked;
/// lines that do not end with CR and LF, folded lines, a space before a colon, control characters; no Host in HTTP/1.1,
/// or two. Nothing that follows is read then: it may be what somebody else hid in the request.
class http_parser {
 public:
  enum class event {
    more,     ///< nothing until more bytes are fed
    head,     ///< `head` is there
    body,     ///< `body` is the next piece
    whole,    ///< the request has ended
    refused,  ///< `problem` says why
  };

  explicit http_parser(std::size_t max_head_bytes);
  http_parser(http_parser const&) = delete;
  http_parser& operator=(http_parser const&) = delete;
  ~http_parser();

  /// Adds bytes. Pieces of a body are no longer valid then.
  void feed(std::string_view bytes);
  /// Reads on to the next event.
  [[nodiscard]] event read();

  [[nodiscard]] http_head const& head() const noexcept { return head_; }
  [[nodiscard]] std::string_view body() const noexcept { return body_; }
  [[nodiscard]] http_error const& problem() const noexcept { return problem_; }
  /// Bytes wait to be read.
  [[nodiscard]] bool has_bytes() const noexcept { return first_ < input_.size(); }
  /// A request has begun, and not ended.
  [[nodiscard]] bool has_begun() const noexcept { return state_ != state::head || has_bytes(); }
  /// Gives memory back, if nothing waits in it.
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
  std::size_t first_ = 0;                     // what of the input is not read yet
  std::size_t scanned_ = 0, line_begin_ = 0;  // of the head
  bool has_skipped_line_ = false;
  http_head head_;
  std::string_view body_;
  http_error problem_;
  std::unique_ptr<machine> machine_;
};

}  // namespace stagecraft::tool
