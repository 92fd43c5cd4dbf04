// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/http_loop.hpp"

#include <cerrno>
#include <cstdint>
#include <exception>
#include <string>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace stagecraft::tool {

namespace {

using boost::asio::ip::tcp;

/// The number of connections that are accepted before others have their turn.
constexpr int most_accepted = 64;
/// The pause before the next attempt if the system has no more connections.
constexpr std::chrono::milliseconds pause_time{20};

}  // namespace

http_loop::http_loop(http_loop_options options, http_rules const& rules) : options_(std::move(options)), rules_(rules) {
  int const event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (event < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  wakes_.assign(event);
}

int http_loop::bind(std::string const& host, int port) {
  boost::system::error_code problem;
  tcp::resolver resolver(context_);
  auto const found =
      resolver.resolve(host, std::to_string(port), tcp::resolver::passive | tcp::resolver::numeric_service, problem);
  if (problem) return 0;
  for (auto const& each : found) {
    auto const address = each.endpoint();
    if (acceptor_.is_open()) acceptor_.close(problem);
    acceptor_.open(address.protocol(), problem);
    if (!problem) acceptor_.set_option(tcp::acceptor::reuse_address(true), problem);
    if (!problem) acceptor_.bind(address, problem);
    if (!problem) acceptor_.listen(boost::asio::socket_base::max_listen_connections, problem);
    if (!problem) acceptor_.non_blocking(true, problem);
    if (!problem) return acceptor_.local_endpoint().port();
  }
  return 0;
}

void http_loop::run() {
  while (!is_ending_ || !connections_.empty()) {
    try {
      wait_for_all();
      context_.restart();
      context_.run();
    } catch (std::exception const&) {
      // There was no memory for a connection. None that is there is lost, and others free memory meanwhile.
      std::this_thread::sleep_for(pause_time);
    }
  }
}

void http_loop::wait_for_all() {
  if (!waits_for_wake_ && wakes_.is_open()) wait_for_wake();
  if (!waits_for_clients_) accept();
}

void http_loop::stop() noexcept {
  std::scoped_lock const lock(mutex_);
  stops_ = true;
  std::uint64_t const one = 1;
  (void)!::write(wakes_.native_handle(), &one, sizeof one);
}

void http_loop::finish(std::unique_ptr<http_task> task) noexcept {
  std::scoped_lock const lock(mutex_);
  task->next = std::move(finished_);
  finished_ = std::move(task);
  std::uint64_t const one = 1;
  (void)!::write(wakes_.native_handle(), &one, sizeof one);
}

void http_loop::wait_for_wake() {
  wakes_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    reserved_handler(memory_of_wake_, [this](boost::system::error_code problem) {
                      waits_for_wake_ = false;
                      if (problem) return;
                      take_finished();
                      if (wakes_.is_open()) wait_for_wake();
                    }));
  waits_for_wake_ = true;
}

void http_loop::take_finished() {
  std::unique_ptr<http_task> last, first;
  bool stops = false;
  {
    std::scoped_lock const lock(mutex_);
    std::uint64_t count = 0;
    (void)!::read(wakes_.native_handle(), &count, sizeof count);
    last = std::move(finished_);
    stops = stops_;
  }
  while (last) {  // reverses the list: tasks are answered in the order in which they finished
    auto before = std::move(last->next);
    last->next = std::move(first);
    first = std::move(last);
    last = std::move(before);
  }
  while (first) {
    auto behind = std::move(first->next);
    auto const connection = std::move(first->connection);
    connection->take_answer(std::move(first));
    first = std::move(behind);
  }
  if (stops && !is_ending_) begin_end();
}

void http_loop::begin_end() {
  is_ending_ = true;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (auto each = connections_.begin(); each != connections_.end();) (*each++)->end_soon();
  if (connections_.empty()) wakes_.close(ignored);
}

void http_loop::forget(http_connection* connection) noexcept {
  connections_.erase(connection);
  boost::system::error_code ignored;
  if (is_ending_ && connections_.empty() && wakes_.is_open()) wakes_.close(ignored);
}

void http_loop::accept() {
  if (is_ending_) return;
  acceptor_.async_wait(tcp::acceptor::wait_read,
                       reserved_handler(memory_of_clients_, [this](boost::system::error_code problem) {
                         waits_for_clients_ = false;
                         if (!problem) accept_some();
                       }));
  waits_for_clients_ = true;
}

void http_loop::pause() {
  pause_.expires_after(pause_time);
  pause_.async_wait(reserved_handler(memory_of_clients_, [this](boost::system::error_code problem) {
    waits_for_clients_ = false;
    if (!problem) accept_some();
  }));
  waits_for_clients_ = true;
}

/// Closes the connection that has waited longest for its client: first among idle clients, then among those that send,
/// then among those that read; or among the first ones alone. Connections that wait for the server are not closed.
bool http_loop::make_room(bool of_idle_alone) {
  for (auto* const list : {&idle_, &reading_, &writing_})
    if (!list->empty() && (list == &idle_ || !of_idle_alone)) {
      list->front()->close();
      return true;
    }
  return false;
}

void http_loop::accept_some() {
  for (int i = 0; i < most_accepted; ++i) {
    try {
      http_connection::socket_type socket(context_);
      boost::system::error_code problem;
      acceptor_.accept(socket, problem);
      if (problem == boost::asio::error::would_block || problem == boost::asio::error::try_again) return accept();
      if (problem == boost::asio::error::no_descriptors || problem == boost::asio::error::no_memory ||
          problem == boost::asio::error::no_buffer_space || problem.value() == ENFILE) {
        if (!make_room()) return pause();
        continue;
      }
      if (problem) continue;  // the client has disconnected
      // False if all connections wait for their answers.
      if (connections_.size() >= options_.max_connections && !make_room()) continue;
      socket.non_blocking(true);
      socket.set_option(tcp::no_delay(true), problem);
      auto const made = std::make_shared<http_connection>(*this, std::move(socket));
      connections_.insert(made.get());
      made->begin();
    } catch (std::exception const&) {
      // There is no memory for the connection. One that waits for nothing makes room; others end, or fail, by
      // themselves.
      (void)make_room(true);
      return pause();
    }
  }
  accept();
}

}  // namespace stagecraft::tool
