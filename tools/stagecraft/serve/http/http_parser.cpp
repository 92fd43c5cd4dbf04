// SPDX-License-Identifier: BSD-3-Clause
// Some assertions of Beast 1.74 are wrong: a first chunk that is also the last one may end after four bytes.
#define BOOST_DISABLE_ASSERTS

#include "serve/http/http_parser.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cctype>
#include <cstdint>
#include <limits>

namespace stagecraft::tool {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool is_host(std::string_view text) {
  constexpr std::string_view others = "-._~%!$&'()*+;=:[]";
  return std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || others.find(static_cast<char>(c)) != std::string_view::npos);
  });
}

/// Fields that may occur only once.
constexpr std::string_view single_fields[] = {
    "host",   "content-length", "transfer-encoding", "content-encoding",
    "expect", "authorization",  "content-type",      "inference-header-content-length"};

}  // namespace

bool http_head::has(std::string_view name) const {
  return std::any_of(fields.begin(), fields.end(), [&](auto const& each) { return each.first == name; });
}

std::string_view http_head::value(std::string_view name) const {
  auto const found = std::find_if(fields.begin(), fields.end(), [&](auto const& each) { return each.first == name; });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

/// Beast's parser of one request.
class http_parser::machine final : public http::basic_parser<true> {
 public:
  machine(http_head& head, std::string_view& body) : head_(head), body_(body) {
    // The session has limits of its own.
    lift_body_limit();
    header_limit(std::numeric_limits<std::uint32_t>::max());
  }

  /// Once for each call of `put`: Beast charges a chunk against its limit each time it reads the chunk's line.
  void lift_body_limit() { body_limit(std::numeric_limits<std::uint64_t>::max()); }

 private:
  using text = boost::beast::string_view;

  void on_request_impl(http::verb, text method, text target, int version, error_code& problem) override {
    head_.method.assign(method.data(), method.size());
    head_.target.assign(target.data(), target.size());
    head_.is_http_1_1 = version == 11;
    problem = {};
  }
  void on_response_impl(int, text, int, error_code& problem) override { problem = {}; }
  void on_field_impl(http::field, text name, text value, error_code& problem) override {
    problem = {};
    if (is_header_done()) return;  // trailers are ignored
    auto& added =
        head_.fields.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
    for (char& letter : added.first) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  // Later releases of the library report trailers separately.
  void on_trailer_field_impl(http::field, text, text, error_code& problem) { problem = {}; }
  void on_header_impl(error_code& problem) override { problem = {}; }
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code& problem) override { problem = {}; }
  std::size_t on_body_impl(text body, error_code& problem) override {
    problem = {};
    body_ = {body.data(), body.size()};
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, text, error_code& problem) override { problem = {}; }
  std::size_t on_chunk_body_impl(std::uint64_t, text body, error_code& problem) override {
    return on_body_impl(body, problem);
  }
  void on_finish_impl(error_code& problem) override { problem = {}; }

  http_head& head_;
  std::string_view& body_;
};

http_parser::http_parser(std::size_t max_head_bytes) : max_head_bytes_(max_head_bytes) {}
http_parser::~http_parser() = default;

void http_parser::feed(std::string_view bytes) {
  if (first_ > 0) {
    input_.erase(0, first_);
    scanned_ -= std::min(scanned_, first_);
    line_begin_ -= std::min(line_begin_, first_);
    first_ = 0;
  }
  input_.append(bytes);
}

void http_parser::shrink() {
  if (has_bytes()) return;
  std::string().swap(input_);
  first_ = scanned_ = line_begin_ = 0;
}

http_parser::event http_parser::read() {
  switch (state_) {
    case state::head: return read_head();
    case state::body: return read_body();
    case state::refused: break;
  }
  return event::refused;
}

http_parser::event http_parser::refuse(int status, std::string text) {
  state_ = state::refused;
  problem_ = {status, std::move(text)};
  return event::refused;
}

/// Examines each byte as it comes, so that bytes that cannot become a head are refused at once.
http_parser::event http_parser::read_head() {
  if (first_ == scanned_) line_begin_ = first_;
  std::size_t end = 0;
  for (; scanned_ < input_.size() && end == 0; ++scanned_) {
    auto const letter = static_cast<unsigned char>(input_[scanned_]);
    if (scanned_ - first_ == max_head_bytes_)
      return line_begin_ == first_
                 ? refuse(414, "the target is too long")
                 : refuse(431, "the head is larger than " + std::to_string(max_head_bytes_) + " bytes");
    char const before = scanned_ > first_ ? input_[scanned_ - 1] : '\0';
    if ((letter == '\n') != (before == '\r')) return refuse(400, "a line does not end with CR and LF");
    if ((letter < 0x20 && letter != '\t' && letter != '\r' && letter != '\n') || letter == 0x7f)
      return refuse(400, "the head has a control character");
    if (before == '\n' && (letter == ' ' || letter == '\t')) return refuse(400, "a line of the head is folded");
    if (letter != '\n') continue;
    bool const is_empty = scanned_ == line_begin_ + 1;
    if (is_empty && line_begin_ > first_)
      end = scanned_ + 1;
    else if (is_empty && std::exchange(has_skipped_line_, true))  // RFC 9112 demands that one empty line is skipped
      return refuse(400, "the request begins with empty lines");
    else if (is_empty)
      first_ = scanned_ + 1;
    line_begin_ = scanned_ + 1;
  }
  if (end == 0) return event::more;
  head_ = {};
  machine_ = std::make_unique<machine>(head_, body_);
  error_code problem;
  while (!machine_->is_header_done() && !problem && first_ < end)
    first_ += machine_->put(boost::asio::buffer(input_.data() + first_, end - first_), problem);
  if (problem == http::error::bad_version) return refuse(505, "the version of HTTP is neither 1.1 nor 1.0");
  if (problem || !machine_->is_header_done() || first_ != end)
    return refuse(400, "the head cannot be read" + (problem ? ": " + problem.message() : std::string()));
  state_ = state::body;
  has_skipped_line_ = false;
  check_head();
  return state_ == state::refused ? event::refused : event::head;
}

void http_parser::check_head() {
  for (auto const name : single_fields)
    if (std::count_if(head_.fields.begin(), head_.fields.end(), [&](auto const& each) { return each.first == name; }) >
        1)
      return (void)refuse(400, "the head has '" + std::string(name) + "' twice");
  if (head_.is_http_1_1 && !head_.has("host")) return (void)refuse(400, "the head has no Host");
  if (!is_host(head_.value("host"))) return (void)refuse(400, "Host is no name of a host");
  bool const has_encoding = head_.has("transfer-encoding"), has_length = head_.has("content-length");
  if (has_encoding && has_length) return (void)refuse(400, "the head has Content-Length and Transfer-Encoding");
  if (has_encoding && (!head_.is_http_1_1 || !is_same_word(head_.value("transfer-encoding"), "chunked")))
    return (void)refuse(400, "Transfer-Encoding is not chunked");
  auto const length = head_.value("content-length");
  if (has_length && (length.empty() || length.find_first_not_of("0123456789") != std::string_view::npos))
    return (void)refuse(400, "Content-Length is no number");
  head_.is_chunked = machine_->chunked();
  if (auto const known = machine_->content_length()) head_.content_length = *known;
  head_.keeps_alive = machine_->keep_alive();
}

http_parser::event http_parser::read_body() {
  body_ = {};
  while (!machine_->is_done()) {
    if (!has_bytes()) return event::more;
    error_code problem;
    machine_->lift_body_limit();
    auto const count = machine_->put(boost::asio::buffer(input_.data() + first_, input_.size() - first_), problem);
    first_ += count;
    if (!body_.empty()) return event::body;
    if (problem == http::error::need_more || (!problem && count == 0 && !machine_->is_done())) {
      if (input_.size() - first_ > max_head_bytes_) return refuse(400, "what is said of a chunk is too long");
      return event::more;
    }
    if (problem) return refuse(400, "the body cannot be read: " + problem.message());
  }
  machine_.reset();
  state_ = state::head;
  scanned_ = line_begin_ = first_;
  return event::whole;
}

}  // namespace stagecraft::tool
