// SPDX-License-Identifier: BSD-3-Clause
// Reads an IDX file, plain or gzipped, into memory. The header is read first, and no more memory is allocated than the
// file itself can fill, whatever its header claims.
#pragma once

#include <stagecraft/datasets/idx.hpp>
#include <stagecraft/graph/array_view.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace stagecraft::datasets {

/// Replaces `bytes` by the first `limit` bytes of the decompressed file, or by all of them; allocates only as it fills.
/// Errors call the file `name`. Returns true if there are no more bytes.
using decompressor = bool (*)(tracing::array_view<unsigned char const> compressed, std::vector<unsigned char>& bytes,
                              std::size_t limit, std::string const& name);

namespace detail {

/// Set by <stagecraft/datasets/gzip.hpp>, before main; the library itself needs no zlib.
inline constinit decompressor gzip_decompressor = nullptr;

[[noreturn]] inline void refuse_unreadable(std::string const& path) {
  char const* const reason = std::strerror(errno);
  complaint(path).add("a readable file, found: ").add(reason).raise("E5001");
}

/// Closes the file that it holds.
class open_file {
 public:
  explicit open_file(std::string const& path) : file_(std::fopen(path.c_str(), "rb")) {}
  open_file(open_file const&) = delete;
  open_file& operator=(open_file const&) = delete;
  ~open_file() {
    if (file_ != nullptr) std::fclose(file_);
  }

  explicit operator bool() const { return file_ != nullptr; }

  /// Appends up to `count` bytes to `bytes`, in pieces, so that memory grows with the bytes that are read.
  template <class Bytes>
  void read(Bytes& bytes, std::size_t count, std::string const& path) {
    constexpr std::size_t piece = std::size_t{1} << 20;
    while (count > 0) {
      std::size_t const begin = bytes.size();
      std::size_t const wanted = count < piece ? count : piece;
      bytes.resize(begin + wanted);
      std::size_t const got = std::fread(bytes.data() + begin, 1, wanted, file_);
      bytes.resize(begin + got);
      count -= got;
      if (got < wanted) {
        if (std::ferror(file_) != 0) refuse_unreadable(path);
        return;
      }
    }
  }

 private:
  std::FILE* file_;
};

inline bool is_gzip(tracing::array_view<unsigned char const> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/// The bytes of an IDX file and one more, by which a file that is too long is noticed.
inline std::size_t bytes_to_read(idx_header const& header) { return header.header_bytes + header.data_bytes + 1; }

// Functions that read whole files are templates, so that only programs that read files compile them.

/// The bytes of the IDX file inside a gzip file.
template <class Bytes = std::vector<unsigned char>>
Bytes gunzip_idx(tracing::array_view<unsigned char const> compressed, std::string const& name) {
  if (gzip_decompressor == nullptr) {
    complaint text(name);
    text.add(
        "a plain IDX file, found a gzip file: include <stagecraft/datasets/gzip.hpp> in the program and link zlib "
        "(CMake: stagecraft::zlib), or decompress the file with gunzip");
    text.raise("E5008");
  }
  Bytes bytes;
  bool const is_whole = gzip_decompressor(compressed, bytes, idx_max_header_bytes, name);
  if (!is_whole) gzip_decompressor(compressed, bytes, bytes_to_read(parse_idx_header(bytes, name)), name);
  return bytes;
}

/// The bytes of an IDX file, decompressed if need be, and at most one more than its header states.
template <class Bytes = std::vector<unsigned char>>
Bytes read_idx_bytes(std::string const& path) {
  open_file file(path);
  if (!file) refuse_unreadable(path);
  Bytes bytes;
  file.read(bytes, idx_max_header_bytes, path);
  if (is_gzip(bytes)) {
    file.read(bytes, static_cast<std::size_t>(-1), path);
    return gunzip_idx<Bytes>(bytes, path);
  }
  idx_header const header = parse_idx_header(bytes, path);
  if (bytes_to_read(header) > bytes.size()) file.read(bytes, bytes_to_read(header) - bytes.size(), path);
  return bytes;
}

}  // namespace detail

}  // namespace stagecraft::datasets
