// SPDX-License-Identifier: BSD-3-Clause
// Zip archives as .npz files are: members that are stored or deflated, each with its checksum. Needs zlib.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <zlib.h>

namespace stagecraft::io {

/// The checksum of zip and gzip. Goes on from `crc`.
[[nodiscard]] inline std::uint32_t crc32_of(std::span<std::byte const> bytes, std::uint32_t crc = 0) {
  if (bytes.empty()) return crc;  // zlib takes no bytes for a question
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<Bytef const*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

/// A member of an archive, as its directory says.
struct zip_member {
  std::string name;
  bool is_deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0, header = 0;  ///< bytes in the file, bytes of the member, where its header begins
};

/// Reads archives. Throws file_error E5015: the directory, a member's place, name or checksum is wrong, members
/// overlap, or one claims to be larger than its bytes could ever become.
class zip_reader {
 public:
  explicit zip_reader(byte_source const& source) : source_(source) { read_directory(); }

  [[nodiscard]] std::vector<zip_member> const& members() const noexcept { return members_; }

  /// The bytes of a member.
  [[nodiscard]] std::vector<std::byte> read(zip_member const& member) const {
    auto const first = data_of(member);
    auto packed = source_.read(first, member.packed);
    auto bytes = member.is_deflated ? inflate(member, packed) : std::move(packed);
    if (crc32_of(bytes) != member.crc) wrong("member '" + member.name + "' is damaged: its checksum differs");
    return bytes;
  }

 private:
  static constexpr std::uint64_t local_header = 30, directory_entry = 46, directory_end = 22, locator = 20, end64 = 56;
  /// No byte of a deflated stream becomes more than so many.
  static constexpr std::uint64_t most_growth = 1032;

  [[noreturn]] void wrong(std::string const& what) const { refuse("E5015", source_.name(), what); }
  [[nodiscard]] std::vector<std::byte> at(std::uint64_t place, std::uint64_t count, char const* what) const {
    if (!source_.holds(place, count)) wrong(std::string("the file ends within ") + what);
    return source_.read(place, count);
  }

  void read_directory() {
    auto const tail_size = std::min<std::uint64_t>(source_.size(), directory_end + 0xffff);
    auto const tail_first = source_.size() - tail_size;
    auto const tail = source_.read(tail_first, tail_size);
    std::uint64_t end = tail_size;
    for (std::uint64_t i = tail_size >= directory_end ? tail_size - directory_end + 1 : 0; i-- > 0;)
      if (number_at<4>(tail.data() + i) == 0x06054b50 && number_at<2>(tail.data() + i + 20) == tail_size - i - 22) {
        end = i;
        break;
      }
    if (end == tail_size) wrong("expected a zip archive, found no directory at its end");
    auto const* const record = tail.data() + end;
    std::uint64_t disk = number_at<2>(record + 4), count = number_at<2>(record + 10), size = number_at<4>(record + 12),
                  first = number_at<4>(record + 16), last = tail_first + end;
    if (count == 0xffff || size == 0xffffffff || first == 0xffffffff) {
      auto const where = at(last - std::min(last, locator), locator, "the directory's end");
      if (number_at<4>(where.data()) == 0x07064b50) {
        auto const place = number_at<8>(where.data() + 8);
        auto const large = at(place, end64, "the directory's end");
        if (number_at<4>(large.data()) != 0x06064b50) wrong("its directory has no end");
        disk = number_at<4>(large.data() + 16);
        count = number_at<8>(large.data() + 32);
        size = number_at<8>(large.data() + 40);
        first = number_at<8>(large.data() + 48);
        last = place;
      }
    }
    if (disk != 0) wrong("it is a part of several archives");
    if (first > last || size != last - first) wrong("its directory is not where it should be");
    if (count > size / directory_entry) wrong("its directory has fewer members than it says");
    directory_first_ = first;
    auto const directory = source_.read(first, size);
    std::uint64_t place = 0;
    for (std::uint64_t i = 0; i < count; ++i) place += read_entry(std::span(directory).subspan(place));
    if (place != size) wrong("its directory has more members than it says");
    check_places();
  }

  std::uint64_t read_entry(std::span<std::byte const> entry) {
    auto const* const bytes = entry.data();
    if (entry.size() < directory_entry || number_at<4>(bytes) != 0x02014b50) wrong("its directory is damaged");
    auto const flags = number_at<2>(bytes + 8), method = number_at<2>(bytes + 10), name_size = number_at<2>(bytes + 28),
               extra_size = number_at<2>(bytes + 30);
    auto const whole = directory_entry + name_size + extra_size + number_at<2>(bytes + 32);
    if (whole > entry.size()) wrong("its directory is damaged");
    zip_member member;
    member.name.assign(reinterpret_cast<char const*>(bytes + directory_entry), name_size);
    auto const about = "member '" + member.name + "' ";
    if (leaves_folder(member.name)) wrong(about + "has a path that leaves its folder");
    if ((flags & 1) != 0) wrong(about + "is encrypted");
    if (method != 0 && method != 8)
      wrong(about + "is packed in another way than zlib's (" + std::to_string(method) + ")");
    member.is_deflated = method == 8;
    member.crc = static_cast<std::uint32_t>(number_at<4>(bytes + 16));
    member.packed = number_at<4>(bytes + 20);
    member.size = number_at<4>(bytes + 24);
    member.header = number_at<4>(bytes + 42);
    read_large(entry.subspan(directory_entry + name_size, extra_size), member);
    if (member.is_deflated ? member.size / most_growth > member.packed : member.size != member.packed)
      wrong(about + "has " + std::to_string(member.packed) + " bytes, which cannot become " +
            std::to_string(member.size));
    members_.push_back(std::move(member));
    return whole;
  }

  /// Sizes and places beyond 4 GiB.
  void read_large(std::span<std::byte const> extra, zip_member& member) const {
    while (extra.size() >= 4) {
      auto const id = number_at<2>(extra.data()), size = number_at<2>(extra.data() + 2);
      if (size > extra.size() - 4) wrong("member '" + member.name + "' has a damaged entry");
      auto field = extra.subspan(4, size);
      extra = extra.subspan(4 + size);
      if (id != 1) continue;
      for (auto* value : {&member.size, &member.packed, &member.header}) {
        if (*value != 0xffffffff) continue;
        if (field.size() < 8) wrong("member '" + member.name + "' has a damaged entry");
        *value = number_at<8>(field.data());
        field = field.subspan(8);
      }
    }
  }

  static bool leaves_folder(std::string_view name) {
    if (name.starts_with('/') || name.find('\\') != std::string_view::npos || name.find('\0') != std::string_view::npos)
      return true;
    while (!name.empty()) {
      auto const slash = name.find('/');
      if (name.substr(0, slash) == "..") return true;
      name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
    }
    return false;
  }

  /// Each member has bytes of its own, before the directory, and a name of its own.
  void check_places() const {
    std::vector<zip_member const*> order;
    for (auto const& member : members_) order.push_back(&member);
    std::sort(order.begin(), order.end(), [](auto const* a, auto const* b) { return a->header < b->header; });
    std::uint64_t end = 0;
    for (auto const* member : order) {
      if (member->header < end) wrong("member '" + member->name + "' overlaps another one");
      auto const first = data_of(*member);
      if (first > directory_first_ || member->packed > directory_first_ - first)
        wrong("member '" + member->name + "' ends behind the directory's begin");
      end = first + member->packed;
    }
    std::sort(order.begin(), order.end(), [](auto const* a, auto const* b) { return a->name < b->name; });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i]->name == order[i - 1]->name) wrong("member '" + order[i]->name + "' is there twice");
  }

