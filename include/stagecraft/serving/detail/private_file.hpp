// SPDX-License-Identifier: BSD-3-Clause
// A copy of a file that nobody else can change, and that a loader of shared objects finds by a path.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace stagecraft::serving::detail {

/// An open file, which closes itself.
class file_descriptor {
 public:
  explicit file_descriptor(int of = -1) noexcept : own_(of) {}
  file_descriptor(file_descriptor&& other) noexcept : own_(std::exchange(other.own_, -1)) {}
  file_descriptor& operator=(file_descriptor other) noexcept {
    std::swap(own_, other.own_);
    return *this;
  }
  ~file_descriptor() {
    if (own_ >= 0) ::close(own_);
  }
  [[nodiscard]] int get() const noexcept { return own_; }
  [[nodiscard]] int release() noexcept { return std::exchange(own_, -1); }

 private:
  int own_;
};

/// Opens a file to be read, and never waits: opening a pipe would, until somebody writes to it. Symbolic links are
/// followed. Throws Error E5087 it cannot be read, E5200 it is a pipe, a socket, a device or a folder.
template <class Error>
[[nodiscard]] file_descriptor open_regular_file(std::string const& path) {
  file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat known{};
  if (file.get() < 0 && errno != ENXIO)  // a socket, or a device that is not there
    throw Error("E5087", path + ": cannot be read: " + std::strerror(errno));
  if (file.get() < 0 || ::fstat(file.get(), &known) != 0 || !S_ISREG(known.st_mode))
    throw Error("E5200", path + ": is not a regular file");
  return file;
}

/// The copy lies in memory, or in the folder of temporary files where Linux gives no such memory. It is gone when the
/// last one who has it open, or mapped, has closed it.
class private_file {
 public:
  /// Throws Error E5087, E5200 as above; E5201 the file has more than `most` bytes, E5202 it cannot be copied.
  template <class Error>
  [[nodiscard]] static private_file copy_of(std::string const& path, std::int64_t most) {
    auto const from = open_regular_file<Error>(path);
    private_file made;
    auto const refuse = [&] { throw Error("E5202", path + ": no copy can be made of it: " + std::strerror(errno)); };
    if (!made.create()) refuse();
    std::vector<char> piece(std::size_t{1} << 20);
    for (;;) {
      auto const count = ::read(from.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw Error("E5087", path + ": cannot be read: " + std::strerror(errno));
      if (count == 0) break;
      made.size_ += count;
      if (made.size_ > most)
        throw Error("E5201", path + ": has more than " + std::to_string(most) + " bytes, the most that are loaded");
      for (std::string_view left(piece.data(), static_cast<std::size_t>(count)); !left.empty();) {
        auto const written = ::write(made.file_.get(), left.data(), left.size());
        if (written < 0 && errno != EINTR) refuse();
        if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
      }
    }
    return made;
  }

  /// Calls `function` with its bytes.
  template <class Function>
  void read(Function const& function) const {
    if (size_ == 0) return function(std::string_view());
    auto const length = static_cast<std::size_t>(size_);
    void* const bytes = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file_.get(), 0);
    if (bytes == MAP_FAILED) throw std::bad_alloc();
    struct unmap {
      void* bytes;
      std::size_t length;
      ~unmap() { ::munmap(bytes, length); }
    } const ends{bytes, length};
    function(std::string_view(static_cast<char const*>(bytes), length));
  }

  /// No other file of the process has this path as long as the copy is there.
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }
  /// Leaves it open for ever.
  void keep() noexcept { (void)file_.release(); }

 private:
  private_file() = default;

  bool create() {
    file_ = file_descriptor(::memfd_create("stagecraft application", MFD_CLOEXEC));
    if (file_.get() >= 0) return true;
    char const* const folder = std::getenv("TMPDIR");
    auto name = std::string(folder != nullptr ? folder : "/tmp") + "/stagecraft-XXXXXX";
    file_ = file_descriptor(::mkostemp(name.data(), O_CLOEXEC));
    return file_.get() >= 0 && ::unlink(name.c_str()) == 0;
  }

  file_descriptor file_;
  std::int64_t size_ = 0;
};

}  // namespace stagecraft::serving::detail
