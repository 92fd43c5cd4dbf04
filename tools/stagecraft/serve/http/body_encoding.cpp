// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/body_encoding.hpp"

#include "serve/http/http_message.hpp"

#include <algorithm>
#include <cctype>
#include <new>
#include <zlib.h>

namespace stagecraft::tool {

namespace {

/// zlib's windowBits for a format.
constexpr int gzip_window = 15 + 16, zlib_window = 15;
constexpr std::size_t piece = std::size_t{64} << 10;

std::string in_small_letters(std::string_view text) {
  std::string result(text);
  for (char& letter : result) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

Bytef* bytes_of(char const* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

struct inflation {
  z_stream stream{};
  explicit inflation(int window) {
    if (inflateInit2(&stream, window) != Z_OK) throw std::bad_alloc();
  }
  inflation(inflation const&) = delete;
  inflation& operator=(inflation const&) = delete;
  ~inflation() { inflateEnd(&stream); }
};

}  // namespace

std::optional<body_encoding> parse_body_encoding(std::string_view value) {
  auto const name = in_small_letters(value);
  if (name.empty() || name == "identity") return body_encoding::none;
  if (name == "gzip" || name == "x-gzip") return body_encoding::gzip;
  if (name == "deflate") return body_encoding::deflate;
  return std::nullopt;
}

bool takes_gzip(std::string_view accepted) {
  auto const list = in_small_letters(accepted);
  for (std::string_view left = list; !left.empty();) {
    auto const end = std::min(left.find(','), left.size());
    std::string each(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
    std::erase_if(each, [](char c) { return c == ' ' || c == '\t'; });
    auto const name = each.substr(0, each.find(';'));
    if (name != "gzip" && name != "x-gzip") continue;
    auto const weight = each.find(";q=");
    return weight == std::string::npos || each.find_first_of("123456789", weight) != std::string::npos;
  }
  return false;
}

std::string unpack_body(std::string_view packed, body_encoding encoding, std::size_t most, counted_bytes& counted,
                        std::size_t most_in_flight) {
  if (encoding == body_encoding::none) return std::string(packed);
  auto const own = packed.size();
  // "deflate" is zlib's format; some clients send it without zlib's two bytes.
  bool const is_raw = encoding == body_encoding::deflate &&
                      (packed.size() < 2 || (packed[0] & 0x0f) != 8 ||
                       (static_cast<unsigned char>(packed[0]) * 256 + static_cast<unsigned char>(packed[1])) % 31 != 0);
  inflation of(encoding == body_encoding::gzip ? gzip_window : is_raw ? -zlib_window : zlib_window);
  auto& stream = of.stream;
  std::string result;
  int status = Z_OK;
  while (status != Z_STREAM_END || (encoding == body_encoding::gzip && !packed.empty())) {
    if (status == Z_STREAM_END && inflateReset(&stream) != Z_OK)
      throw std::bad_alloc();  // a body may be several gzip files in a row
    auto const begin = result.size();
    result.resize(begin + piece);
    stream.next_in = bytes_of(packed.data());
    stream.avail_in = static_cast<uInt>(std::min(packed.size(), std::size_t{1} << 30));
    auto const given = stream.avail_in;
    stream.next_out = bytes_of(result.data() + begin);
    stream.avail_out = static_cast<uInt>(piece);
    status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    packed.remove_prefix(given - stream.avail_in);
    result.resize(begin + piece - stream.avail_out);
    if (result.size() > most)
      throw http_error{413, "the request is larger than " + std::to_string(most) + " bytes when it is unpacked"};
    if (!counted.grow_to(own + result.size(), most_in_flight))
      throw http_error{503, "the requests that are there have " + std::to_string(most_in_flight) +
                                " bytes, as many as they may have"};
    bool const is_stuck = given == stream.avail_in && result.size() == begin && status != Z_STREAM_END;
    if ((status != Z_OK && status != Z_STREAM_END) || is_stuck)
      throw http_error{400, packed.empty() ? "the body is cut short: its Content-Encoding has no end"
                                           : "the body is not what its Content-Encoding says"};
  }
  if (!packed.empty()) throw http_error{400, "bytes follow the end of what the body's Content-Encoding says"};
  return result;
}

std::string pack_body(std::string_view body) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  struct guard {
    z_stream& of;
    ~guard() { deflateEnd(&of); }
  } const ends{stream};
  std::string result;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    auto const begin = result.size();
    result.resize(begin + piece);
    stream.next_in = bytes_of(body.data());
    stream.avail_in = static_cast<uInt>(std::min(body.size(), std::size_t{1} << 30));
    auto const given = stream.avail_in;
    stream.next_out = bytes_of(result.data() + begin);
    stream.avail_out = static_cast<uInt>(piece);
    status = deflate(&stream, given == body.size() ? Z_FINISH : Z_NO_FLUSH);
    if (status == Z_STREAM_ERROR) throw std::bad_alloc();
    body.remove_prefix(given - stream.avail_in);
    result.resize(begin + piece - stream.avail_out);
  }
  return result;
}

}  // namespace stagecraft::tool
