// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/http_session.hpp"

#include "serve/trace_id.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace stagecraft::tool {

namespace {

constexpr std::string_view json_length_header = "inference-header-content-length";
/// The most bytes of a refused request that are read nevertheless, since few clients read an answer before they have
/// sent everything.
constexpr std::size_t most_refused_bytes = std::size_t{1} << 20;

char const* reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Other";
  }
}

int value_of_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  auto const small = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// The path of a target, which may be a whole address, without its query; none if it cannot be parsed.
std::optional<std::string> path_of(std::string_view target) {
  for (std::string_view const scheme : {"http://", "https://"})
    if (target.starts_with(scheme)) {
      target.remove_prefix(scheme.size());
      target.remove_prefix(std::min(target.find_first_of("/?"), target.size()));
      if (target.empty()) target = "/";
      break;
    }
  target = target.substr(0, target.find_first_of("?#"));
  std::string path;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] != '%') {
      path += target[i];
      continue;
    }
    int const high = i + 2 < target.size() ? value_of_digit(target[i + 1]) : -1;
    int const low = i + 2 < target.size() ? value_of_digit(target[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return path;
}

}  // namespace

void http_session::receive(std::string_view bytes) {
  if (!is_closing_) parser_.feed(bytes);
}

void http_session::end_input() {
  if (!is_closing_ && parser_.has_begun() && !task_is_out_)
    refuse_and_close(error_response(400, "the request is cut off"));
  is_closing_ = true;
}

void http_session::time_out() {
  if (!is_closing_)
    refuse_and_close(
        error_response(408, "the request did not come in " + std::to_string(rules_.read_time.count()) + " ms"));
}

std::unique_ptr<http_task> http_session::next() {
  if (output_.empty()) answered_.reset();
  while (!is_closing_ && !task_is_out_ && output_.empty()) {
    switch (parser_.read()) {
      case http_parser::event::more: return nullptr;
      case http_parser::event::head: begin_request(); break;
      case http_parser::event::body: take_body(parser_.body()); break;
      case http_parser::event::whole:
        if (auto task = finish_request()) return task;
        break;
      case http_parser::event::refused:
        refuse_and_close(error_response(parser_.problem().status, parser_.problem().text));
        break;
    }
  }
  return nullptr;
}

void http_session::begin_request() {
  auto const& head = parser_.head();
  is_head_ = head.method == "HEAD";
  keeps_alive_ = head.keeps_alive;
  is_http_1_1_ = head.is_http_1_1;
  task_ = std::make_unique<http_task>(*rules_.bytes_in_flight);
  refused_.reset();
  size_ = refused_bytes_ = 0;
  take_trace(head.value("traceparent"));
  auto const path = path_of(head.target);
  if (!path) return refuse_and_close(error_response(400, "the target cannot be read"));
  task_->request.method = is_head_ ? "GET" : head.method;
  task_->request.path = *path;
  if (auto refusal = rules_.refusal_of(head)) {
    if (refusal->closes) return refuse_and_close(refusal->response);
    refuse(std::move(refusal->response));
  }
  auto const encoding = parse_body_encoding(head.value("content-encoding"));
  if (!encoding) return refuse_and_close(error_response(415, "the request has an encoding that is not taken"));
  task_->encoding = *encoding;
  task_->takes_gzip = takes_gzip(head.value("accept-encoding"));
  if (auto const length = head.value(json_length_header); !length.empty()) {
    if (length.size() > 15 || length.find_first_not_of("0123456789") != std::string_view::npos)
      refuse(error_response(400, "Inference-Header-Content-Length is no number"));
    else
      (void)std::from_chars(length.data(), length.data() + length.size(), task_->request.json_length);
  }
  if (head.content_length.value_or(0) > rules_.max_body_bytes)
    refuse(error_response(413, "the request is larger than " + std::to_string(rules_.max_body_bytes) + " bytes"));
  if (auto const expected = head.value("expect"); !expected.empty() && is_http_1_1_) {
    std::string word(expected);
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word != "100-continue") return refuse_and_close(error_response(417, "Expect is not 100-continue"));
    // The client has not sent the body yet, and need not.
    if (refused_) return refuse_and_close(*refused_);
    bool const has_body = head.is_chunked || head.content_length.value_or(0) > 0;
    if (has_body && !parser_.has_bytes()) output_ += "HTTP/1.1 100 Continue\r\n\r\n";
  }
}

void http_session::take_trace(std::string_view value) {
  trace_.clear();
  if (is_trace_id(value)) trace_ = value;
}

void http_session::refuse(http_response response) {
  if (refused_) return;
  refused_ = std::move(response);
  std::string().swap(task_->request.body);
  task_->counted.clear();
}

void http_session::take_body(std::string_view bytes) {
  size_ += bytes.size();
  if (!refused_ && size_ > rules_.max_body_bytes)
    refuse(error_response(413, "the request is larger than " + std::to_string(rules_.max_body_bytes) + " bytes"));
  if (!refused_ && !task_->counted.add(bytes.size(), rules_.max_bytes_in_flight))
    refuse(error_response(503, "the requests that are there have " + std::to_string(rules_.max_bytes_in_flight) +
                                   " bytes, as many as they may have"));
  if (!refused_) {
    task_->request.body.append(bytes);
    return;
  }
  refused_bytes_ += bytes.size();
  if (refused_bytes_ > most_refused_bytes) refuse_and_close(*refused_);
}

std::unique_ptr<http_task> http_session::finish_request() {
  auto task = std::move(task_);
  if (refused_) {
    rules_.count(refused_->status, {});
    write(*refused_, false, false);
    return nullptr;
  }
  task->begin = clock::now();
  task->request.counted = &task->counted;
  task->request.parent = trace_;
  task_is_out_ = true;
  return task;
}

void http_session::answer(std::unique_ptr<http_task> task) {
  task_is_out_ = false;
  answered_ = std::move(task);
  rules_.count(answered_->response ? answered_->response->status : 503, clock::now() - answered_->begin);
  if (answered_->response) {
    write(*answered_->response, answered_->is_packed, answered_->closes);
    answered_->response.reset();
  } else {  // there is no memory for a longer answer
    is_closing_ = true;
    output_ += "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
  }
}

void http_session::refuse_and_close(http_response const& response) {
  rules_.count(response.status, {});
  task_.reset();
  write(response, false, true);
}

void http_session::write(http_response const& response, bool is_packed, bool closes) {
  is_closing_ = closes || !keeps_alive_ || ends_soon_;
  auto const add = [this](std::string_view name, std::string_view value) {
    output_.append(name).append(": ").append(value).append("\r\n");
  };
  output_ += "HTTP/1.1 " + std::to_string(response.status) + " " + reason_of(response.status) + "\r\n";
  add("Content-Type", response.content_type);
  add("Content-Length", std::to_string(response.body.size()));
  if (is_packed) add("Content-Encoding", "gzip");
  if (response.json_length >= 0) add("Inference-Header-Content-Length", std::to_string(response.json_length));
  if (response.status == 401) add("WWW-Authenticate", "Bearer");
  if (response.status == 503) add("Retry-After", "1");
  if (!trace_.empty()) add("traceparent", trace_);
  if (is_closing_)
    add("Connection", "close");
  else if (!is_http_1_1_)
    add("Connection", "keep-alive");
  output_ += "\r\n";
  if (!is_head_) output_ += response.body;
  trace_.clear();
  is_head_ = false;
  is_http_1_1_ = keeps_alive_ = true;
}

}  // namespace stagecraft::tool
