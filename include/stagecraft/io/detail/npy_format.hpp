// SPDX-License-Identifier: BSD-3-Clause
// NumPy's format of one array: a magic text, a header that is a Python dictionary, then the elements.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/element_type.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// The header of an array.
struct npy_header {
  element_type type = element_type::float32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Errors: E5013, E5014.
class npy_header_reader {
 public:
  npy_header_reader(std::string_view text, std::string const& file) : text_(text), file_(file) {}

  [[nodiscard]] npy_header read() {
    npy_header header;
    bool seen[3]{};
    expect('{');
    while (!accept('}')) {
      auto const key = string();
      int const index = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
      if (index == 3 || std::exchange(seen[index], true)) wrong("the key '" + key + "'");
      expect(':');
      if (index == 0)
        header.type = type();
      else if (index == 1)
        header.fortran_order = truth();
      else
        header.shape = tuple();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!seen[0] || !seen[1] || !seen[2]) wrong("a dictionary without descr, fortran_order or shape");
    skip_spaces();
    if (at_ != text_.size()) wrong("text behind the dictionary");
    return header;
  }

 private:
  [[noreturn]] void wrong(std::string const& what) const {
    refuse("E5014", file_, "expected the header of a NumPy array, found " + what + " at byte " + std::to_string(at_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) wrong(std::string("something else than '") + c + "'");
  }
  std::string string() {
    skip_spaces();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) wrong("something else than a text");
    char const quote = text_[at_++];
    auto const end = text_.find(quote, at_);
    if (end == std::string_view::npos) wrong("a text without an end");
    std::string const result(text_.substr(at_, end - at_));
    at_ = end + 1;
    return result;
  }
  element_type type() {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '[') refuse("E5013", file_, "its elements are records, not numbers");
    auto const name = string();
    if (auto const known = find_element_type<&element_type_facts::numpy>(name)) return *known;
    if (name.size() == 3 && name[1] != 'O' && name[2] == '1')  // a single byte has no byte order
      if (auto const known = find_element_type<&element_type_facts::numpy>("|" + name.substr(1))) return *known;
    refuse("E5013", file_,
           name.find('O') != std::string::npos ? "its elements are Python objects (a pickle), which are never read"
           : name.starts_with('>')             ? "its elements are big-endian ('" + name + "')"
                                               : "its elements are of type '" + name + "', which is not known");
  }
  bool truth() {
    skip_spaces();
    for (auto const& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) return at_ += word.size(), value;
    wrong("neither True nor False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> result;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      std::int64_t value = 0;
      auto const first = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
        if (value > (std::int64_t{1} << 58)) wrong("a dimension that is too large");
        value = value * 10 + (text_[at_++] - '0');
      }
      if (at_ == first) wrong("something else than a dimension");
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2's suffix of long integers
      result.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  std::string_view text_;
  std::string const& file_;
  std::size_t at_ = 0;
};

/// Puts the elements of an array whose first axis varies fastest into row-major order.
[[nodiscard]] inline std::vector<std::byte> row_by_row(std::vector<std::byte> const& columns,
                                                       std::vector<std::int64_t> const& shape, std::size_t size) {
  std::vector<std::byte> result(columns.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t to = 0; to < result.size(); to += size) {
    std::size_t from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;)
      from = from * static_cast<std::size_t>(shape[axis]) + static_cast<std::size_t>(index[axis]);
    std::memcpy(result.data() + to, columns.data() + from * size, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

/// Reads the header, checks that the file has as many bytes as it states, and finds where the elements begin. `Source`
/// is a byte_source, or has the members of one that are used here. Throws file_error E5013, E5014.
template <class Source>
[[nodiscard]] std::pair<npy_header, std::uint64_t> read_npy_header(Source& source) {
  auto const& file = source.name();
  constexpr std::string_view magic = "\x93NUMPY";
  auto const begin = source.read(0, std::min<std::uint64_t>(source.size(), 12));
  if (begin.size() < 10 || std::memcmp(begin.data(), magic.data(), magic.size()) != 0)
    refuse("E5014", file, "expected a NumPy array, which begins with \"\\x93NUMPY\"");
  auto const version = std::to_integer<int>(begin[6]);
  if (version < 1 || version > 3 || (version > 1 && begin.size() < 12))
    refuse("E5014", file, "expected version 1, 2 or 3 of NumPy's format, found " + std::to_string(version));
  std::uint64_t const first = version == 1 ? 10 : 12;
  auto const length = version == 1 ? number_at<2>(begin.data() + 8) : number_at<4>(begin.data() + 8);
  if (!source.holds(first, length)) refuse("E5014", file, "the file ends within the header");
  constexpr std::uint64_t most_header = 65535;  // version 1's limit; only records have longer headers
  if (length > most_header)
    refuse("E5014", file, "expected a header of at most 65535 bytes, found one of " + std::to_string(length));
  auto const text = source.read(first, length);
  auto header = npy_header_reader({reinterpret_cast<char const*>(text.data()), text.size()}, file).read();
  auto const size = bytes_of(header.shape, size_of(header.type));
  auto const left = source.size() - first - length;
  if (!size || *size != left)
    refuse("E5014", file,
           "an array of shape " + shape_text(header.shape) + " takes " +
               (size ? std::to_string(*size) : std::string("too many")) + " bytes, found " + std::to_string(left));
  return {std::move(header), first + length};
}

/// One array. Throws file_error E5013, E5014.
[[nodiscard]] inline stored_tensor read_npy(byte_source const& source, std::string name) {
  auto [header, first] = read_npy_header(source);
  stored_tensor result{std::move(name), header.type, std::move(header.shape),
                       source.read(first, source.size() - first)};
  if (header.fortran_order && result.shape.size() > 1)
    result.bytes = row_by_row(result.bytes, result.shape, size_of(result.type));
  return result;
}

/// The header as NumPy writes it, version 1, padded to a multiple of 64 bytes, so that elements are aligned. E5013 for
/// bfloat16, which NumPy lacks.
[[nodiscard]] inline std::string npy_header_text(std::string const& path, stored_tensor const& tensor) {
  auto const type = facts_of(tensor.type).numpy;
  if (type.empty()) refuse("E5013", path, "tensor '" + tensor.name + "' is bfloat16, which NumPy does not have");
  auto text =
      "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': " + shape_text(tensor.shape) + ", }";
  text.resize((10 + text.size() + 1 + 63) / 64 * 64 - 11, ' ');
  text += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + static_cast<char>(text.size() >> 8) +
         text;
}

}  // namespace stagecraft::io