  /// Where a member's bytes begin.
  [[nodiscard]] std::uint64_t data_of(zip_member const& member) const {
    auto const header = at(member.header, local_header, "a member's header");
    if (number_at<4>(header.data()) != 0x04034b50) wrong("member '" + member.name + "' has no header");
    auto const name = at(member.header + local_header, number_at<2>(header.data() + 26), "a member's header");
    if (std::string_view(reinterpret_cast<char const*>(name.data()), name.size()) != member.name)
      wrong("member '" + member.name + "' has another name in its header");
    return member.header + local_header + name.size() + number_at<2>(header.data() + 28);
  }

  [[nodiscard]] std::vector<std::byte> inflate(zip_member const& member, std::span<std::byte const> packed) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(member.size));
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) wrong("zlib found no memory");
    constexpr std::size_t most = std::size_t{1} << 30;  // zlib counts in 32 bits
    std::size_t read = 0, written = 0;
    int status = Z_OK;
    std::byte beyond{};
    while (status == Z_OK) {
      auto const in = std::min(packed.size() - read, most), out = std::min(bytes.size() - written, most);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
      stream.avail_in = static_cast<uInt>(in);
      stream.next_out = reinterpret_cast<Bytef*>(out == 0 ? &beyond : bytes.data() + written);
      stream.avail_out = out == 0 ? 1 : static_cast<uInt>(out);
      status = ::inflate(&stream, Z_NO_FLUSH);
      auto const consumed = in - stream.avail_in, produced = out == 0 ? 0 : out - stream.avail_out;
      if (out == 0 && stream.avail_out == 0) break;
      if (status == Z_OK && consumed == 0 && produced == 0) break;
      read += consumed;
      written += produced;
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END || read != packed.size() || written != bytes.size())
      wrong("member '" + member.name + "' is damaged: it does not become " + std::to_string(member.size) + " bytes");
    return bytes;
  }

  byte_source const& source_;
  std::uint64_t directory_first_ = 0;
  std::vector<zip_member> members_;
};

