// SPDX-License-Identifier: BSD-3-Clause
// Optional: lets the data sets read gzip files. Include it anywhere in the program, once or more, and link zlib (CMake
// target stagecraft::zlib); nothing has to be called. Not part of <stagecraft/stagecraft.hpp>.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/datasets/idx.hpp>
#include <stagecraft/datasets/idx_file.hpp>
#include <stagecraft/graph/array_view.hpp>

#include <zlib.h>

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft::datasets {

namespace detail {

/// Owns zlib's state.
class gzip_stream {
 public:
  gzip_stream() {
    constexpr int gzip_only = 16 + MAX_WBITS;
    is_ready_ = inflateInit2(&stream_, gzip_only) == Z_OK;
  }
  gzip_stream(gzip_stream const&) = delete;
  gzip_stream& operator=(gzip_stream const&) = delete;
  ~gzip_stream() {
    if (is_ready_) inflateEnd(&stream_);
  }

  bool is_ready() const { return is_ready_; }
  z_stream* operator->() { return &stream_; }
  int inflate_more() { return inflate(&stream_, Z_NO_FLUSH); }
  int next_member() { return inflateReset(&stream_); }

 private:
  z_stream stream_ = {};
  bool is_ready_ = false;
};

}  // namespace detail

/// Decompresses a gzip file in memory (several members in a row are one file, as for gunzip): replaces `bytes` by the
/// first `limit` bytes, or by all of them, and returns true if there are no more. Memory grows with the bytes that are
/// written, so a small file cannot ask for much. Checksums are checked when the end is reached. Throws file_error E5009
/// if the file is damaged, cut off or followed by something else.
inline bool gunzip(tracing::array_view<unsigned char const> compressed, std::vector<unsigned char>& bytes,
                   std::size_t limit, std::string const& name) {
  detail::gzip_stream stream;
  if (!stream.is_ready()) detail::complaint(name).add("zlib to start, found no memory for it").raise("E5009");
  constexpr std::size_t smallest = std::size_t{1} << 16;
  constexpr std::size_t largest = std::size_t{1} << 30;  // zlib counts in 32 bits
  unsigned char beyond = 0;                              // receives a surplus byte
  std::size_t read = 0;
  bytes.clear();
  for (;;) {
    std::size_t const written = bytes.size();
    std::size_t const left = compressed.size() - read;
    std::size_t const input = left < largest ? left : largest;
    std::size_t output = written < smallest ? smallest : written < largest ? written : largest;  // doubles the memory
    if (output > limit - written) output = limit - written;
    bytes.resize(written + output);
    stream->next_in = const_cast<unsigned char*>(compressed.data() + read);
    stream->avail_in = static_cast<uInt>(input);
    stream->next_out = output == 0 ? &beyond : bytes.data() + written;
    stream->avail_out = output == 0 ? 1 : static_cast<uInt>(output);
    int const status = stream.inflate_more();
    std::size_t const consumed = input - stream->avail_in;
    read += consumed;
    if (output == 0 && stream->avail_out == 0) return false;
    std::size_t const produced = output == 0 ? 0 : output - stream->avail_out;
    bytes.resize(written + produced);
    if (status == Z_STREAM_END) {
      if (read == compressed.size()) return true;
      stream.next_member();
    } else if (status != Z_OK || (consumed == 0 && produced == 0)) {
      bool const is_cut_off = read == compressed.size() && (status == Z_OK || status == Z_BUF_ERROR);
      char const* const reason = is_cut_off               ? "it ends too early"
                                 : stream->msg != nullptr ? stream->msg
                                                          : "zlib cannot read it";
      detail::complaint text(name);
      text.add("a whole gzip file, found a damaged one (")
          .add(reason)
          .add(", at byte ")
          .add(read)
          .add(" of ")
          .add(compressed.size())
          .add(")");
      text.raise("E5009");
    }
  }
}

namespace detail {

inline bool const gzip_is_known = (gzip_decompressor = &gunzip, true);

}  // namespace detail

}  // namespace stagecraft::datasets

#include <stagecraft/diagnostics/end_headers.hpp>
