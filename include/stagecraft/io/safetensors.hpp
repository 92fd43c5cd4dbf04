// SPDX-License-Identifier: BSD-3-Clause
// Files of tensors in Hugging Face's format: the length of a header, the header in JSON with the place of each
// tensor, and the tensors' bytes.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/element_type.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace stagecraft::io {

struct safetensors_entry {
  std::string name;
  element_type type = element_type::float32;
  std::vector<std::int64_t> shape;
  std::uint64_t first = 0, last = 0;  ///< offsets in bytes from the header's end
};

struct safetensors_header {
  std::vector<safetensors_entry> tensors;  ///< sorted by their places
  std::vector<std::pair<std::string, std::string>> metadata;
  std::uint64_t first_byte = 0;  ///< offset at which the header ends
};

/// The format's limit for the header.
inline constexpr std::uint64_t most_header_bytes = 100'000'000;

/// Parses the header's JSON event by event, so that only expected content takes memory.
class safetensors_events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  safetensors_events(std::string const& file, safetensors_header& to) : file_(file), to_(to) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_integer(number_integer_t value) override { return unexpected(std::to_string(value)); }
  bool number_float(number_float_t, string_t const& text) override { return unexpected(text); }
  bool binary(binary_t&) override { return unexpected("bytes"); }
  bool number_unsigned(number_unsigned_t value) override {
    auto& tensor = current();
    if (place_ == place::shape) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return unexpected(std::to_string(value));
      tensor.shape.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == place::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? tensor.first : tensor.last) = value;
    } else {
      return unexpected(std::to_string(value));
    }
    return true;
  }
  bool string(string_t& text) override {
    if (place_ == place::metadata) {
      to_.metadata.emplace_back(key_, text);
    } else if (place_ == place::tensor && key_ == "dtype") {
      auto const type = find_element_type<&element_type_facts::safetensors>(text);
      if (!type)
        refuse("E5013", file_,
               "tensor '" + current().name + "' has elements of type '" + text + "', which is not known");
      current().type = *type;
    } else {
      return unexpected("a text");
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (place_ == place::outside) {
      place_ = place::header;
    } else if (place_ == place::header && key_ == "__metadata__") {
      place_ = place::metadata;
      keys_.clear();
    } else if (place_ == place::header) {
      place_ = place::tensor;
      to_.tensors.push_back({.name = key_, .shape = {}});
      keys_.clear();
    } else {
      return unexpected("an object");
    }
    return true;
  }
  bool end_object() override {
    if (place_ == place::tensor && keys_.size() != 3)
      refuse("E5011", file_, "tensor '" + current().name + "' lacks dtype, shape or data_offsets");
    place_ = place_ == place::header ? place::outside : place::header;
    return true;
  }
  bool start_array(std::size_t) override {
    if (place_ != place::tensor || (key_ != "shape" && key_ != "data_offsets")) return unexpected("a list");
    place_ = key_ == "shape" ? place::shape : place::offsets;
    offsets_ = 0;
    return true;
  }
  bool end_array() override {
    if (place_ == place::offsets && offsets_ != 2)
      refuse("E5011", file_, "tensor '" + current().name + "' has data_offsets that are not two numbers");
    place_ = place::tensor;
    return true;
  }
  bool key(string_t& text) override {
    key_ = text;
    if (place_ == place::tensor && text != "dtype" && text != "shape" && text != "data_offsets")
      refuse("E5011", file_, "tensor '" + current().name + "' has a member '" + text + "', which is not known");
    if (!(place_ == place::header ? names_ : keys_).insert(text).second)
      refuse("E5011", file_, "the header has '" + text + "' twice");
    return true;
  }
  bool parse_error(std::size_t position, std::string const&, nlohmann::detail::exception const& problem) override {
    refuse("E5011", file_, "the header is not JSON at byte " + std::to_string(position + 7) + ": " + problem.what());
  }

 private:
  enum class place : unsigned char { outside, header, metadata, tensor, shape, offsets };

  safetensors_entry& current() { return to_.tensors.empty() ? none_ : to_.tensors.back(); }
  bool unexpected(std::string const& what) {
    refuse("E5011", file_, "the header has " + what + " where '" + key_ + "' stands, which does not belong there");
  }

  std::string const& file_;
  safetensors_header& to_;
  place place_ = place::outside;
  std::string key_;
  int offsets_ = 0;
  std::unordered_set<std::string> names_, keys_;
  safetensors_entry none_;
};

