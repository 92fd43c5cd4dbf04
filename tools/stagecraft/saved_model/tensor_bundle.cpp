// SPDX-License-Identifier: BSD-3-Clause
#include "tensor_bundle.hpp"

#include "protobuf_tag.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/event_writer.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <utility>

namespace stagecraft::tool {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr std::uint64_t footer_bytes = 48, trailer_bytes = 5;
constexpr std::uint64_t table_magic = 0xdb4775248b80fb57;
constexpr std::size_t longest_name = 1 << 16;

std::string_view characters(std::span<std::byte const> bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}
std::uint32_t number32(std::string_view at) {
  return static_cast<std::uint32_t>(io::number_at<4>(reinterpret_cast<std::byte const*>(at.data())));
}

/// Takes one of LevelDB's numbers of variable length; none at the end, or if it has more than 64 bits.
std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    auto const byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 127U) << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

/// A type of elements in TensorFlow: its number, its name and, for most types, its counterpart here.
struct tensorflow_type {
  std::int32_t number;
  char const* name;
  std::optional<element_type> type;
};
constexpr tensorflow_type tensorflow_types[]{{1, "float32", element_type::float32},
                                             {2, "float64", element_type::float64},
                                             {3, "int32", element_type::int32},
                                             {4, "uint8", element_type::uint8},
                                             {5, "int16", element_type::int16},
                                             {6, "int8", element_type::int8},
                                             {7, "string", std::nullopt},
                                             {8, "complex64", std::nullopt},
                                             {9, "int64", element_type::int64},
                                             {10, "bool", element_type::boolean},
                                             {11, "qint8", std::nullopt},
                                             {12, "quint8", std::nullopt},
                                             {13, "qint32", std::nullopt},
                                             {14, "bfloat16", element_type::bfloat16},
                                             {15, "qint16", std::nullopt},
                                             {16, "quint16", std::nullopt},
                                             {17, "uint16", element_type::uint16},
                                             {18, "complex128", std::nullopt},
                                             {19, "float16", element_type::float16},
                                             {20, "resource", std::nullopt},
                                             {21, "variant", std::nullopt},
                                             {22, "uint32", element_type::uint32},
                                             {23, "uint64", element_type::uint64}};
constexpr std::int32_t string_type = 7;

std::vector<std::int64_t> read_shape(pbf_reader message) {
  std::vector<std::int64_t> shape;
  while (message.next(2, pbf_wire_type::length_delimited)) {
    auto dimension = message.get_message();
    std::int64_t size = 0;
    while (dimension.next(1, pbf_wire_type::varint)) size = dimension.get_int64();
    shape.push_back(size);
  }
  return shape;
}

}  // namespace

tensor_bundle::tensor_bundle(bundle_files files) : files_(std::move(files)) {
  try {
    read_table();
  } catch (protozero::exception const& why) {
    damaged(std::string("a message in it is cut off or damaged (") + why.what() + ")");
  }
  if (shards_ == 0) damaged("it has no header");
}

void tensor_bundle::damaged(std::string const& what) const {
  io::refuse("E5100", files_.index_name, "is no table of a checkpoint: " + what);
}
void tensor_bundle::damaged(std::string const& name, std::string const& what) const {
  io::refuse("E5100", files_.index_name, "tensor '" + name + "' " + what);
}

std::string_view tensor_bundle::block(place const& at, char const* what) const {
  auto const all = characters(files_.index);
  if (at.offset > all.size() || at.size > all.size() - at.offset || all.size() - at.offset - at.size < trailer_bytes)
    damaged(std::string(what) + " lies beyond its end");
  auto const bytes = all.substr(at.offset, at.size + 1);
  if (files_.has_checksums && io::masked_crc32c(bytes) != number32(all.substr(at.offset + at.size + 1, 4)))
    damaged(std::string(what) + " has another checksum than the one that is written after it");
  if (bytes.back() == 1) damaged(std::string(what) + " is compressed by snappy, which is not read");
  if (bytes.back() != 0) damaged(std::string(what) + " is compressed in a way that is not known");
  return bytes.substr(0, at.size);
}

/// Calls `visit(key, value)` for all entries of a block, whose keys share the beginning of the key before them.
template <class Visit>
void tensor_bundle::for_each_entry(std::string_view block, Visit const& visit) const {
  if (block.size() < 4) damaged("a block is too short");
  auto const restarts = number32(block.substr(block.size() - 4));
  if (restarts > (block.size() - 4) / 4) damaged("a block has more marks than bytes");
  auto left = block.substr(0, block.size() - 4 * (std::size_t{restarts} + 1));
  std::string key;
  while (!left.empty()) {
    auto const shared = take_varint(left), own = take_varint(left), size = take_varint(left);
    if (!shared || !own || !size || *shared > key.size() || *own > left.size() || *size > left.size() - *own)
      damaged("an entry lies beyond the end of its block");
    if (*shared + *own > longest_name) damaged("a name in it has more than 65536 letters");
    key.resize(*shared);
    key += left.substr(0, *own);
    visit(key, left.substr(*own, *size));
    left.remove_prefix(*own + *size);
  }
}

