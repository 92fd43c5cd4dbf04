// SPDX-License-Identifier: BSD-3-Clause
// Writes files so that a reader sees the former one or the new one, whole: under another name, to the disk, then
// renamed.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/leftovers.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace stagecraft::io {

/// Called before bytes are written, with how many, and before anything else is done to a folder, with 0; says how many
/// to write. For tests that end a program in the middle.
using write_hook_type = std::size_t (*)(std::size_t);
inline constinit write_hook_type write_hook = nullptr;
inline void call_write_hook() {
  if (write_hook != nullptr) write_hook(0);
}

[[noreturn, gnu::cold]] inline void refuse_writing(std::string const& path, char const* what) {
  std::string const reason = std::strerror(errno);
  refuse("E5041", path, std::string("cannot ") + what + ": " + reason);
}

/// The entries of a folder are on the disk when this returns. Systems that cannot do that for folders are forgiven.
inline void sync_folder(std::string const& folder) {
  int const opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

/// A new file; what stood there is gone. Throws file_error E5041 with the system's reason: a full disk, no permission.
class file_writer {
 public:
  explicit file_writer(std::string path)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (file_ < 0) refuse_writing(path_, "open it for writing");
    ::flock(file_, LOCK_EX | LOCK_NB);  // by which others see that it is being written
  }
  file_writer(file_writer const&) = delete;
  file_writer& operator=(file_writer const&) = delete;
  ~file_writer() {
    if (file_ >= 0) ::close(file_);
  }

  void write(std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
      auto const wanted = write_hook != nullptr ? write_hook(bytes.size()) : bytes.size();
      auto const count = ::write(file_, bytes.data(), wanted);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse_writing(path_, "write to it");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  void write(std::string_view text) { write(std::span(reinterpret_cast<std::byte const*>(text.data()), text.size())); }
  /// Everything is on the disk when this returns.
  void close() {
    if (::fsync(file_) != 0 && errno != EINVAL && errno != ENOTSUP) refuse_writing(path_, "write to it");
    if (::close(std::exchange(file_, -1)) != 0) refuse_writing(path_, "write to it");
  }

 private:
  std::string path_;
  int file_;
};

/// Writes a file whole: `fill(writer)` writes its bytes. If that throws, or the program ends before it is done, what
/// stood at `path` is still there. A symbolic link stays: the file that it points to is replaced.
template <class Fill>
void replace_file(std::string const& path, Fill const& fill) {
  auto const place = behind_links(path);
  for (auto const& left : leftovers(place, ".saving-"))
    if (!is_real_folder(left)) ::unlink(left.c_str());
  auto const beside = name_while_writing(place);
  try {
    file_writer writer(beside);
    fill(writer);
    writer.close();
    call_write_hook();
    if (std::rename(beside.c_str(), place.c_str()) != 0) refuse_writing(path, "put the new file there");
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
  sync_folder(folder_of(place));
}

}  // namespace stagecraft::io
