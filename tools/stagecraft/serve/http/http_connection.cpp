// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/http_connection.hpp"

#include "serve/http/http_loop.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <exception>
#include <openssl/err.h>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace stagecraft::tool {

namespace {

using std::chrono::milliseconds;

/// Limits of time and bytes for reading from a client that still sends after its last answer.
constexpr milliseconds last_time{500};
constexpr std::size_t last_bytes = std::size_t{1} << 20;
/// The number of pieces of a client's bytes that are read before others have their turn.
constexpr int most_pieces = 4;

}  // namespace

http_connection::http_connection(http_loop& loop, socket_type socket)
    : loop_(loop), socket_(std::move(socket)), timer_(loop.context_), session_(loop.rules_) {}

/// Runs `function`. If it lacks memory, closes this connection, and no other.
template <class Function>
void http_connection::guarded(Function const& function) noexcept {
  try {
    if (phase_ != phase::closed) function();
  } catch (std::exception const&) {
    close();
  }
}

void http_connection::begin() noexcept {
  guarded([&] {
    if (loop_.options_.tls == nullptr) return go_on();
    enter(phase::handshake);
    wait(false);
  });
}

void http_connection::enter(phase next) {
  auto* const wanted = next == phase::answering                             ? nullptr
                       : next == phase::idle || next == phase::lingering    ? &loop_.idle_
                       : next == phase::reading || next == phase::handshake ? &loop_.reading_
                                                                            : &loop_.writing_;
  if (wanted != list_) {
    http_connection::list own;
    if (list_ != nullptr) own.splice(own.end(), *list_, place_);
    if (wanted != nullptr) {
      if (own.empty()) own.push_back(this);
      place_ = own.begin();
      wanted->splice(wanted->end(), own, place_);
    }
    list_ = wanted;
  }
  phase_ = next;
  auto const now = clock::now();
  switch (next) {
    case phase::handshake:
    case phase::reading: return set_deadline(now + loop_.options_.read_time);
    case phase::idle: return set_deadline(now + loop_.options_.idle_time);
    case phase::writing:
      return set_deadline(now + loop_.options_.read_time * (1 + session_.output().size() / (std::size_t{1} << 20)));
    case phase::lingering: return set_deadline(now + last_time);
    case phase::answering:
    case phase::closed: deadline_ = clock::time_point::max();
  }
}

/// Sets a deadline. A timer that ends earlier is left as it is, and checks the deadline then: it is set once in a while
/// in place of once for each request.
void http_connection::set_deadline(clock::time_point deadline) {
  deadline_ = deadline;
  if (deadline_ >= armed_) return;
  armed_ = deadline_;
  arm();
}

void http_connection::arm() {
  timer_.expires_at(armed_);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code problem) {
    if (problem) return;  // the timer was set anew, or the connection is closed
    self->guarded([&] { self->expire(); });
  });
}

void http_connection::expire() {
  armed_ = clock::time_point::max();
  if (clock::now() < deadline_) {
    if (deadline_ == clock::time_point::max()) return;
    armed_ = deadline_;
    return arm();
  }
  if (phase_ != phase::reading) return close();
  session_.time_out();
  go_on();
}

void http_connection::wait(bool writes) {
  socket_.async_wait(writes ? socket_type::wait_write : socket_type::wait_read,
                     [self = shared_from_this()](boost::system::error_code problem) {
                       if (problem) return self->close();
                       self->guarded([&] { self->proceed(); });
                     });
}

http_connection::result http_connection::wait_for(long outcome, bool writes) {
  if (tls_) {
    auto const why = SSL_get_error(tls_.get(), static_cast<int>(outcome));
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return result::failed;
    writes = why == SSL_ERROR_WANT_WRITE;
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    return result::failed;
  }
  wait(writes);
  return result::waits;
}

/// Goes on when the socket is ready.
void http_connection::proceed() {
  auto outcome = result::done;
  if (phase_ == phase::lingering) return discard();
  if (phase_ == phase::handshake)
    outcome = shake_hands();
  else if (phase_ == phase::idle || phase_ == phase::reading)
    outcome = read();
  else if (phase_ == phase::answering)
    return;  // an outdated wait
  if (outcome == result::failed) return close();
  if (outcome == result::done) go_on();
}