void tensor_bundle::read_table() {
  auto const all = characters(files_.index);
  if (all.size() < footer_bytes) damaged("it has less than 48 bytes");
  auto footer = all.substr(all.size() - footer_bytes);
  if (io::number_at<8>(reinterpret_cast<std::byte const*>(footer.data()) + footer_bytes - 8) != table_magic)
    damaged("it does not end as tables do");
  auto const take_place = [&](std::string_view& from) {
    auto const offset = take_varint(from), size = take_varint(from);
    if (!offset || !size) damaged("a place in it is cut off");
    return place{*offset, *size};
  };
  static_cast<void>(take_place(footer));  // the place of filters, which do not exist
  auto const index = take_place(footer);
  std::uint64_t end = 0;
  std::size_t letters = 0;  // names with a shared beginning could exceed the memory
  std::string last;
  for_each_entry(block(index, "its list of blocks"), [&](std::string const&, std::string_view value) {
    auto const at = take_place(value);
    if (at.offset < end) damaged("its blocks overlap");
    auto const bytes = block(at, "a block");
    end = at.offset + at.size;
    for_each_entry(bytes, [&](std::string const& name, std::string_view message) {
      bool const is_first = shards_ == 0;
      if (!is_first && name <= last) damaged("its names are not in order");
      letters += name.size();
      if (letters > 64 * all.size()) damaged("its names are longer than they can be");
      last = name;
      if (name.empty())
        read_header(message);
      else if (is_first)
        damaged("it has no header");
      else
        read_entry(name, message);
    });
  });
}

void tensor_bundle::read_header(std::string_view bytes) {
  std::int32_t count = 1, order = 0;
  pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) switch (message.tag_and_type()) {
      case tag(1, pbf_wire_type::varint): count = message.get_int32(); break;
      case tag(2, pbf_wire_type::varint): order = message.get_int32(); break;
      default: message.skip();
    }
  if (order != 0) damaged("its numbers are big-endian");
  if (count < 1 || count > 99999) damaged("it has " + std::to_string(count) + " files of bytes");
  shards_ = count;
}

void tensor_bundle::read_entry(std::string const& name, std::string_view bytes) {
  bundle_entry entry;
  pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) switch (message.tag_and_type()) {
      case tag(1, pbf_wire_type::varint): entry.type = message.get_int32(); break;
      case tag(2, pbf_wire_type::length_delimited): entry.shape = read_shape(message.get_message()); break;
      case tag(3, pbf_wire_type::varint): entry.shard = message.get_int32(); break;
      case tag(4, pbf_wire_type::varint): entry.offset = message.get_uint64(); break;
      case tag(5, pbf_wire_type::varint): entry.size = message.get_uint64(); break;
      case tag(6, pbf_wire_type::fixed32): entry.checksum = message.get_fixed32(); break;
      case tag(7, pbf_wire_type::length_delimited):
        entry.is_sliced = true;
        message.skip();
        break;
      default: message.skip();
    }
  entries_.emplace(name, std::move(entry));
}

bundle_entry const& tensor_bundle::entry(std::string const& name) const {
  auto const found = entries_.find(name);
  if (found == entries_.end()) damaged(name, "is not in it");
  auto const& entry = found->second;
  if (entry.is_sliced) damaged(name, "is divided into slices, which are not read: save the model on one device");
  if (entry.shard < 0 || entry.shard >= shards_)
    damaged(name, "lies in file " + std::to_string(entry.shard) + " of " + std::to_string(shards_));
  return entry;
}

std::vector<std::byte> tensor_bundle::bytes_of(std::string const& name, bundle_entry const& entry) const {
  auto& source = opened_[entry.shard];
  if (!source) source = files_.open(entry.shard, shards_);
  if (!source->holds(entry.offset, entry.size))
    io::refuse("E5100", source->name(),
               "has " + std::to_string(source->size()) + " bytes, of which tensor '" + name + "' takes " +
                   std::to_string(entry.size) + " from byte " + std::to_string(entry.offset));
  // Tensors may share bytes; together they may take a multiple of the file's bytes.
  auto& taken = taken_[entry.shard];
  taken += entry.size;
  if (taken / 4 > source->size()) io::refuse("E5100", source->name(), "its tensors overlap");
  return source->read(entry.offset, entry.size);
}

stored_tensor tensor_bundle::tensor(std::string const& name) const {
  auto const& found = entry(name);
  tensorflow_type const* type = nullptr;
  for (auto const& each : tensorflow_types)
    if (each.number == found.type) type = &each;
  if (type == nullptr || !type->type)
    io::refuse("E5101", files_.index_name,
               "tensor '" + name + "' has elements of TensorFlow's type " +
                   (type == nullptr ? std::to_string(found.type) : std::string(type->name)) +
                   ", which has no counterpart here");
  auto const size = io::bytes_of(found.shape, size_of(*type->type));
  if (!size || *size != found.size)
    damaged(name, "has the shape " + io::shape_text(found.shape) + " of " + type->name + ", and " +
                      std::to_string(found.size) + " bytes");
  stored_tensor result{name, *type->type, found.shape, bytes_of(name, found)};
  if (files_.has_checksums && io::masked_crc32c(characters(result.bytes)) != found.checksum)
    damaged(name, "has another checksum than its bytes");
  return result;
}

std::string tensor_bundle::text(std::string const& name) const {
  auto const& found = entry(name);
  if (found.type != string_type || !found.shape.empty()) damaged(name, "is not a single text");
  auto const bytes = bytes_of(name, found);
  auto left = characters(bytes);
  // The text's length, the checksum of that, its letters. The entry's checksum covers all three, with the length as a
  // number.
  auto const length = take_varint(left);
  if (!length || left.size() < 4 || left.size() - 4 != *length || *length > std::numeric_limits<std::uint32_t>::max())
    damaged(name, "is cut off");
  std::string summed;
  io::proto_message::append(summed, static_cast<std::uint32_t>(*length));
  bool const is_same = io::masked_crc32c(summed) == number32(left);
  summed += left;
  if (files_.has_checksums && (!is_same || io::masked_crc32c(summed) != found.checksum))
    damaged(name, "has another checksum than its bytes");
  return std::string(left.substr(4));
}

}  // namespace stagecraft::tool
