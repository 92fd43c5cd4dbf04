// SPDX-License-Identifier: BSD-3-Clause
// Bytes that are read from a file or from memory, at any place, and never beyond their end.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/system_files.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// Throws file_error: "<file>: <what>".
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(std::string_view code, std::string const& file,
                                                          std::string const& what) {
  throw file_error(code, file + ": " + what);
}

/// A file, or bytes in memory with a name for errors.
class byte_source {
 public:
  /// Opens a file. Throws file_error E5001 with the system's reason; folders, pipes and devices are refused.
  explicit byte_source(std::string path) : name_(std::move(path)), file_(files::open_to_read(name_)) { begin(); }
  /// Opens a file in an open folder; errors call it `path`.
  byte_source(int folder, char const* file, std::string path)
      : name_(std::move(path)), file_(files::open_in_folder(folder, file, name_)) {
    begin();
  }
  byte_source(std::span<std::byte const> bytes, std::string name)
      : name_(std::move(name)), bytes_(bytes), size_(bytes.size()) {}
  byte_source(byte_source const&) = delete;
  byte_source& operator=(byte_source const&) = delete;
  ~byte_source() {
    if (file_ >= 0) files::close(file_);
  }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// True if the bytes [first, first + count) exist.
  [[nodiscard]] bool holds(std::uint64_t first, std::uint64_t count) const noexcept {
    return first <= size_ && count <= size_ - first;
  }

  /// Copies bytes that exist. Throws file_error E5001 if the file has become shorter meanwhile.
  void read(std::uint64_t first, std::span<std::byte> to) const {
    if (file_ < 0) {
      if (!to.empty()) std::memcpy(to.data(), bytes_.data() + first, to.size());
      return;
    }
    while (!to.empty()) {
      auto const count = files::read_at(file_, to.data(), to.size(), first);
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) errno = EIO;
      if (count <= 0) fail();
      first += static_cast<std::uint64_t>(count);
      to = to.subspan(static_cast<std::size_t>(count));
    }
  }
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t first, std::uint64_t count) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    read(first, bytes);
    return bytes;
  }

 private:
  void begin() {
    files::facts facts{};
    if (file_ < 0 || files::facts_of(file_, facts) != 0) fail();
    if (!files::is_file(facts)) {
      errno = files::is_folder(facts) ? EISDIR : EINVAL;
      fail();
    }
    size_ = static_cast<std::uint64_t>(facts.st_size);
  }
  [[noreturn]] void fail() {
    std::string const reason = std::strerror(errno);
    if (file_ >= 0) files::close(std::exchange(file_, -1));
    refuse("E5001", name_, "expected a readable file, found: " + reason);
  }
  [[noreturn]] void fail() const {
    refuse("E5001", name_, std::string("expected a readable file, found: ") + std::strerror(errno));
  }

  std::string name_;
  std::span<std::byte const> bytes_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

/// The little-endian number in the first `Count` bytes.
template <std::size_t Count>
[[nodiscard]] constexpr std::uint64_t number_at(std::byte const* bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < Count; ++i) value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}
template <std::size_t Count>
void append_number(std::vector<std::byte>& to, std::uint64_t value) {
  for (std::size_t i = 0; i < Count; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

inline void append_text(std::vector<std::byte>& to, std::string_view text) {
  auto const* const bytes = reinterpret_cast<std::byte const*>(text.data());
  to.insert(to.end(), bytes, bytes + text.size());
}

}  // namespace stagecraft::io
