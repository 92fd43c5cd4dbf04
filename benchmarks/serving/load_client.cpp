// SPDX-License-Identifier: BSD-3-Clause
// Load for a server on this machine: connections that are kept, each of which asks again when it has its answer.
//
//     load_client PORT PATH BODY_FILE SECONDS CONNECTIONS [disturb MOST_BYTES | retry | paced RATE [MOST_BYTES]]
//
// prints {"answers": ..., "errors": ..., "p50": ...} with latencies in milliseconds. `disturb`: every tenth request is
// wrong (not JSON), too large (MOST_BYTES and more), slow (its body comes byte by byte) or cut off, in turn; these are
// no part of the latencies, and have their own counts. `retry`: a request that gets no answer is sent again, on a new
// connection, until it has one; the answers must be equal, up to rounding. `paced`: RATE requests are due each second,
// whether or not the ones before are answered, and their latencies begin when they are due; with MOST_BYTES, all of
// them disturb.
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::milliseconds;

enum class kind { good, wrong, huge, slow, cut };

struct load {
  int port = 0;
  std::string path, body;
  std::size_t most_bytes = 0;  // 0: nothing is disturbed
  bool retries = false;
  clock_type::time_point end;
  int epoll = -1;
  // What is counted.
  std::vector<float> latencies;
  long long errors = 0, disturbed = 0, undisturbed_errors = 0, resent = 0, different = 0;
  std::string expected;
};

class connection;

/// Whether two answers are equal, up to the rounding of their numbers: batches of several sizes are summed in several
/// orders.
bool are_alike(std::string const& one, std::string const& other) {
  if (one == other) return true;
  auto const begins_number = [](char c) { return (c >= '0' && c <= '9') || c == '-'; };
  char const *a = one.c_str(), *b = other.c_str();
  while (*a != '\0' && *b != '\0') {
    if (!begins_number(*a) || !begins_number(*b)) {
      if (*a++ != *b++) return false;
      continue;
    }
    char *end_of_a = nullptr, *end_of_b = nullptr;
    double const x = std::strtod(a, &end_of_a), y = std::strtod(b, &end_of_b);
    if (end_of_a == a || end_of_b == b || !(std::abs(x - y) <= 1e-5)) return false;
    a = end_of_a;
    b = end_of_b;
  }
  return *a == *b;
}

/// Requests that are due at fixed times.
struct pace {
  pace(double rate, clock_type::time_point begin)
      : interval(static_cast<clock_type::rep>(1e9 / rate)), next(begin + interval) {}

  /// Whether a request is due; if so, since when.
  bool take(clock_type::time_point& due) {
    if (clock_type::now() < next) return false;
    due = std::exchange(next, next + interval);
    return true;
  }

  std::chrono::nanoseconds interval;
  clock_type::time_point next;
  std::deque<connection*> idle;
};

class connection {
 public:
  /// Every `every`th request disturbs; 0: none. Without a pace, the next request follows the answer.
  connection(load& of, int number, int every, pace* paced = nullptr)
      : load_(of), pace_(paced), count_(number * 7), every_(every) {
    if (pace_ != nullptr) wait_for_due();
  }
  connection(connection&&) = default;
  ~connection() { close_socket(); }

  /// Begins with the next request, or the same one again.
  void begin(bool again = false) {
    if (!again) {
      what_ = kind::good;
      if (every_ > 0 && ++count_ % every_ == 0) what_ = static_cast<kind>(1 + count_ / every_ % 4);
      if (pace_ == nullptr) start_ = clock_type::now();
    }
    make_request();
    sent_ = 0;
    answer_.clear();
    next_byte_ = clock_type::now();
    if (socket_ < 0 && !open_socket()) return;
    advance();
  }
  [[nodiscard]] bool is_waiting() const { return socket_ < 0; }
  [[nodiscard]] kind what() const { return what_; }

  /// Begins with the request that is due, if there is one.
  bool begin_due() {
    if (every_ > 0 && clock_type::now() >= load_.end) return false;  // what is late need not disturb any more
    if (pace_->next >= load_.end || !pace_->take(start_)) return false;
    is_idle_ = is_over_ = false;
    begin();
    return true;
  }

  /// Sends and receives what there is.
  void advance() {
    if (is_idle_) return close_if_ended();
    send_some();
    if (what_ == kind::cut && sent_ == request_.size()) {
      close_socket();
      ++load_.disturbed;
      return finish();
    }
    receive_some();
  }