http_connection::result http_connection::shake_hands() {
  if (!tls_) {  // TLS is set up when the client has sent something, since its state is large
    tls_.reset(SSL_new(loop_.options_.tls));
    if (!tls_ || SSL_set_fd(tls_.get(), socket_.native_handle()) != 1) return result::failed;
  }
  ERR_clear_error();
  int const outcome = SSL_accept(tls_.get());
  return outcome == 1 ? result::done : wait_for(outcome, false);
}

/// Reads available bytes; returns `waits` if the session can use no more.
http_connection::result http_connection::read() {
  auto& buffer = loop_.buffer_;
  long count = 0;
  if (tls_) {
    ERR_clear_error();
    count = SSL_read(tls_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (count <= 0 && SSL_get_error(tls_.get(), static_cast<int>(count)) == SSL_ERROR_ZERO_RETURN)
      count = 0;
    else if (count <= 0)
      return wait_for(count, false);
  } else {
    count = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
    if (count < 0) return wait_for(count, false);
  }
  if (count == 0)
    session_.end_input();
  else
    session_.receive({buffer.data(), static_cast<std::size_t>(count)});
  return result::done;
}

/// Reads, dispatches and writes until it has to wait.
void http_connection::go_on() {
  for (int pieces = 0;;) {
    if (!session_.output().empty()) {
      if (phase_ != phase::writing) enter(phase::writing);
      auto const outcome = flush();
      if (outcome == result::failed) return close();
      if (outcome == result::waits) return;
    }
    if (session_.is_closing()) return phase_ == phase::writing ? linger() : close();
    if (auto task = session_.next()) {
      enter(phase::answering);
      task->connection = shared_from_this();
      return loop_.options_.dispatch(std::move(task));
    }
    if (!session_.output().empty()) continue;
    if (session_.is_idle()) {
      if (loop_.is_ending_) return close();
      if (phase_ != phase::idle) enter(phase::idle);
      session_.shrink();
    } else if (phase_ != phase::reading) {
      enter(phase::reading);
    }
    // Bytes that TLS has already read would wake nobody.
    if (!tls_ || SSL_pending(tls_.get()) == 0) return wait(false);
    if (++pieces == most_pieces)
      return boost::asio::post(loop_.context_,
                               [self = shared_from_this()] { self->guarded([&] { self->proceed(); }); });
    auto const outcome = read();
    if (outcome == result::failed) return close();
    if (outcome == result::waits) return;
  }
}

void http_connection::take_answer(std::unique_ptr<http_task> task) {
  guarded([&] {
    session_.answer(std::move(task));
    go_on();
  });
}

http_connection::result http_connection::flush() {
  auto& output = session_.output();
  while (written_ < output.size()) {
    std::string_view const left = std::string_view(output).substr(written_);
    long count = 0;
    if (tls_) {
      ERR_clear_error();
      count = SSL_write(tls_.get(), left.data(), static_cast<int>(std::min(left.size(), std::size_t{1} << 14)));
    } else {
      count = ::send(socket_.native_handle(), left.data(), left.size(), MSG_NOSIGNAL);
    }
    if (count <= 0) return wait_for(count, true);
    written_ += static_cast<std::size_t>(count);
  }
  written_ = 0;
  constexpr std::size_t most_kept = 4096;
  if (output.capacity() > most_kept)
    std::string().swap(output);
  else
    output.clear();
  return result::done;
}

/// Lets the client read the last answer even if it is still sending: with unread bytes, the system would discard the
/// part of the answer that the client has not read yet.
void http_connection::linger() {
  enter(phase::lingering);
  if (tls_) {
    ERR_clear_error();
    (void)SSL_shutdown(tls_.get());
  }
  ::shutdown(socket_.native_handle(), SHUT_WR);
  discard();
}

void http_connection::discard() {
  auto& buffer = loop_.buffer_;
  for (int i = 0; i < most_pieces; ++i) {
    auto const count = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (count <= 0 || (discarded_ += static_cast<std::size_t>(count)) > last_bytes) return close();
  }
  wait(false);
}

void http_connection::end_soon() {
  guarded([&] {
    session_.end_soon();
    if (phase_ == phase::idle || phase_ == phase::handshake) close();
  });
}

void http_connection::close() noexcept {
  if (phase_ == phase::closed) return;
  phase_ = phase::closed;
  if (list_ != nullptr) list_->erase(place_);
  list_ = nullptr;
  boost::system::error_code ignored;
  try {
    timer_.cancel();
  } catch (...) {
  }
  socket_.close(ignored);
  loop_.forget(this);
}

}  // namespace stagecraft::tool
