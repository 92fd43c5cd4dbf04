// SPDX-License-Identifier: BSD-3-Clause
// The calls of the operating system by which files and folders are read and written: POSIX's, and those of Windows,
// where names are UTF-8 and become wide. The only place that asks which system it is.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

#if defined(_WIN32)
#include <stagecraft/threads/mutex.hpp>
#include <io.h>
#include <process.h>

// Declared here, since <windows.h> defines hundreds of macros with words of users.
extern "C" {
__declspec(dllimport) int __stdcall MultiByteToWideChar(unsigned, unsigned long, char const*, int, wchar_t*, int);
__declspec(dllimport) int __stdcall MoveFileExW(wchar_t const*, wchar_t const*, unsigned long);
__declspec(dllimport) void* __stdcall OpenProcess(unsigned long, int, unsigned long);
__declspec(dllimport) int __stdcall CloseHandle(void*);
}
#else
#include <csignal>
#include <dirent.h>
#include <sys/file.h>
#include <unistd.h>
#endif

namespace stagecraft::io::files {

#if defined(_WIN32)

using facts = struct ::_stat64;
using count_type = int;

/// A name as Windows takes it, with an end.
[[nodiscard]] inline std::wstring wide(std::string const& name) {
  constexpr unsigned utf8 = 65001;
  auto const length = static_cast<int>(name.size());
  std::wstring result(static_cast<std::size_t>(MultiByteToWideChar(utf8, 0, name.data(), length, nullptr, 0)), L'\0');
  MultiByteToWideChar(utf8, 0, name.data(), length, result.data(), static_cast<int>(result.size()));
  return result;
}

[[nodiscard]] inline int open_to_read(std::string const& path) {
  return ::_wopen(wide(path).c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT);
}
/// Opens a file of an open folder. Windows keeps no folders open: `path` names the file.
[[nodiscard]] inline int open_in_folder(int, char const*, std::string const& path) { return open_to_read(path); }
/// -1: users of folders then go by their paths.
[[nodiscard]] inline int open_folder(std::string const&) { return -1; }
[[nodiscard]] inline int open_to_write(std::string const& path) {
  return ::_wopen(wide(path).c_str(), _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY | _O_NOINHERIT, 0666);
}
inline int close(int file) { return ::_close(file); }
[[nodiscard]] inline count_type read_at(int file, void* to, std::size_t size, std::uint64_t place) {
  static threads::mutex moving;  // the place belongs to the file, which several threads may read
  threads::scoped_lock const lock(moving);
  constexpr std::size_t most = std::size_t{1} << 30;
  if (::_lseeki64(file, static_cast<std::int64_t>(place), SEEK_SET) < 0) return -1;
  return ::_read(file, to, static_cast<unsigned>(size < most ? size : most));
}
[[nodiscard]] inline count_type write(int file, void const* from, std::size_t size) {
  constexpr std::size_t most = std::size_t{1} << 30;
  return ::_write(file, from, static_cast<unsigned>(size < most ? size : most));
}
[[nodiscard]] inline int sync(int file) { return ::_commit(file); }
/// Windows has no such locks: `process_has_ended` alone says which files are left over.
inline void lock(int) {}
[[nodiscard]] inline bool is_free(std::string const&) { return true; }
[[nodiscard]] inline int facts_of(int file, facts& found) { return ::_fstat64(file, &found); }
[[nodiscard]] inline int facts_of(std::string const& path, facts& found) {
  return ::_wstat64(wide(path).c_str(), &found);
}
/// Symbolic links are not told from what they point to.
[[nodiscard]] inline int facts_of_link(std::string const& path, facts& found) { return facts_of(path, found); }
[[nodiscard]] inline std::string target_of_link(std::string const&) { return {}; }
inline int make_folder(std::string const& path) { return ::_wmkdir(wide(path).c_str()); }
inline int remove_folder(std::string const& path) { return ::_wrmdir(wide(path).c_str()); }
inline int remove_file(std::string const& path) { return ::_wunlink(wide(path).c_str()); }
/// Renames a file, in the place of any former one, or a folder where there is none. On the disk when it returns.
[[nodiscard]] inline int rename(std::string const& from, std::string const& to) {
  constexpr unsigned long replace_existing = 1, write_through = 8;
  if (MoveFileExW(wide(from).c_str(), wide(to).c_str(), replace_existing | write_through) != 0) return 0;
  errno = EACCES;
  return -1;
}
[[nodiscard]] inline std::vector<std::string> names_in_folder(std::string const& folder) {
  std::vector<std::string> names;
  _wfinddata64_t entry;
  auto const search = ::_wfindfirst64(wide(folder + "/*").c_str(), &entry);
  if (search == -1) return names;
  do {
    std::string name;
    for (auto const* each = entry.name; *each != 0; ++each) {
      auto code = static_cast<std::uint32_t>(*each);
      if (code >= 0xD800 && code < 0xDC00 && each[1] != 0)  // a pair of UTF-16
        code = 0x1'0000 + ((code - 0xD800) << 10) + (static_cast<std::uint32_t>(*++each) - 0xDC00);
      if (code < 0x80) {
        name += static_cast<char>(code);
        continue;
      }
      int const more = code < 0x800 ? 1 : code < 0x1'0000 ? 2 : 3;
      name += static_cast<char>((0xF00U >> more & 0xF0U) | code >> (6 * more));
      for (int i = more - 1; i >= 0; --i) name += static_cast<char>(0x80U | (code >> (6 * i) & 0x3FU));
    }
    if (name != "." && name != "..") names.push_back(std::move(name));
  } while (::_wfindnext64(search, &entry) == 0);
  ::_findclose(search);
  return names;
}
[[nodiscard]] inline long own_process() { return ::_getpid(); }
[[nodiscard]] inline bool process_has_ended(long process) {
  constexpr unsigned long query = 0x1000;  // PROCESS_QUERY_LIMITED_INFORMATION
  void* const opened = OpenProcess(query, 0, static_cast<unsigned long>(process));
  if (opened == nullptr) return true;
  CloseHandle(opened);
  return false;
}

#else

using facts = struct ::stat;
using count_type = ssize_t;

[[nodiscard]] inline int open_to_read(std::string const& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}
/// Opens a file of an open folder. `path` names it where folders cannot be kept open.
[[nodiscard]] inline int open_in_folder(int folder, char const* file, std::string const&) {
  return ::openat(folder, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}
[[nodiscard]] inline int open_folder(std::string const& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
[[nodiscard]] inline int open_to_write(std::string const& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}
inline int close(int file) { return ::close(file); }
[[nodiscard]] inline count_type read_at(int file, void* to, std::size_t size, std::uint64_t place) {
  return ::pread(file, to, size, static_cast<off_t>(place));
}
[[nodiscard]] inline count_type write(int file, void const* from, std::size_t size) {
  return ::write(file, from, size);
}
[[nodiscard]] inline int sync(int file) { return ::fsync(file); }
/// Takes the lock that tells others that a file or folder is being written.
inline void lock(int file) { static_cast<void>(::flock(file, LOCK_EX | LOCK_NB)); }
/// True if the file or folder can be opened, and no program has its lock.
[[nodiscard]] inline bool is_free(std::string const& path) {
  int const opened = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0) return false;
  bool const taken = ::flock(opened, LOCK_EX | LOCK_NB) == 0;
  ::close(opened);
  return taken;
}
[[nodiscard]] inline int facts_of(int file, facts& found) { return ::fstat(file, &found); }
[[nodiscard]] inline int facts_of(std::string const& path, facts& found) { return ::stat(path.c_str(), &found); }
[[nodiscard]] inline int facts_of_link(std::string const& path, facts& found) { return ::lstat(path.c_str(), &found); }
/// What a symbolic link points to; empty if it is none.
[[nodiscard]] inline std::string target_of_link(std::string const& path) {
  char target[4096];
  auto const count = ::readlink(path.c_str(), target, sizeof target);
  if (count <= 0 || count == static_cast<ssize_t>(sizeof target)) return {};
  return {target, static_cast<std::size_t>(count)};
}
inline int make_folder(std::string const& path) { return ::mkdir(path.c_str(), 0777); }
inline int remove_folder(std::string const& path) { return ::rmdir(path.c_str()); }
inline int remove_file(std::string const& path) { return ::unlink(path.c_str()); }
[[nodiscard]] inline int rename(std::string const& from, std::string const& to) {
  return std::rename(from.c_str(), to.c_str());
}
[[nodiscard]] inline std::vector<std::string> names_in_folder(std::string const& folder) {
  std::vector<std::string> names;
  if (auto* const opened = ::opendir(folder.c_str()); opened != nullptr) {
    while (auto const* const entry = ::readdir(opened))
      if (std::string_view const name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
    ::closedir(opened);
  }
  return names;
}
[[nodiscard]] inline long own_process() { return ::getpid(); }
[[nodiscard]] inline bool process_has_ended(long process) {
  return ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
}

#endif

[[nodiscard]] inline bool is_folder(facts const& of) { return (of.st_mode & S_IFMT) == S_IFDIR; }
[[nodiscard]] inline bool is_file(facts const& of) { return (of.st_mode & S_IFMT) == S_IFREG; }

}  // namespace stagecraft::io::files
