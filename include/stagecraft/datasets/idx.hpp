// SPDX-License-Identifier: BSD-3-Clause
// The IDX format, in which MNIST and its relatives are published: a magic number (0, 0, type of the elements, number
// of dimensions), the dimensions as big-endian 32-bit numbers, then the elements, row-major; and texts of errors in
// such files.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::datasets::detail {

class complaint {
 public:
  [[gnu::noinline]] explicit complaint(std::string_view file) : text_(file) { text_ += ": expected "; }

  [[gnu::noinline]] complaint& add(std::string_view piece) {
    text_ += piece;
    return *this;
  }

  [[gnu::noinline]] complaint& add(std::size_t number) {
    char digits[20];
    std::size_t first = sizeof digits;
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    text_.append(digits + first, sizeof digits - first);
    return *this;
  }
  /// Appends the description of an object that has `describe_to`.
  template <class Described>
  auto add(Described const& described) -> decltype(described.describe_to(*this)) {
    return described.describe_to(*this);
  }

  [[noreturn, gnu::noinline]] void raise(std::string_view code) const { throw file_error(code, text_); }

 private:
  std::string text_;
};

}  // namespace stagecraft::datasets::detail

namespace stagecraft::datasets {

/// The element types of IDX, numbered as in the file. Elements of more than one byte are big-endian.
enum class idx_type : unsigned char {
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0b,
  int32 = 0x0c,
  float32 = 0x0d,
  float64 = 0x0e,
};

/// The name of a type: "uint8", "int8", ...
constexpr char const* name_of(idx_type type) {
  switch (type) {
    case idx_type::uint8: return "uint8";
    case idx_type::int8: return "int8";
    case idx_type::int16: return "int16";
    case idx_type::int32: return "int32";
    case idx_type::float32: return "float32";
    case idx_type::float64: return "float64";
  }
  return "unknown";
}

/// Bytes of one element; 0 if `type` is no type of IDX.
constexpr std::size_t size_of(idx_type type) {
  switch (type) {
    case idx_type::uint8:
    case idx_type::int8: return 1;
    case idx_type::int16: return 2;
    case idx_type::int32:
    case idx_type::float32: return 4;
    case idx_type::float64: return 8;
  }
  return 0;
}

/// The header of an IDX file.
struct idx_header {
  idx_type type = idx_type::uint8;
  std::vector<std::size_t> shape;
  std::size_t header_bytes = 0;
  std::size_t data_bytes = 0;

  /// Appends a description such as "uint8 of shape (10000, 28, 28)".
  detail::complaint& describe_to(detail::complaint& text) const {
    text.add(name_of(type)).add(" of shape (");
    for (std::size_t i = 0; i < shape.size(); ++i) text.add(i > 0 ? ", " : "").add(shape[i]);
    return text.add(")");
  }
};

/// A whole IDX file in memory. `data` points into the bytes it was parsed from.
struct idx_view {
  idx_header header;
  tracing::array_view<unsigned char const> data;
};

/// IDX allows 255 dimensions; no data set has more than this.
inline constexpr std::size_t idx_max_dimensions = 8;
inline constexpr std::size_t idx_max_header_bytes = 4 + 4 * idx_max_dimensions;

/// Reads the header of an IDX file from the file's first bytes, `idx_max_header_bytes` of them or the whole file.
/// Errors call the file `name`. Throws file_error: E5002 if this is no IDX, E5003 if it ends too early.
inline idx_header parse_idx_header(tracing::array_view<unsigned char const> bytes, std::string const& name) {
  detail::complaint text(name);
  if (bytes.empty()) text.add("an IDX file, found an empty file").raise("E5003");
  for (std::size_t i = 0; i < bytes.size() && i < 2; ++i) {
    if (bytes[i] == 0) continue;
    text.add("an IDX file, which begins with two zero bytes, found byte ").add(bytes[i]).add(" at position ").add(i);
    text.raise("E5002");
  }
  if (bytes.size() < 4) {
    text.add("the 4 bytes with which an IDX file begins, found a file of ").add(bytes.size()).add(" bytes");
    text.raise("E5003");
  }
  idx_header header;
  header.type = static_cast<idx_type>(bytes[2]);
  std::size_t const dimensions = bytes[3];
  if (size_of(header.type) == 0) {
    text.add("an IDX file, whose third byte is its element type (8, 9, 11, 12, 13 or 14), found ").add(bytes[2]);
    text.raise("E5002");
  }
  if (dimensions == 0 || dimensions > idx_max_dimensions) {
    text.add("an IDX file of 1 to ").add(idx_max_dimensions).add(" dimensions, found ").add(dimensions);
    text.raise("E5002");
  }
  header.header_bytes = 4 + 4 * dimensions;
  if (bytes.size() < header.header_bytes) {
    text.add("an IDX header of ").add(header.header_bytes).add(" bytes, found a file of ").add(bytes.size());
    text.raise("E5003");
  }
  constexpr std::uint64_t limit = std::uint64_t{1} << 48;  // larger than any file
  std::uint64_t size = size_of(header.type);
  bool too_large = false;
  for (std::size_t i = 0; i < dimensions; ++i) {
    unsigned char const* const at = bytes.data() + 4 + 4 * i;
    std::uint64_t const extent =
        std::uint64_t{at[0]} << 24 | std::uint64_t{at[1]} << 16 | std::uint64_t{at[2]} << 8 | std::uint64_t{at[3]};
    header.shape.push_back(static_cast<std::size_t>(extent));
    too_large = too_large || (extent > 0 && size > limit / extent);
    size = too_large ? limit : size * extent;
  }
  // A dimension of zero makes the array empty, however large the others are.
  bool is_empty = false;
  for (std::size_t const extent : header.shape) is_empty = is_empty || extent == 0;
  if (is_empty) size = 0;
  if ((too_large && !is_empty) || size > static_cast<std::size_t>(-1) / 2) {
    text.add("an IDX file, found a header that promises ").add(header).add(", more than any file can hold");
    text.raise("E5002");
  }
  header.data_bytes = static_cast<std::size_t>(size);
  return header;
}

/// Throws file_error if the number of bytes after the header differs from what the header states: E5003, E5004.
inline void check_data_bytes(idx_header const& header, std::size_t found, std::string const& name) {
  if (found == header.data_bytes) return;
  bool const is_short = found < header.data_bytes;
  detail::complaint text(name);
  text.add(header.data_bytes)
      .add(" bytes of data (")
      .add(header)
      .add("), found ")
      .add(is_short ? "" : "at least ")
      .add(found)
      .add(is_short ? ": the file is truncated" : ": more than the header says");
  text.raise(is_short ? "E5003" : "E5004");
}

/// Reads a whole IDX file from memory; copies no data. Errors call the file `name`. Throws file_error: E5002 if this is
/// no IDX, E5003 if bytes are missing, E5004 if there are too many.
inline idx_view parse_idx(tracing::array_view<unsigned char const> bytes, std::string const& name) {
  idx_header header = parse_idx_header(bytes, name);
  tracing::array_view<unsigned char const> const data = bytes.subspan(header.header_bytes);
  check_data_bytes(header, data.size(), name);
  return {static_cast<idx_header&&>(header), data};
}

}  // namespace stagecraft::datasets