 private:
  void make_request() {
    auto const head = [&](std::size_t length) {
      return "POST " + load_.path +
             " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
             std::to_string(length) + "\r\n\r\n";
    };
    switch (what_) {
      case kind::good: request_ = head(load_.body.size()) + load_.body; break;
      case kind::wrong:
        request_ = head(9) + "{\"inst\": [";
        request_.pop_back();
        break;
      case kind::huge: request_ = head(load_.most_bytes + 1) + std::string(load_.most_bytes + 1, '1'); break;
      case kind::slow: request_ = head(100) + std::string(100, ' '); break;
      case kind::cut: request_ = head(load_.body.size()) + load_.body.substr(0, load_.body.size() / 2); break;
    }
    slow_from_ = what_ == kind::slow ? request_.size() - 100 : request_.size();
  }

  bool open_socket() {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(load_.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
      close_socket();
      if (!load_.retries) ++load_.errors;
      return false;  // tried again after a while
    }
    int const yes = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::fcntl(socket_, F_SETFL, O_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.ptr = this;
    ::epoll_ctl(load_.epoll, EPOLL_CTL_ADD, socket_, &event);
    return true;
  }
  void close_socket() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void close_if_ended() {
    char byte = 0;
    if (::recv(socket_, &byte, 1, 0) == 0) close_socket();
  }
  void wait_for_due() {
    is_idle_ = true;
    pace_->idle.push_back(this);
  }

  void send_some() {
    while (socket_ >= 0 && sent_ < request_.size()) {
      std::size_t count = request_.size() - sent_;
      if (what_ == kind::slow && sent_ >= slow_from_) {
        if (clock_type::now() < next_byte_) return;
        count = 1;
        next_byte_ = clock_type::now() + milliseconds(5);
      } else if (what_ == kind::slow) {
        count = slow_from_ - sent_;
      }
      auto const done = ::send(socket_, request_.data() + sent_, count, MSG_NOSIGNAL);
      if (done < 0) {
        if (errno != EAGAIN && what_ != kind::huge) close_socket();  // a refusal may be there to be read
        return;
      }
      sent_ += static_cast<std::size_t>(done);
    }
  }

  void receive_some() {
    char buffer[65536];
    while (socket_ >= 0) {
      auto const done = ::recv(socket_, buffer, sizeof buffer, 0);
      if (done < 0 && errno == EAGAIN) return;
      if (done <= 0) {
        close_socket();
        return end_of_answer(false);
      }
      answer_.append(buffer, static_cast<std::size_t>(done));
      auto const head = answer_.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      auto const field = answer_.find("Content-Length: ");
      auto const length = field < head ? std::strtoul(answer_.c_str() + field + 16, nullptr, 10) : 0;
      if (answer_.size() < head + 4 + length) continue;
      if (answer_.find("Connection: close") < head) close_socket();
      return end_of_answer(true);
    }
    end_of_answer(false);
  }

  void end_of_answer(bool is_whole) {
    int const status = is_whole && answer_.size() > 12 ? std::atoi(answer_.c_str() + 9) : 0;
    if (what_ != kind::good) {
      ++load_.disturbed;
      // A connection that is closed while a large body is being sent may lose its answer.
      if (status != (what_ == kind::huge ? 413 : 400) && !(what_ == kind::huge && status == 0))
        ++load_.undisturbed_errors;
      if (status == 0 || sent_ < request_.size()) close_socket();
      return finish();
    }
    if (status != 200 && load_.retries && clock_type::now() < load_.end + std::chrono::seconds(20)) {
      ++load_.resent;
      close_socket();
      return;  // the loop sends it again
    }
    if (status != 200) {
      ++load_.errors;
    } else {
      load_.latencies.push_back(std::chrono::duration<float, std::milli>(clock_type::now() - start_).count());
      auto const text = answer_.substr(answer_.find("\r\n\r\n"));
      if (load_.expected.empty()) load_.expected = text;
      load_.different += are_alike(text, load_.expected) ? 0 : 1;
    }
    finish();
  }
  void finish() { is_done_ = true; }

 public:
  /// What the loop does with it now: begin again, or the same.
  void go_on() {
    if (std::exchange(is_done_, false)) {
      if (pace_ != nullptr && begin_due()) return;
      if (clock_type::now() < load_.end) return pace_ == nullptr ? begin() : wait_for_due();
      is_over_ = true;
      close_socket();
    } else if (is_idle_) {
      is_over_ = clock_type::now() >= load_.end;
    } else if (is_over_) {
      return;
    } else if (socket_ < 0) {
      if (clock_type::now() >= next_try_) {
        next_try_ = clock_type::now() + milliseconds(10);
        begin(true);
      }
    } else if (what_ == kind::slow) {
      advance();
    }
  }
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  load& load_;
  pace* pace_;
  int count_, every_;
  int socket_ = -1;
  kind what_ = kind::good;
  std::string request_, answer_;
  std::size_t sent_ = 0, slow_from_ = 0;
  clock_type::time_point start_, next_byte_, next_try_;
  bool is_done_ = false, is_over_ = false, is_idle_ = false;
};

/// A descriptor that is ready once in each interval.
int timer_of(std::chrono::nanoseconds interval) {
  int const timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  itimerspec times{};
  times.it_interval.tv_sec = interval.count() / 1'000'000'000;
  times.it_interval.tv_nsec = interval.count() % 1'000'000'000;
  times.it_value = times.it_interval;
  ::timerfd_settime(timer, 0, &times, nullptr);
  return timer;
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const mode = argc > 6 ? argv[6] : "";
  if (argc < (mode == "disturb" ? 8 : 6)) return std::fprintf(stderr, "usage: see the file's head\n"), 2;
  std::signal(SIGPIPE, SIG_IGN);
  load all;
  all.port = std::atoi(argv[1]);
  all.path = argv[2];
  std::ifstream file(argv[3], std::ios::binary);
  all.body = {std::istreambuf_iterator<char>(file), {}};
  double const seconds = std::atof(argv[4]);
  int const count = std::atoi(argv[5]);
  if (mode == "disturb") all.most_bytes = std::strtoul(argv[7], nullptr, 10);
  all.retries = mode == "retry";
  all.epoll = ::epoll_create1(0);
  auto const begin = clock_type::now();
  all.end = begin + std::chrono::duration_cast<clock_type::duration>(std::chrono::duration<double>(seconds));

  bool const is_paced = mode == "paced" && argc > 7;
  pace due(is_paced ? std::max(1.0, std::atof(argv[7])) : 1, begin);
  if (is_paced && argc > 8) all.most_bytes = std::strtoul(argv[8], nullptr, 10);
  int const disturbs = all.most_bytes == 0 ? 0 : is_paced ? 1 : 10;
  std::vector<connection> connections;
  connections.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) connections.emplace_back(all, i, disturbs, is_paced ? &due : nullptr);
  int timer = -1;
  if (is_paced) {
    timer = timer_of(due.interval);
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(all.epoll, EPOLL_CTL_ADD, timer, &event);
  } else {
    for (auto& each : connections) each.begin();
  }
  std::vector<epoll_event> events(connections.size() + 1);
  auto const latest = all.end + std::chrono::seconds(30);
  for (auto tick = begin;
       !std::all_of(connections.begin(), connections.end(), [](auto& each) { return each.is_over(); });) {
    int const ready = ::epoll_wait(all.epoll, events.data(), static_cast<int>(events.size()), 2);
    for (int i = 0; i < ready; ++i) {
      if (events[static_cast<std::size_t>(i)].data.ptr == nullptr) {
        std::uint64_t times = 0;
        (void)!::read(timer, &times, sizeof times);
        continue;
      }
      auto& each = *static_cast<connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (!each.is_waiting()) each.advance();
      each.go_on();
    }
    while (!due.idle.empty() && due.idle.front()->begin_due()) due.idle.pop_front();
    if (auto const now = clock_type::now(); now > tick + milliseconds(2)) {
      tick = now;
      for (auto& each : connections) each.go_on();
      if (now > latest) break;
    }
  }
  long long lost = 0;
  for (auto& each : connections) lost += each.is_over() ? 0 : 1;
  if (is_paced && all.most_bytes == 0)
    for (; due.next < all.end; due.next += due.interval) ++lost;
  double const time = std::chrono::duration<double>(clock_type::now() - begin).count();
  std::sort(all.latencies.begin(), all.latencies.end());
  auto const part = [&](double of) {
    return all.latencies.empty()
               ? 0.0F
               : all.latencies[static_cast<std::size_t>(of * static_cast<double>(all.latencies.size() - 1))];
  };
  std::printf(
      "{\"answers\": %zu, \"per_second\": %.1f, \"errors\": %lld, \"lost\": %lld, \"different\": %lld, \"resent\": "
      "%lld, "
      "\"disturbed\": %lld, \"disturbed_otherwise\": %lld, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f}\n",
      all.latencies.size(), static_cast<double>(all.latencies.size()) / time, all.errors, lost, all.different,
      all.resent, all.disturbed, all.undisturbed_errors, static_cast<double>(part(0.5)),
      static_cast<double>(part(0.99)), static_cast<double>(part(0.999)));
  return 0;
}