/// Writes archives of stored members, whose date is 1980-01-01: the same members give the same bytes.
class zip_writer {
 public:
  explicit zip_writer(file_writer& to) : to_(to) {}

  /// A member of two parts. Throws file_error E5015 beyond 4 GiB or 65535 members.
  void add(std::string const& path, std::string const& name, std::string_view head, std::span<std::byte const> bytes) {
    auto const size = head.size() + bytes.size();
    if (place_ + size + name.size() > 0xfffffffe || name.size() > 0xffff || count_ == 0xfffe)
      refuse("E5015", path, "member '" + name + "' does not fit: at most 4 GiB; write safetensors");
    auto const crc = crc32_of(bytes, crc32_of(std::as_bytes(std::span(head.data(), head.size()))));
    std::vector<std::byte> facts;  // what the header and the directory share
    for (auto const value :
         {std::uint64_t{20}, std::uint64_t{0x800}, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{33}})
      append_number<2>(facts, value);
    append_number<4>(facts, crc);
    append_number<4>(facts, size);
    append_number<4>(facts, size);
    append_number<2>(facts, name.size());
    append_number<2>(facts, 0);
    std::vector<std::byte> header;
    append_number<4>(header, 0x04034b50);
    header.insert(header.end(), facts.begin(), facts.end());
    append_text(header, name);
    append_number<4>(directory_, 0x02014b50);
    append_number<2>(directory_, 20);
    directory_.insert(directory_.end(), facts.begin(), facts.end());
    for (int i = 0; i < 3; ++i) append_number<2>(directory_, 0);
    append_number<4>(directory_, 0);
    append_number<4>(directory_, place_);
    append_text(directory_, name);
    to_.write(header);
    to_.write(head);
    to_.write(bytes);
    place_ += header.size() + size;
    ++count_;
  }
  void finish() {
    std::vector<std::byte> end;
    append_number<4>(end, 0x06054b50);
    append_number<4>(end, 0);
    append_number<2>(end, count_);
    append_number<2>(end, count_);
    append_number<4>(end, directory_.size());
    append_number<4>(end, place_);
    append_number<2>(end, 0);
    to_.write(directory_);
    to_.write(end);
  }

 private:
  file_writer& to_;
  std::vector<std::byte> directory_;
  std::uint64_t place_ = 0, count_ = 0;
};

}  // namespace stagecraft::io
