// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace stagecraft::tool {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_written = std::size_t{256} << 10;
/// How long, and how much, is read of a client that is still sending after its last answer.
constexpr milliseconds last_time{500};
constexpr std::size_t last_bytes = std::size_t{1} << 20;

bool is_ready(int socket, short events, http_connection::clock::time_point until) {
  for (;;) {
    auto const left = std::chrono::ceil<milliseconds>(until - http_connection::clock::now()).count();
    pollfd what{.fd = socket, .events = events, .revents = 0};
    int const count = ::poll(&what, 1, static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

}  // namespace

http_connection::http_connection(int socket, SSL_CTX* tls, milliseconds time)
    : socket_(socket), time_(time), request_end_(clock::now() + time) {
  ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL, 0) | O_NONBLOCK);
  if (tls != nullptr) {
    tls_.reset(SSL_new(tls));
    if (!tls_ || SSL_set_fd(tls_.get(), socket_) != 1) has_failed_ = true;
  }
}

http_connection::~http_connection() { ::close(socket_); }

bool http_connection::wait(int result, bool writes, clock::time_point until) {
  if (tls_) {
    auto const why = SSL_get_error(tls_.get(), result);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return false;
    writes = why == SSL_ERROR_WANT_WRITE;
  } else if (errno == EINTR) {
    return true;
  } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
    return false;
  }
  // Who always has something to read, such as empty records of TLS, is late as well.
  if (clock::now() < until && is_ready(socket_, writes ? POLLOUT : POLLIN, until)) return true;
  is_late_ = true;
  return false;
}

bool http_connection::begin() {
  if (has_failed_) return false;
  if (!tls_) return true;
  for (;;) {
    ERR_clear_error();
    int const result = SSL_accept(tls_.get());
    if (result == 1) return true;
    if (!wait(result, false, request_end_)) return false;
  }
}

bool http_connection::wait_for_request(milliseconds idle, std::function<bool()> const& ends) {
  auto const until = clock::now() + idle;
  constexpr milliseconds pause{50};  // between two looks at `ends`
  bool const has_some = first_ < last_ || (tls_ && SSL_pending(tls_.get()) > 0);
  for (bool is_there = has_some; !is_there; is_there = is_ready(socket_, POLLIN, clock::now() + pause))
    if (ends() || clock::now() >= until) return false;
  request_end_ = clock::now() + time_;
  has_headers_ = is_late_ = false;
  return true;
}

bool http_connection::are_headers_late() {
  if (!is_late_ || has_headers_) return false;
  written_.clear();
  return true;
}

ssize_t http_connection::receive(char* to, std::size_t size, clock::time_point until) {
  for (;;) {
    ssize_t result = 0;
    if (tls_) {
      ERR_clear_error();
      result = SSL_read(tls_.get(), to, static_cast<int>(std::min(size, std::size_t{1} << 30)));
      if (result <= 0 && SSL_get_error(tls_.get(), static_cast<int>(result)) == SSL_ERROR_ZERO_RETURN) return 0;
    } else {
      result = ::recv(socket_, to, size, 0);
      if (result == 0) return 0;
    }
    if (result > 0) return result;
    if (!wait(static_cast<int>(result), false, until)) return -1;
  }
}

ssize_t http_connection::read(char* to, std::size_t size) {
  if (first_ == last_) {
    // A client may wait for what was written, such as "100 Continue".
    if (clock::now() >= request_end_) is_late_ = true;
    if (is_late_ || !flush()) return -1;
    if (size >= buffer_.size()) return receive(to, size, request_end_);
    auto const count = receive(buffer_.data(), buffer_.size(), request_end_);
    if (count <= 0) return count;
    first_ = 0;
    last_ = static_cast<std::size_t>(count);
  }
  auto const count = std::min(size, last_ - first_);
  std::memcpy(to, buffer_.data() + first_, count);
  first_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t http_connection::write(char const* from, std::size_t size) {
  written_.append(from, size);
  if (written_.size() > most_written && !flush()) return -1;
  return has_failed_ ? -1 : static_cast<ssize_t>(size);
}

bool http_connection::flush() {
  std::string_view left = written_;
  if (left.empty() || has_failed_) return !has_failed_;
  auto const until = clock::now() + time_ * (1 + left.size() / (std::size_t{1} << 20));
  while (!left.empty() && !has_failed_) {
    ssize_t result = 0;
    if (tls_) {
      ERR_clear_error();
      result = SSL_write(tls_.get(), left.data(), static_cast<int>(std::min(left.size(), std::size_t{1} << 14)));
    } else {
      result = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    }
    if (result > 0)
      left.remove_prefix(static_cast<std::size_t>(result));
    else
      has_failed_ = !wait(static_cast<int>(result), true, until);
  }
  written_.clear();
  if (written_.capacity() > 2 * most_written) written_.shrink_to_fit();
  return !has_failed_;
}

void http_connection::end() {
  if (tls_ && !has_failed_) (void)SSL_shutdown(tls_.get());
  ::shutdown(socket_, SHUT_WR);
  auto const until = clock::now() + last_time;
  std::size_t left = last_bytes;
  // Bytes that nobody reads would have the system throw away what the client has not read yet.
  while (left > 0 && is_ready(socket_, POLLIN, until) && clock::now() < until) {
    auto const count = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) break;
    if (count > 0) left -= std::min(left, static_cast<std::size_t>(count));
  }
}

}  // namespace stagecraft::tool
