// SPDX-License-Identifier: BSD-3-Clause
// Writes files so that a reader sees the former or the new file, whole: a file is written under another name, to the
// disk, and then renamed. Removes files and folders with such names that killed programs left.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/system_files.hpp>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// The name beside `path` under which it is written. It has the number of the process, so that two processes that save
/// to one place do not mix.
[[nodiscard]] inline std::string name_while_writing(std::string const& path) {
  return path + ".saving-" + std::to_string(files::own_process());
}

/// The folder of a path; "." for a name without a folder.
[[nodiscard]] inline std::string folder_of(std::string const& path) {
  auto const slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// True if the path exists; a dangling symbolic link exists, too.
[[nodiscard]] inline bool exists(std::string const& path) {
  files::facts facts{};
  return files::facts_of_link(path, facts) == 0;
}
/// True if the path is a folder, and no symbolic link to one.
[[nodiscard]] inline bool is_real_folder(std::string const& path) {
  files::facts facts{};
  return files::facts_of_link(path, facts) == 0 && files::is_folder(facts);
}

/// Follows symbolic links: returns the path that a link points to, which need not exist; any other path as it is.
[[nodiscard]] inline std::string behind_links(std::string path) {
  constexpr int most = 40;  // Linux's limit
  for (int links = 0; links < most; ++links) {
    auto const to = files::target_of_link(path);
    if (to.empty()) break;
    auto const slash = path.find_last_of('/');
    bool const is_beside = !to.starts_with('/') && slash != std::string::npos;
    path = (is_beside ? path.substr(0, slash + 1) : std::string()) + to;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  }
  return path;
}

/// The names in a folder; none if there is no folder.
[[nodiscard]] inline std::vector<std::string> names_in_folder(std::string const& folder) {
  return files::names_in_folder(folder);
}

/// The time at which a process started, in seconds of the system's clock; 0: unknown.
[[nodiscard]] inline std::int64_t start_of_process([[maybe_unused]] long process) {
#if defined(__linux__)
  timespec since_boot{}, now{};
  auto* const file = std::fopen(("/proc/" + std::to_string(process) + "/stat").c_str(), "re");
  if (file == nullptr) return 0;
  char text[1024];
  auto const count = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  std::string_view left(text, count);
  left.remove_prefix(left.rfind(')') == std::string_view::npos ? left.size() : left.rfind(')') + 1);
  constexpr int start_time = 19;  // words between the program's name and it
  for (int i = 0; i < start_time && !left.empty(); ++i) left.remove_prefix(std::min(left.find(' ', 1), left.size()));
  long long ticks = 0;
  for (auto const digit : left.substr(left.empty() ? 0 : 1)) {
    if (digit < '0' || digit > '9' || ticks > (1LL << 58)) break;
    ticks = ticks * 10 + (digit - '0');
  }
  if (ticks == 0 || ::clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 || ::clock_gettime(CLOCK_REALTIME, &now) != 0)
    return 0;
  return now.tv_sec - since_boot.tv_sec + ticks / ::sysconf(_SC_CLK_TCK);
#else
  return 0;
#endif
}

/// True if no program writes to the path any more: nobody holds its lock, and the process with that number has ended or
/// is younger than the path.
[[nodiscard]] inline bool is_left_over(std::string const& path, long process) {
  if (process <= 0 || process == files::own_process()) return false;
  files::facts facts{};
  if (files::facts_of_link(path, facts) != 0 || !files::is_free(path)) return false;
  if (files::process_has_ended(process)) return true;
  constexpr std::int64_t doubt = 60;  // seconds by which clocks may have been set meanwhile
  auto const start = start_of_process(process);
  return start > static_cast<std::int64_t>(facts.st_mtime) + doubt;
}

/// The paths "<path><kind><process>" that exist beside `path`. `any`: also those that a program still writes.
[[nodiscard]] inline std::vector<std::string> leftovers(std::string const& path, std::string_view kind,
                                                        bool any = false) {
  std::vector<std::string> found;
  auto const folder = folder_of(path);
  auto const slash = path.find_last_of('/');
  auto const begin = path.substr(slash == std::string::npos ? 0 : slash + 1) + std::string(kind);
  for (auto const& name : names_in_folder(folder)) {
    if (!name.starts_with(begin)) continue;
    auto const place = slash == std::string::npos ? name : folder + name;
    char* end = nullptr;
    auto const process = std::strtol(name.c_str() + begin.size(), &end, 10);
    if (*end == '\0' && process > 0 && (any || is_left_over(place, process))) found.push_back(place);
  }
  return found;
}

/// A function that tests set to end a program in the middle. It is called with the number of bytes before they are
/// written, and with 0 before anything else is done to a folder; it returns the number of bytes to write.
using write_hook_type = std::size_t (*)(std::size_t);
inline constinit write_hook_type write_hook = nullptr;
inline void call_write_hook() {
  if (write_hook != nullptr) write_hook(0);
}

[[noreturn, gnu::cold]] inline void refuse_writing(std::string const& path, char const* what) {
  std::string const reason = std::strerror(errno);
  refuse("E5041", path, std::string("cannot ") + what + ": " + reason);
}

/// Writes the entries of a folder to the disk. Failures are ignored, since some systems cannot do that for folders.
inline void sync_folder(std::string const& folder) {
  int const opened = files::open_folder(folder);
  if (opened < 0) return;
  static_cast<void>(files::sync(opened));
  files::close(opened);
}

/// Writes a new file in place of any former one. Throws file_error E5041 with the system's reason, such as a full disk
/// or no permission.
class file_writer {
 public:
  explicit file_writer(std::string path) : path_(std::move(path)), file_(files::open_to_write(path_)) {
    if (file_ < 0) refuse_writing(path_, "open it for writing");
    files::lock(file_);  // the lock tells others that the file is being written
  }
  file_writer(file_writer const&) = delete;
  file_writer& operator=(file_writer const&) = delete;
  ~file_writer() {
    if (file_ >= 0) files::close(file_);
  }

  void write(std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
      auto const wanted = write_hook != nullptr ? write_hook(bytes.size()) : bytes.size();
      auto const count = files::write(file_, bytes.data(), wanted);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse_writing(path_, "write to it");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  void write(std::string_view text) { write(std::span(reinterpret_cast<std::byte const*>(text.data()), text.size())); }
  /// Closes the file, all of which is then on the disk.
  void close() {
    if (files::sync(file_) != 0 && errno != EINVAL && errno != ENOTSUP) refuse_writing(path_, "write to it");
    if (files::close(std::exchange(file_, -1)) != 0) refuse_writing(path_, "write to it");
  }

 private:
  std::string path_;
  int file_;
};

/// Writes a whole file: `fill(writer)` writes its bytes. If `fill` throws, or the program ends before it is done, the
/// former file at `path` is still there. A symbolic link stays: the file that it points to is replaced.
template <class Fill>
void replace_file(std::string const& path, Fill const& fill) {
  auto const place = behind_links(path);
  for (auto const& left : leftovers(place, ".saving-"))
    if (!is_real_folder(left)) files::remove_file(left);
  auto const beside = name_while_writing(place);
  try {
    file_writer writer(beside);
    fill(writer);
    writer.close();
    call_write_hook();
    if (files::rename(beside, place) != 0) refuse_writing(path, "put the new file there");
  } catch (...) {
    files::remove_file(beside);
    throw;
  }
  sync_folder(folder_of(place));
}

}  // namespace stagecraft::io
