// SPDX-License-Identifier: BSD-3-Clause
// Reads zip archives, such as .npz and .keras files, whole or one member as a stream, and writes them. Needs libzip.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <zip.h>

namespace stagecraft::io {

/// A member of an archive, as in the archive's directory.
struct zip_member {
  std::string name;
  std::uint64_t index = 0;
  std::uint64_t packed = 0, size = 0;  ///< bytes in the file, bytes of the member
};

using zip_pointer = std::unique_ptr<zip_t, void (*)(zip_t*)>;

/// libzip's text for an error.
[[nodiscard]] inline std::string zip_reason(zip_error_t* error) { return zip_error_strerror(error); }

/// True if a member's name leads out of the folder that the archive is unpacked to.
[[nodiscard]] inline bool leaves_folder(std::string_view name) {
  if (name.starts_with('/') || name.find('\\') != std::string_view::npos) return true;
  while (!name.empty()) {
    auto const slash = name.find('/');
    if (name.substr(0, slash) == "..") return true;
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
  }
  return false;
}

/// Reads a member's entry in the directory; `wrong(text)` throws if the entry cannot be true, or names a method of
/// packing that is not read.
template <class Wrong>
[[nodiscard]] zip_member member_of(zip_t* archive, zip_uint64_t index, Wrong const& wrong) {
  constexpr std::uint64_t most_growth = 1032;  // the most bytes that a byte of a deflated stream becomes
  constexpr auto wanted =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  zip_stat_t facts;
  if (zip_stat_index(archive, index, 0, &facts) != 0 || (facts.valid & wanted) != wanted)
    wrong("its directory is damaged");
  zip_member member{facts.name, index, facts.comp_size, facts.size};
  auto const about = "member '" + member.name + "' ";
  if (leaves_folder(member.name)) wrong(about + "has a path that leaves its folder");
  if (facts.encryption_method != ZIP_EM_NONE) wrong(about + "is encrypted");
  if (facts.comp_method != ZIP_CM_STORE && facts.comp_method != ZIP_CM_DEFLATE)
    wrong(about + "is packed in another way than zlib's (" + std::to_string(facts.comp_method) + ")");
  if (facts.comp_method == ZIP_CM_STORE ? member.size != member.packed : member.size / most_growth > member.packed)
    wrong(about + "has " + std::to_string(member.packed) + " bytes, which cannot become " +
          std::to_string(member.size));
  return member;
}

/// Reads archives. Throws file_error E5015: it is no archive, a member's name or checksum is wrong, a member is
/// encrypted, or claims to become larger than its bytes ever could. E5220: a member becomes larger than it may.
class zip_reader {
 public:
  explicit zip_reader(byte_source const& source)
      : name_(source.name()), bytes_(source.read(0, source.size())), archive_(nullptr, &zip_discard) {
    if (bytes_.empty()) wrong("expected a zip archive, found no bytes");  // libzip takes no bytes for an empty archive
    zip_error_t error;
    zip_error_init(&error);
    auto* const from = zip_source_buffer_create(bytes_.data(), bytes_.size(), 0, &error);
    if (from != nullptr) archive_.reset(zip_open_from_source(from, ZIP_RDONLY | ZIP_CHECKCONS, &error));
    if (!archive_ && from != nullptr) zip_source_free(from);
    auto const reason = zip_reason(&error);
    zip_error_fini(&error);
    if (!archive_) wrong("expected a zip archive: " + reason);
    read_members();
  }

  [[nodiscard]] std::vector<zip_member> const& members() const noexcept { return members_; }

  /// The bytes of a member, whose checksum is verified. Throws E5220, before anything is unpacked, for a member of more
  /// than `most` bytes; E5015 for one that becomes larger than the directory states.
  [[nodiscard]] std::vector<std::byte> read(zip_member const& member,
                                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    if (member.size > most)
      refuse("E5220", name_,
             "member '" + member.name + "' unpacks from " + std::to_string(member.packed) + " to " +
                 std::to_string(member.size) + " bytes, expected at most " + std::to_string(most));
    std::vector<std::byte> bytes(static_cast<std::size_t>(member.size));
    std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> const file(zip_fopen_index(archive_.get(), member.index, 0),
                                                                 &zip_fclose);
    auto const about = "member '" + member.name + "' is damaged: ";
    if (!file) wrong(about + zip_strerror(archive_.get()));
    std::size_t read = 0;
    std::byte beyond{};  // receives a surplus byte; libzip verifies the checksum when it reads past the last byte
    for (;;) {
      bool const is_full = read == bytes.size();
      auto const count =
          zip_fread(file.get(), is_full ? &beyond : bytes.data() + read, is_full ? 1 : bytes.size() - read);
      if (count < 0) wrong(about + zip_reason(zip_file_get_error(file.get())));
      if (count == 0) break;
      if (is_full) wrong(about + "it is longer than it says");
      read += static_cast<std::size_t>(count);
    }
    if (read != bytes.size()) wrong(about + "it is shorter than it says");
    return bytes;
  }