/// Reads the header. Throws as read_safetensors does.
[[nodiscard]] inline safetensors_header read_safetensors_header(byte_source const& source) {
  auto const& file = source.name();
  if (source.size() < 8)
    refuse("E5011", file, "expected a safetensors file, found " + std::to_string(source.size()) + " bytes");
  auto const length = number_at<8>(source.read(0, 8).data());
  if (length > most_header_bytes || !source.holds(8, length))
    refuse("E5011", file,
           "expected a safetensors file, found a header of " + std::to_string(length) + " bytes in a file of " +
               std::to_string(source.size()));
  safetensors_header header;
  header.first_byte = 8 + length;
  auto const bytes = source.read(8, length);
  std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  if (!text.starts_with('{')) refuse("E5011", file, "expected a header that begins with '{'");
  safetensors_events events(file, header);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);

  std::sort(header.tensors.begin(), header.tensors.end(), [](auto const& a, auto const& b) {
    return std::tie(a.first, a.last, a.name) < std::tie(b.first, b.last, b.name);
  });
  auto const place = [](safetensors_entry const& tensor) {
    return "tensor '" + tensor.name + "' of shape " + shape_text(tensor.shape) + ", bytes [" +
           std::to_string(tensor.first) + ", " + std::to_string(tensor.last) + "): ";
  };
  std::uint64_t end = 0;
  for (auto const& tensor : header.tensors) {
    if (tensor.first != end || tensor.last < tensor.first)
      refuse("E5012", file,
             place(tensor) + "expected it to begin at byte " + std::to_string(end) + ", where the one before it ends");
    auto const size = bytes_of(tensor.shape, size_of(tensor.type));
    if (!size || *size != tensor.last - tensor.first)
      refuse("E5012", file,
             place(tensor) + "expected " +
                 (size ? std::to_string(*size) + " bytes" : std::string("a shape that memory can hold")));
    if (!source.holds(header.first_byte, tensor.last))
      refuse("E5012", file,
             place(tensor) + "the file ends at byte " + std::to_string(source.size() - header.first_byte));
    end = tensor.last;
  }
  if (!source.holds(header.first_byte, end) || source.size() - header.first_byte != end)
    refuse("E5012", file,
           "expected " + std::to_string(end) + " bytes of tensors, found " +
               std::to_string(source.size() - header.first_byte));
  return header;
}

/// The tensors in the order in which they are written.
[[nodiscard]] inline std::vector<stored_tensor const*> order_of_safetensors(tensor_file const& file) {
  std::vector<stored_tensor const*> order;
  order.reserve(file.tensors.size());
  for (std::size_t const size : {8U, 4U, 2U, 1U})
    for (auto const& tensor : file.tensors)
      if (size_of(tensor.type) == size) order.push_back(&tensor);
  return order;
}

/// The header, after its length.
[[nodiscard]] inline std::string safetensors_header_text(std::string const& path, tensor_file const& file,
                                                         std::vector<stored_tensor const*> const& order) {
  auto header = nlohmann::ordered_json::object();
  for (auto const& [key, text] : file.metadata) header["__metadata__"][key] = text;
  std::uint64_t first = 0;
  std::unordered_set<std::string_view> names{"__metadata__"};
  for (auto const* tensor : order) {
    if (!names.insert(tensor->name).second) refuse("E5011", path, "two tensors are called '" + tensor->name + "'");
    auto const last = first + tensor->bytes.size();
    // Appended without a search for the name, which would take quadratic time.
    header.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(
        tensor->name,
        nlohmann::ordered_json{
            {"dtype", facts_of(tensor->type).safetensors}, {"shape", tensor->shape}, {"data_offsets", {first, last}}});
    first = last;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (nlohmann::json::exception const& problem) {
    refuse("E5011", path, std::string("a name is not UTF-8: ") + problem.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string result;
  for (int i = 0; i < 8; ++i) result += static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  return result + text;
}

}  // namespace stagecraft::io

namespace stagecraft {

namespace io {

/// Reads the tensors of an opened file. Errors are those of read_safetensors.
[[nodiscard]] inline tensor_file read_safetensors(byte_source const& source) {
  auto const header = read_safetensors_header(source);
  tensor_file result;
  result.metadata = header.metadata;
  result.tensors.reserve(header.tensors.size());
  for (auto const& entry : header.tensors)
    result.tensors.push_back(
        {entry.name, entry.type, entry.shape, source.read(header.first_byte + entry.first, entry.last - entry.first)});
  return result;
}

/// Writes a file of tensors with `to.write(bytes)`; errors call it `path`.
template <class Writer>
void write_safetensors(Writer& to, tensor_file const& file, std::string const& path) {
  auto const order = order_of_safetensors(file);
  to.write(safetensors_header_text(path, file, order));
  for (auto const* tensor : order) to.write(tensor->bytes);
}

}  // namespace io

/// Reads a file of tensors: `auto file = sc::read_safetensors("w.safetensors"); file.find("dense/kernel:0")`.
///
/// The file must be as the format says, to the byte: header of at most 100 MB, each name once, known types, sizes that
/// agree with the shapes, no holes, overlaps or surplus bytes. Takes as much memory as the file has bytes, whatever its
/// header says. Throws file_error: E5001 the file cannot be read, E5011 the header is no header of such a file, E5012 a
/// tensor's place does not fit its shape or the file, E5013 elements of an unknown type. Definition:
/// https://huggingface.co/docs/safetensors (format), and its Rust implementation.
[[nodiscard]] inline tensor_file read_safetensors(std::string const& path) {
  return io::read_safetensors(io::byte_source(path));
}

/// Reads tensors from bytes in memory; errors call them `name`.
[[nodiscard]] inline tensor_file parse_safetensors(std::span<std::byte const> bytes, std::string const& name) {
  return io::read_safetensors(io::byte_source(bytes, name));
}

/// Writes tensors, those with wide elements first, so that all are aligned. Until the new file is whole and on the
/// disk, the former one stays at `path`. Throws file_error: E5041 the file cannot be written, E5011 two tensors share a
/// name, or a name is not UTF-8.
inline void write_safetensors(std::string const& path, tensor_file const& file) {
  io::replace_file(path, [&](io::file_writer& to) { io::write_safetensors(to, file, path); });
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
