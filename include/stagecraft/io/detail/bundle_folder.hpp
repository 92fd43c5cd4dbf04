// SPDX-License-Identifier: BSD-3-Clause
// The folder of a bundle: three files that belong together, written beside the former folder, whose place they then
// take in one step.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/detail/system_files.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <zlib.h>

namespace stagecraft::io {

/// The checksum of zip and gzip for bytes that follow others, whose checksum is `crc`. Needs zlib.
[[nodiscard]] inline std::uint32_t crc32_of(std::span<std::byte const> bytes, std::uint32_t crc = 0) {
  if (bytes.empty()) return crc;  // zlib returns its first value for a null pointer
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<Bytef const*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

inline constexpr char const* bundle_files[]{"model.json", "weights.safetensors", "training.json"};

/// Passes bytes on and computes their number and checksum.
class summing_writer {
 public:
  explicit summing_writer(file_writer& to) : to_(to) {}
  void write(std::span<std::byte const> bytes) {
    crc_ = crc32_of(bytes, crc_);
    size_ += bytes.size();
    to_.write(bytes);
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  [[nodiscard]] std::uint32_t crc() const noexcept { return crc_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  file_writer& to_;
  std::uint32_t crc_ = 0;
  std::uint64_t size_ = 0;
};

/// Removes a bundle, and nothing else: a folder with other files stays.
inline void remove_bundle(std::string const& folder) {
  if (!is_real_folder(folder)) return;  // a link's files belong to another folder
  for (auto const* file : bundle_files) files::remove_file(folder + "/" + file);
  files::remove_folder(folder);
}

[[nodiscard]] inline std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}
/// Removes folders beside `path` that an ended program has left: half-written ones, "<path>.saving-<process>", and, if
/// there is a whole bundle as well, "<path>.former-<process>", which was about to be removed.
inline void remove_leftovers(std::string const& path) {
  auto const place = behind_links(path);
  for (auto const& left : leftovers(place, ".saving-")) remove_bundle(left);
  if (exists(place))
    for (auto const& left : leftovers(place, ".former-")) remove_bundle(left);
}

/// Throws file_error E5033 if `path` holds anything but a bundle, which is not overwritten.
inline void check_bundle_place(std::string const& path) {
  if (!exists(path)) return;
  files::facts facts{};
  if (files::facts_of(path, facts) != 0 || !files::is_folder(facts))
    refuse("E5033", path, "a bundle is a folder, and something else stands there");
  for (auto const& name : names_in_folder(path)) {
    bool known = false;
    for (auto const* file : bundle_files) known = known || name == file;
    if (!known)
      refuse("E5033", path, "the folder holds '" + name + "', which is not a bundle's, and is not overwritten");
  }
}

/// Puts the new bundle in the place of the former one, and removes that.
inline void put_in_place(std::string const& saved, std::string const& path) {
  call_write_hook();
  if (!exists(path)) {
    if (files::rename(saved, path) != 0) refuse_writing(path, "put the new bundle there");
    sync_folder(folder_of(path));
    return;
  }
#ifdef RENAME_EXCHANGE
  if (::renameat2(AT_FDCWD, saved.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    sync_folder(folder_of(path));
    call_write_hook();
    remove_bundle(saved);
    return;
  }
#endif
  // Two steps: a reader between them finds the former bundle under its other name.
  auto const former = path + ".former-" + std::to_string(files::own_process());
  if (files::rename(path, former) != 0) refuse_writing(path, "put the new bundle there");
  call_write_hook();
  if (files::rename(saved, path) != 0) {
    auto const reason = errno;
    if (files::rename(former, path) == 0) errno = reason;
    refuse_writing(path, "put the new bundle there");
  }
  sync_folder(folder_of(path));
  call_write_hook();
  remove_bundle(former);
}

/// Holds the lock that marks a folder as being written.
class held_folder {
 public:
  explicit held_folder(std::string const& path) : opened_(files::open_folder(path)) {
    if (opened_ >= 0) files::lock(opened_);
  }
  held_folder(held_folder const&) = delete;
  held_folder& operator=(held_folder const&) = delete;
  ~held_folder() {
    if (opened_ >= 0) files::close(opened_);
  }

 private:
  int opened_;
};

/// Writes a bundle: `fill(folder)` writes its files. If `fill` throws, or the program ends before it is done, the
/// former bundle is still there, whole. A symbolic link stays: the folder that it points to is replaced.
template <class Fill>
void replace_bundle(std::string const& path, Fill const& fill) {
  auto const place = behind_links(path);
  check_bundle_place(place);
  remove_leftovers(place);
  auto const beside = name_while_writing(place);
  remove_bundle(beside);
  if (files::make_folder(beside) != 0) refuse_writing(beside, "make a folder there");
  held_folder const held(beside);
  try {
    fill(beside);
    sync_folder(beside);
    put_in_place(beside, place);
  } catch (...) {
    remove_bundle(beside);
    throw;
  }
}

/// The path of a bundle: `path`, or the former bundle's temporary name while it is replaced, or after a program ended
/// in that moment.
[[nodiscard]] inline std::string place_of_bundle(std::string const& path) {
  files::facts facts{};
  if (files::facts_of(path, facts) == 0) return path;
  auto const former = leftovers(behind_links(path), ".former-", true);
  return former.empty() ? path : former.front();
}

}  // namespace stagecraft::io