 private:
  [[noreturn]] void wrong(std::string const& what) const { refuse("E5015", name_, what); }

  void read_members() {
    auto const count = zip_get_num_entries(archive_.get(), 0);
    std::uint64_t all_packed = 0;
    for (zip_int64_t i = 0; i < count; ++i) {
      auto const member =
          member_of(archive_.get(), static_cast<zip_uint64_t>(i), [&](std::string const& what) { wrong(what); });
      auto const about = "member '" + member.name + "' ";
      // Overlapping members could become larger than the file's bytes allow.
      if (member.packed > bytes_.size() - all_packed) wrong(about + "overlaps another one");
      all_packed += member.packed;
      members_.push_back(member);
    }
    std::vector<std::string_view> names;
    for (auto const& member : members_) names.push_back(member.name);
    std::sort(names.begin(), names.end());
    if (auto const twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      wrong("member '" + std::string(*twice) + "' is there twice");
  }

  std::string name_;
  std::vector<std::byte> bytes_;
  zip_pointer archive_;
  std::vector<zip_member> members_;
};

/// Makes an archive of stored members in memory; their date is 1980-01-01, so that equal members make equal archives.
class zip_writer {
 public:
  /// Errors call the archive `path`.
  explicit zip_writer(std::string path) : path_(std::move(path)), archive_(nullptr, &zip_discard) {
    source_ = zip_source_buffer_create(nullptr, 0, 0, nullptr);
    if (source_ != nullptr) {
      zip_source_keep(source_);
      archive_.reset(zip_open_from_source(source_, ZIP_TRUNCATE, nullptr));
    }
    if (!archive_) refuse("E5041", path_, "libzip found no memory");
  }
  zip_writer(zip_writer const&) = delete;
  zip_writer& operator=(zip_writer const&) = delete;
  ~zip_writer() {
    archive_.reset();
    zip_source_free(source_);
  }

  /// Adds a member of two parts, which must live until `finish`; the first part is not empty.
  void add(std::string const& name, std::string_view head, std::span<std::byte const> bytes) {
    std::array const parts{
        zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(const_cast<char*>(head.data())), head.size()},
        zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(bytes.data())), bytes.size()}};
    auto* const from = zip_source_buffer_fragment(archive_.get(), parts.data(), bytes.empty() ? 1 : 2, 0);
    auto const index = from == nullptr ? -1 : zip_file_add(archive_.get(), name.c_str(), from, ZIP_FL_ENC_UTF_8);
    constexpr zip_uint16_t first_day = 1 << 5 | 1;
    if (index < 0 || zip_set_file_compression(archive_.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive_.get(), static_cast<zip_uint64_t>(index), 0, first_day, 0) != 0)
      refuse("E5041", path_, "member '" + name + "' cannot be added: " + zip_strerror(archive_.get()));
  }
  /// The archive's bytes.
  [[nodiscard]] std::vector<std::byte> finish() {
    // libzip makes no file without members: writes the end of a directory.
    if (zip_get_num_entries(archive_.get(), 0) == 0) {
      std::vector<std::byte> bytes(22);
      bytes[0] = std::byte{'P'}, bytes[1] = std::byte{'K'}, bytes[2] = std::byte{5}, bytes[3] = std::byte{6};
      return bytes;
    }
    if (zip_close(archive_.get()) != 0) refuse("E5041", path_, zip_strerror(archive_.get()));
    static_cast<void>(archive_.release());  // zip_close has freed it
    zip_stat_t facts;
    std::vector<std::byte> bytes;
    if (zip_source_stat(source_, &facts) == 0 && zip_source_open(source_) == 0) {
      bytes.resize(facts.size);
      auto const count = zip_source_read(source_, bytes.data(), bytes.size());
      zip_source_close(source_);
      if (count == static_cast<zip_int64_t>(bytes.size())) return bytes;
    }
    refuse("E5041", path_, "libzip cannot give the archive back");
  }

 private:
  std::string path_;
  zip_source_t* source_ = nullptr;
  zip_pointer archive_;
};

/// Reads one member from its beginning to its end. Throws file_error: E5001 the file cannot be read, E5015 it is no
/// archive, has no such member, or the member is damaged.
class zip_stream {
 public:
  zip_stream(std::string const& path, std::string const& member)
      : name_(path + ", member '" + member + "'"), archive_(nullptr, &zip_discard), file_(nullptr, &zip_fclose) {
    static_cast<void>(byte_source(path));  // throws with the reason if the file cannot be read
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

  /// Fills `to` with the next bytes.
  void read(std::span<std::byte> to) {
    while (!to.empty()) {
      auto const count = zip_fread(file_.get(), to.data(), to.size());
      if (count < 0) wrong("is damaged: " + zip_reason(zip_file_get_error(file_.get())));
      if (count == 0) wrong("is shorter than it says");
      to = to.subspan(static_cast<std::size_t>(count));
    }
  }
  /// Verifies the checksum, after all bytes have been read.
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

/// The beginning of a member; keeps as many bytes as were asked for.
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
