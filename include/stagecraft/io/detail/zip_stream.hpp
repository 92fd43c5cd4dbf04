// SPDX-License-Identifier: BSD-3-Clause
// A member of a zip archive, which is read from its begin to its end and not kept. Needs libzip.
#pragma once

#include <stagecraft/io/detail/zip_archive.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <zip.h>

namespace stagecraft::io {

/// A pass over one member. Throws file_error: E5001 the file cannot be read, E5015 it is no archive, has no such
/// member, or a damaged one.
class zip_stream {
 public:
  zip_stream(std::string const& path, std::string const& member)
      : name_(path + ", member '" + member + "'"), archive_(nullptr, &zip_discard), file_(nullptr, &zip_fclose) {
    static_cast<void>(byte_source(path));  // which says why a file cannot be read
    int code = 0;
    archive_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
    if (!archive_) {
      zip_error_t error;
      zip_error_init_with_code(&error, code);
      auto const reason = zip_reason(&error);
      zip_error_fini(&error);
      refuse("E5015", path, "expected a zip archive: " + reason);
    }
    auto const index = zip_name_locate(archive_.get(), member.c_str(), 0);
    if (index < 0) wrong("is not in the archive");
    size_ =
        member_of(archive_.get(), static_cast<zip_uint64_t>(index), [&](std::string const& what) { wrong(what); }).size;
    file_.reset(zip_fopen_index(archive_.get(), static_cast<zip_uint64_t>(index), 0));
    if (!file_) wrong(zip_strerror(archive_.get()));
  }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Reads the next bytes, all of them.
  void read(std::span<std::byte> to) {
    while (!to.empty()) {
      auto const count = zip_fread(file_.get(), to.data(), to.size());
      if (count < 0) wrong("is damaged: " + zip_reason(zip_file_get_error(file_.get())));
      if (count == 0) wrong("is shorter than it says");
      to = to.subspan(static_cast<std::size_t>(count));
    }
  }
  /// Compares the checksum, once all bytes have been read.
  void finish() {
    std::byte beyond{};
    auto const count = zip_fread(file_.get(), &beyond, 1);
    if (count < 0) wrong("is damaged: " + zip_reason(zip_file_get_error(file_.get())));
    if (count > 0) wrong("is longer than it says");
  }

 private:
  [[noreturn]] void wrong(std::string const& what) const { refuse("E5015", name_, what); }

  std::string name_;
  zip_pointer archive_;
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file_;
  std::uint64_t size_ = 0;
};

/// The begin of a member, of which as much is kept as was asked for.
class zip_stream_head {
 public:
  explicit zip_stream_head(zip_stream& from) : from_(from) {}

  [[nodiscard]] std::string const& name() const noexcept { return from_.name(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return from_.size(); }
  [[nodiscard]] bool holds(std::uint64_t first, std::uint64_t count) const noexcept {
    return first <= size() && count <= size() - first;
  }
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t first, std::uint64_t count) {
    auto const known = bytes_.size();
    auto const end = static_cast<std::size_t>(first + count);
    if (end > known) {
      bytes_.resize(end);
      from_.read(std::span(bytes_).subspan(known));
    }
    auto const begin = bytes_.begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

 private:
  zip_stream& from_;
  std::vector<std::byte> bytes_;
};

}  // namespace stagecraft::io
