// SPDX-License-Identifier: BSD-3-Clause
#include "keras/hdf5_process.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/keras/hdf5_file.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <poll.h>
#include <span>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace stagecraft::tool {

namespace {

constexpr std::uint64_t least_memory = std::uint64_t{256} << 20, growth = 64;
constexpr std::uint64_t least_seconds = 5, bytes_of_second = 1'000'000;
/// Ratio of clock time to processor time, since others use the processor and the disk, too.
constexpr std::uint64_t slowness = 10;

using bytes = std::vector<std::byte>;
using time_point = std::chrono::steady_clock::time_point;
constexpr auto forever = time_point::max();

void append_sized(bytes& to, std::string_view text) {
  io::append_number<8>(to, text.size());
  io::append_text(to, text);
}
void append_texts(bytes& to, std::vector<std::string> const& texts) {
  io::append_number<8>(to, texts.size());
  for (auto const& text : texts) append_sized(to, text);
}

/// Waits for the end of a process, whatever signals come meanwhile. Returns its status; 0: unknown.
int end_of(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return status;
}

/// Shuts the socket down, so that the other process sees the end at once even if processes that were started meanwhile
/// have the socket, too.
void hang_up(int socket) {
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
}

/// Waits until a socket can be written or read. False: the time is over.
bool is_ready(int socket, short what, time_point until) {
  for (;;) {
    auto left = std::chrono::milliseconds(-1);
    if (until != forever) {
      left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
    }
    pollfd waited{socket, what, 0};
    int const ready = ::poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}
/// Sends or receives all bytes by calls of `some`. False: that failed, or the time is over.
template <class Bytes, class Some>
bool move_all(int socket, short what, Bytes left, time_point until, Some const& some) {
  while (!left.empty()) {
    if (!is_ready(socket, what, until)) return false;
    auto const count = some(left);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    left = left.subspan(static_cast<std::size_t>(count));
  }
  return true;
}
bool send_all(int socket, std::span<std::byte const> from, time_point until) {
  return move_all(socket, POLLOUT, from, until, [socket](auto left) {
    return ::send(socket, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}
bool receive_all(int socket, std::span<std::byte> to, time_point until) {
  return move_all(socket, POLLIN, to, until,
                  [socket](auto left) { return ::recv(socket, left.data(), left.size(), MSG_DONTWAIT); });
}

/// Sends a message after its length.
bool send_message(int socket, bytes const& message, time_point until) {
  bytes length;
  io::append_number<8>(length, message.size());
  return send_all(socket, length, until) && send_all(socket, message, until);
}
std::optional<bytes> receive_message(int socket, std::uint64_t most, time_point until) {
  bytes length(8);
  if (!receive_all(socket, length, until)) return std::nullopt;
  auto const count = io::number_at<8>(length.data());
  if (count > most) return std::nullopt;
  bytes message(static_cast<std::size_t>(count));
  if (!receive_all(socket, message, until)) return std::nullopt;
  return message;
}

// The functions below run in the other process.

/// Memory that is already in use, including a sanitizer's.
std::uint64_t memory_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Sets the limits of the process; lower ones that it already has stay. False: a limit cannot be set.
bool limit(std::uint64_t memory, std::uint64_t size) {
  bool all = true;
  auto const set = [&all](auto what, std::uint64_t most, std::uint64_t more = 0) {
    rlimit both{};
    all = all && ::getrlimit(what, &both) == 0;
    both.rlim_max = std::min(both.rlim_max, static_cast<rlim_t>(most + more));
    both.rlim_cur = std::min(both.rlim_max, static_cast<rlim_t>(most));
    all = all && ::setrlimit(what, &both) == 0;
  };
  set(RLIMIT_CORE, 0);
  constexpr std::uint64_t pause = 5;  // if both limits are the same, Linux sends SIGKILL at once, and no SIGXCPU
  set(RLIMIT_CPU, least_seconds + size / bytes_of_second, pause);
  set(RLIMIT_AS, memory_in_use() + memory);
  if (int const nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0)
    // Hides glibc's message at the end.
    for (int const stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  return all;
}

/// The answer to a question, after a 0.
bytes answer_of(io::hdf5_file const& file, hdf5_answer question) {
  bytes to;
  io::append_number<8>(to, 0);
  auto const what = static_cast<char>(question.number());
  auto const path = question.text(), attribute = question.text();
  switch (what) {
    case 'g': io::append_number<8>(to, file.has_group(path) ? 1 : 0); break;
    case 'a': io::append_number<8>(to, file.has_array(path) ? 1 : 0); break;
    case 'c': append_texts(to, file.children(path)); break;
    case 'l': append_texts(to, file.texts(path, attribute)); break;
    case 't': {
      auto const text = file.text(path, attribute);
      append_texts(to, text ? std::vector{*text} : std::vector<std::string>());
      break;
    }
    case 'v': {
      auto const array = file.array(path);
      io::append_number<8>(to, array.shape.size());
      for (auto const length : array.shape) io::append_number<8>(to, static_cast<std::uint64_t>(length));
      io::append_number<8>(to, array.values.size());
      auto const values = std::as_bytes(std::span(array.values));
      to.insert(to.end(), values.begin(), values.end());
      break;
    }
    default: break;  // it was to open the file
  }
  return to;
}

bytes refusal(std::string_view code, std::string_view text) {
  bytes to;
  io::append_number<8>(to, 1);
  append_sized(to, code);
  append_sized(to, text);
  return to;
}

/// Answers questions until the socket is closed.
void serve(int socket, std::string const& name, std::function<std::unique_ptr<io::hdf5_file>()> const& open) {
  std::unique_ptr<io::hdf5_file> file;
  constexpr std::uint64_t longest_question = 1 << 24;
  while (auto const question = receive_message(socket, longest_question, forever)) {
    bytes answer;
    try {
      if (!file) file = open();
      answer = answer_of(*file, hdf5_answer(*question));
    } catch (file_error const& why) {
      std::string_view text = why.what();
      text.remove_suffix(why.code().size() + std::string_view(" []").size());  // the code is appended again later
      answer = refusal(why.code(), text);
    } catch (std::bad_alloc const&) {
      answer = refusal("E5105", name + ": takes more memory to be read than a file of its size should");
    }
    if (!send_message(socket, answer, forever)) return;
  }
}

}  // namespace

std::byte const* hdf5_answer::take(std::uint64_t count) {
  if (count > bytes_.size() - at_) throw malformed();
  return bytes_.data() + std::exchange(at_, at_ + static_cast<std::size_t>(count));
}
std::uint64_t hdf5_answer::number() { return io::number_at<8>(take(8)); }
std::string hdf5_answer::text() {
  auto const size = number();
  return {reinterpret_cast<char const*>(take(size)), static_cast<std::size_t>(size)};
}
std::vector<std::string> hdf5_answer::texts() {
  std::vector<std::string> result;
  for (auto left = number(); left > 0; --left) result.push_back(text());
  return result;
}
std::vector<float> hdf5_answer::floats() {
  auto const count = number();
  if (count > bytes_.size() / sizeof(float)) throw malformed();
  auto const* const from = take(count * sizeof(float));
  std::vector<float> result(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(result.data(), from, result.size() * sizeof(float));
  return result;
}

hdf5_process::hdf5_process(std::string const& path, std::chrono::seconds patience)
    : hdf5_content(path), patience_(patience) {
  start(io::byte_source(path).size(), [&] { return std::make_unique<io::hdf5_file>(path); });
}

hdf5_process::hdf5_process(std::vector<std::byte> contents, std::string of, std::chrono::seconds patience)
    : hdf5_content(std::move(of)), patience_(patience) {
  auto const size = contents.size();
  start(size, [&] { return std::make_unique<io::hdf5_file>(std::move(contents), name()); });
}

hdf5_process::~hdf5_process() {
  if (socket_ >= 0) hang_up(socket_);  // then the other process ends
  if (process_ > 0) end_of(process_);
}

void hdf5_process::start(std::uint64_t size, std::function<std::unique_ptr<io::hdf5_file>()> const& open) {
  most_memory_ = least_memory + growth * size;
  if (patience_ == by_size) patience_ = std::chrono::seconds(slowness * (least_seconds + size / bytes_of_second));
  int sockets[2];
  auto const stop = [&](int why) {
    io::refuse("E5105", name(), std::string("no process can be started that reads it: ") + std::strerror(why));
  };
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) stop(errno);
  process_ = ::fork();
  int const why = errno;  // of fork, before others set it
  if (process_ == 0) {
    ::close(sockets[0]);
    try {
      if (!limit(most_memory_, size)) ::_exit(1);
      serve(sockets[1], name(), open);
    } catch (...) {  // the code of the parent process must not go on here
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(sockets[1]);
  socket_ = sockets[0];
  if (process_ < 0) {
    ::close(std::exchange(socket_, -1));
    stop(why);
  }
  try {
    static_cast<void>(answer('o', "", ""));
  } catch (...) {  // no destructor is called
    hang_up(std::exchange(socket_, -1));
    if (process_ > 0) end_of(process_);
    throw;
  }
}

void hdf5_process::ended(std::string const& path, bool is_late) const {
  int status = 0;
  if (process_ > 0) {
    ::kill(process_, SIGKILL);  // it did not answer as it should
    status = end_of(std::exchange(process_, -1));
  }
  auto const place = path.empty() ? std::string() : ", at '" + path + "'";
  int const signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGXCPU || is_late)
    io::refuse("E5105", name(), "takes longer to be read than a file of its size should" + place);
  io::refuse("E5105", name(),
             "is damaged, or made to do harm: libhdf5 has failed while it read it" + place + " (" +
                 (signal == 0 || signal == SIGKILL ? std::string("no answer") : std::string(::strsignal(signal))) +
                 ")");
}

hdf5_answer hdf5_process::answer(char what, std::string const& path, std::string const& attribute) const {
  bytes question;
  io::append_number<8>(question, static_cast<std::uint64_t>(what));
  append_sized(question, path);
  append_sized(question, attribute);
  auto const until = std::chrono::steady_clock::now() + patience_;
  auto message = send_message(socket_, question, until) ? receive_message(socket_, most_memory_, until) : std::nullopt;
  if (!message) ended(path, std::chrono::steady_clock::now() >= until);
  hdf5_answer given(*std::move(message));
  try {
    if (given.number() == 0) return given;
    auto const code = given.text(), text = given.text();
    throw file_error(code, text);
  } catch (hdf5_answer::malformed const&) {
    ended(path);
  }
}

template <class Read>
auto hdf5_process::ask(char what, std::string const& path, std::string const& attribute, Read const& read) const {
  auto given = answer(what, path, attribute);
  try {
    return read(given);
  } catch (hdf5_answer::malformed const&) {
    ended(path);
  }
}

bool hdf5_process::has_group(std::string const& path) const {
  return ask('g', path, "", [](hdf5_answer& given) { return given.number() == 1; });
}
bool hdf5_process::has_array(std::string const& path) const {
  return ask('a', path, "", [](hdf5_answer& given) { return given.number() == 1; });
}
std::vector<std::string> hdf5_process::children(std::string const& group) const {
  return ask('c', group, "", [](hdf5_answer& given) { return given.texts(); });
}
std::optional<std::string> hdf5_process::text(std::string const& group, std::string const& attribute) const {
  auto const found = ask('t', group, attribute, [](hdf5_answer& given) { return given.texts(); });
  return found.empty() ? std::nullopt : std::optional(found.front());
}
std::vector<std::string> hdf5_process::texts(std::string const& group, std::string const& attribute) const {
  return ask('l', group, attribute, [](hdf5_answer& given) { return given.texts(); });
}
io::stored_array hdf5_process::array(std::string const& path) const {
  return ask('v', path, "", [&](hdf5_answer& given) {
    io::stored_array result{path, {}, {}};
    for (auto left = given.number(); left > 0; --left)
      result.shape.push_back(static_cast<std::int64_t>(given.number()));
    result.values = given.floats();
    if (io::bytes_of(result.shape, sizeof(float)) != result.values.size() * sizeof(float))
      throw hdf5_answer::malformed();
    return result;
  });
}

}  // namespace stagecraft::tool
