// SPDX-License-Identifier: BSD-3-Clause
#include "onnx_file.hpp"

#include "protobuf_tag.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <set>

namespace stagecraft::tool {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

class parser {
 public:
  parser(std::string name, std::filesystem::path folder) : name_(std::move(name)), folder_(std::move(folder)) {}

  onnx_graph model(std::string_view bytes) {
    onnx_graph graph;
    std::vector<onnx_function> functions;
    bool has_graph = false;
    try {
      pbf_reader message(bytes.data(), bytes.size());
      while (message.next()) switch (message.tag_and_type()) {
          case tag(2, pbf_wire_type::length_delimited): graph.producer = message.get_string(); break;
          case tag(7, pbf_wire_type::length_delimited):
            if (has_graph) damaged("it has two graphs");
            has_graph = true;
            read_graph(message.get_message(), graph);
            break;
          case tag(8, pbf_wire_type::length_delimited): read_opset(message.get_message(), graph.opset); break;
          case tag(25, pbf_wire_type::length_delimited):
            functions.push_back(read_function(message.get_message()));
            break;
          default: message.skip();
        }
    } catch (protozero::exception const& why) {
      damaged(std::string("its protobuf is cut off or damaged (") + why.what() + ")");
    }
    if (!has_graph) damaged("it has no graph");
    std::set<std::string> constants;
    for (auto const& each : graph.constants) constants.insert(each.name);
    std::erase_if(graph.inputs, [&](onnx_value const& each) { return constants.contains(each.name); });
    if (!functions.empty()) inline_functions(graph, functions, name_);
    return graph;
  }

 private:
  [[noreturn]] void damaged(std::string const& what) const { io::refuse("E5067", name_, "is no ONNX file: " + what); }

  static void read_opset(pbf_reader message, std::int64_t& opset) {
    std::string domain;
    std::int64_t version = 0;
    while (message.next()) switch (message.tag_and_type()) {
        case tag(1, pbf_wire_type::length_delimited): domain = message.get_string(); break;
        case tag(2, pbf_wire_type::varint): version = message.get_int64(); break;
        default: message.skip();
      }
    if (domain.empty() || domain == "ai.onnx") opset = version;
  }

  onnx_function read_function(pbf_reader message) {
    onnx_function made;
    while (message.next()) switch (message.tag_and_type()) {
        case tag(1, pbf_wire_type::length_delimited): made.name = message.get_string(); break;
        case tag(4, pbf_wire_type::length_delimited): made.inputs.push_back(message.get_string()); break;
        case tag(5, pbf_wire_type::length_delimited): made.outputs.push_back(message.get_string()); break;
        case tag(7, pbf_wire_type::length_delimited): made.nodes.push_back(read_node(message.get_message())); break;
        case tag(9, pbf_wire_type::length_delimited): read_opset(message.get_message(), made.opset); break;
        case tag(10, pbf_wire_type::length_delimited): made.domain = message.get_string(); break;
        case tag(13, pbf_wire_type::length_delimited): made.overload = message.get_string(); break;
        case tag(11, pbf_wire_type::length_delimited): {
          std::string name;
          auto value = read_attribute(message.get_message(), name);
          made.defaults.insert_or_assign(std::move(name), std::move(value));
          break;
        }
        default: message.skip();
      }
    return made;
  }

  void read_graph(pbf_reader message, onnx_graph& graph) {
    while (message.next()) switch (message.tag_and_type()) {
        case tag(1, pbf_wire_type::length_delimited): graph.nodes.push_back(read_node(message.get_message())); break;
        case tag(2, pbf_wire_type::length_delimited): graph.name = message.get_string(); break;
        case tag(5, pbf_wire_type::length_delimited):
          graph.constants.push_back(read_tensor(message.get_message()));
          break;
        case tag(11, pbf_wire_type::length_delimited): graph.inputs.push_back(read_value(message.get_message())); break;
        case tag(12, pbf_wire_type::length_delimited):
          graph.outputs.push_back(read_value(message.get_message()));
          break;
        case tag(15, pbf_wire_type::length_delimited): damaged("it has sparse constants, which are not read");
        default: message.skip();
      }
  }

  /// Reads an input or output: its name, and the shape in its type.
  static onnx_value read_value(pbf_reader message) {
    onnx_value value;
    while (message.next()) switch (message.tag_and_type()) {
        case tag(1, pbf_wire_type::length_delimited): value.name = message.get_string(); break;
        case tag(2, pbf_wire_type::length_delimited): {
          auto type = message.get_message();
          while (type.next(1, pbf_wire_type::length_delimited)) {
            auto tensor = type.get_message();
            while (tensor.next()) {
              if (tensor.tag_and_type() == tag(1, pbf_wire_type::varint)) {
                value.type = tensor.get_int32();
              } else if (tensor.tag_and_type() == tag(2, pbf_wire_type::length_delimited)) {
                auto shape = tensor.get_message();
                while (shape.next(1, pbf_wire_type::length_delimited)) read_length(shape.get_message(), value);
              } else {
                tensor.skip();
              }
            }
          }
          break;
        }
        default: message.skip();
      }
    return value;
  }
  static void read_length(pbf_reader message, onnx_value& of) {
    of.shape.push_back(-1), of.dimensions.emplace_back();
    while (message.next()) switch (message.tag_and_type()) {
        case tag(1, pbf_wire_type::varint): of.shape.back() = message.get_int64(); break;
        case tag(2, pbf_wire_type::length_delimited): of.dimensions.back() = message.get_string(); break;
        default: message.skip();
      }
  }

  onnx_node read_node(pbf_reader message) {
    onnx_node node;
    while (message.next()) switch (message.tag_and_type()) {
        case tag(1, pbf_wire_type::length_delimited): node.inputs.push_back(message.get_string()); break;
        case tag(2, pbf_wire_type::length_delimited): node.outputs.push_back(message.get_string()); break;
        case tag(3, pbf_wire_type::length_delimited): node.name = message.get_string(); break;
        case tag(4, pbf_wire_type::length_delimited): node.type = message.get_string(); break;
        case tag(5, pbf_wire_type::length_delimited): {
          std::string name;
          auto value = read_attribute(message.get_message(), name);
          node.attributes.insert_or_assign(std::move(name), std::move(value));
          break;
        }
        case tag(7, pbf_wire_type::length_delimited): node.domain = message.get_string(); break;
        case tag(8, pbf_wire_type::length_delimited): node.overload = message.get_string(); break;
        default: message.skip();
      }
    if (node.domain == "ai.onnx") node.domain.clear();
    std::set<std::string> captured;
    for (auto const& [name, value] : node.attributes)
      if (value.graph)
        for (auto const& each : captures_of(*value.graph)) captured.insert(each);
    node.captures = captured.size();
    node.inputs.insert(node.inputs.end(), captured.begin(), captured.end());
    return node;
  }

  onnx_attribute read_attribute(pbf_reader message, std::string& name) {
    onnx_attribute result;
    int kind = 0;
    while (message.next()) {
      auto const is = [&](onnx_kind found) { result.kind = found; };
      switch (message.tag()) {
        case 2: is(onnx_kind::real); break;
        case 3: is(onnx_kind::integer); break;
        case 4: is(onnx_kind::text); break;
        case 5: is(onnx_kind::tensor); break;
        case 6: is(onnx_kind::graph); break;
        case 7: is(onnx_kind::reals); break;
        case 8: is(onnx_kind::integers); break;
        case 9: is(onnx_kind::texts); break;
        default: break;
      }
      switch (message.tag_and_type()) {
        case tag(1, pbf_wire_type::length_delimited): name = message.get_string(); break;
        case tag(2, pbf_wire_type::fixed32): result.real = message.get_float(); break;
        case tag(3, pbf_wire_type::varint): result.integer = message.get_int64(); break;
        case tag(4, pbf_wire_type::length_delimited): result.text = message.get_string(); break;
        case tag(5, pbf_wire_type::length_delimited): result.tensor = read_tensor(message.get_message()); break;
        case tag(6, pbf_wire_type::length_delimited): result.graph = read_body(message.get_message()); break;
        case tag(7, pbf_wire_type::fixed32): result.reals.push_back(message.get_float()); break;
        case tag(7, pbf_wire_type::length_delimited): append(message.get_packed_float(), result.reals); break;
        case tag(8, pbf_wire_type::varint): result.integers.push_back(message.get_int64()); break;
        case tag(8, pbf_wire_type::length_delimited): append(message.get_packed_int64(), result.integers); break;
        case tag(9, pbf_wire_type::length_delimited): result.texts.push_back(message.get_string()); break;
        case tag(20, pbf_wire_type::varint): kind = message.get_int32(); break;
        case tag(21, pbf_wire_type::length_delimited):  // a reference to an attribute of the enclosing function
          result.reference = message.get_string();
          break;
        default: message.skip();
      }
    }
    if (!result.reference.empty() || kind < 0 || kind > 8)
      result.kind = onnx_kind::other;
    else if (kind != 0)  // old files have no kind: the fields tell it
      result.kind = static_cast<onnx_kind>(kind);
    return result;
  }

  /// Reads a branch, or the body of a loop; at most 16 are inside of each other.
  std::shared_ptr<onnx_graph const> read_body(pbf_reader const& message) {
    constexpr int deepest = 16;
    if (++depth_ > deepest) damaged("its graphs are nested more than 16 deep");
    auto made = std::make_shared<onnx_graph>();
    read_graph(message, *made);
    --depth_;
    return made;
  }

  template <class Range, class T>
  static void append(Range const& range, std::vector<T>& to) {
    for (auto const each : range) to.push_back(each);
  }

  /// Appends a tensor's elements from one of its typed fields, as bytes of its own type.
  template <class Range>
  void append_elements(Range const& range, stored_tensor& to) const {
    auto const put = [&]<class T>(T value) {
      auto const* const first = reinterpret_cast<std::byte const*>(&value);
      to.bytes.insert(to.bytes.end(), first, first + sizeof value);
    };
    for (auto const each : range) switch (to.type) {
        case element_type::float32: put(static_cast<float>(each)); break;
        case element_type::float64: put(static_cast<double>(each)); break;
        case element_type::int64:
        case element_type::uint64: put(static_cast<std::int64_t>(each)); break;
        case element_type::int32:
        case element_type::uint32: put(static_cast<std::uint32_t>(static_cast<std::int64_t>(each))); break;
        case element_type::int16:
        case element_type::uint16:
        case element_type::float16:  // the bits of halves, as numbers
        case element_type::bfloat16: put(static_cast<std::uint16_t>(static_cast<std::int64_t>(each))); break;
        case element_type::int8:
        case element_type::uint8:
        case element_type::boolean: put(static_cast<std::uint8_t>(static_cast<std::int64_t>(each))); break;
      }
  }

  stored_tensor read_tensor(pbf_reader const& message) {
    stored_tensor result;
    std::int32_t number = 0;
    bool is_external = false;
    std::map<std::string, std::string> place;
    auto first = message;  // the type may follow the elements
    while (first.next()) switch (first.tag_and_type()) {
        case tag(1, pbf_wire_type::varint): result.shape.push_back(first.get_int64()); break;
        case tag(1, pbf_wire_type::length_delimited): append(first.get_packed_int64(), result.shape); break;
        case tag(2, pbf_wire_type::varint): number = first.get_int32(); break;
        case tag(8, pbf_wire_type::length_delimited): result.name = first.get_string(); break;
        case tag(13, pbf_wire_type::length_delimited): read_entry(first.get_message(), place); break;
        case tag(14, pbf_wire_type::varint): is_external = first.get_int32() == 1; break;
        default: first.skip();
      }
    auto const type = stored_type_of(number);
    if (!type)
      damaged("constant '" + result.name + "' has elements of type " + std::to_string(number) + ", which is not read");
    result.type = *type;
    if (is_external)
      read_external(place, result);
    else
      read_elements(message, result);
    std::uint64_t expected = size_of(*type);
    if (result.shape.size() > 16) damaged("constant '" + result.name + "' has more than 16 axes");
    for (auto const length : result.shape) {
      // The other lengths must be countable even if one is 0.
      auto const factor = static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1));
      if (length < 0 || expected > std::numeric_limits<std::int64_t>::max() / factor)
        damaged("constant '" + result.name + "' has the shape " + io::shape_text(result.shape));
      expected *= factor;
    }
    if (std::find(result.shape.begin(), result.shape.end(), 0) != result.shape.end()) expected = 0;
    if (expected != result.bytes.size())
      damaged("constant '" + result.name + "' has the shape " + io::shape_text(result.shape) + ", of " +
              std::to_string(expected) + " bytes, and " + std::to_string(result.bytes.size()) + " bytes");
    return result;
  }

  static void read_entry(pbf_reader message, std::map<std::string, std::string>& to) {
    std::string key, value;
    while (message.next()) switch (message.tag_and_type()) {
        case tag(1, pbf_wire_type::length_delimited): key = message.get_string(); break;
        case tag(2, pbf_wire_type::length_delimited): value = message.get_string(); break;
        default: message.skip();
      }
    to.insert_or_assign(std::move(key), std::move(value));
  }

  /// The number of the typed field for elements of a type.
  static std::uint32_t field_of(element_type type) {
    switch (type) {
      case element_type::float32: return 4;
      case element_type::int64: return 7;
      case element_type::float64: return 10;
      case element_type::uint32:
      case element_type::uint64: return 11;
      default: return 5;
    }
  }

  void read_elements(pbf_reader message, stored_tensor& to) const {
    while (message.next()) {
      auto const field = message.tag();
      if ((field == 4 || field == 5 || field == 7 || field == 10 || field == 11) && field != field_of(to.type))
        damaged("constant '" + to.name + "' of type " + std::string(name(to.type)) +
                " has its elements in the field of another type");
      switch (message.tag_and_type()) {
        case tag(4, pbf_wire_type::length_delimited): append_elements(message.get_packed_float(), to); break;
        case tag(4, pbf_wire_type::fixed32): append_elements(std::array{message.get_float()}, to); break;
        case tag(5, pbf_wire_type::length_delimited): append_elements(message.get_packed_int32(), to); break;
        case tag(5, pbf_wire_type::varint): append_elements(std::array{message.get_int32()}, to); break;
        case tag(7, pbf_wire_type::length_delimited): append_elements(message.get_packed_int64(), to); break;
        case tag(7, pbf_wire_type::varint): append_elements(std::array{message.get_int64()}, to); break;
        case tag(9, pbf_wire_type::length_delimited): {
          auto const view = message.get_view();
          auto const* const bytes = reinterpret_cast<std::byte const*>(view.data());
          to.bytes.assign(bytes, bytes + view.size());
          break;
        }
        case tag(10, pbf_wire_type::length_delimited): append_elements(message.get_packed_double(), to); break;
        case tag(10, pbf_wire_type::fixed64): append_elements(std::array{message.get_double()}, to); break;
        case tag(11, pbf_wire_type::length_delimited): append_elements(message.get_packed_uint64(), to); break;
        case tag(11, pbf_wire_type::varint): append_elements(std::array{message.get_uint64()}, to); break;
        default: message.skip();
      }
    }
  }

  /// Reads elements from another file of the same folder.
  void read_external(std::map<std::string, std::string> const& place, stored_tensor& to) {
    auto const text = [&](char const* key) {
      auto const found = place.find(key);
      return found == place.end() ? std::string() : found->second;
    };
    auto const number = [&](char const* key) {
      auto const digits = text(key);
      if (digits.empty()) return std::uint64_t{0};
      if (digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos)
        damaged("constant '" + to.name + "' has the " + key + " '" + digits + "'");
      return static_cast<std::uint64_t>(std::stoull(digits));
    };
    std::filesystem::path const location(text("location"));
    bool leaves = location.empty() || location.is_absolute();
    for (auto const& part : location) leaves = leaves || part == "..";
    if (leaves || folder_.empty())
      damaged("constant '" + to.name + "' lies in '" + location.string() + "', which is not beside the file");
    auto const path = folder_ / location;
    std::error_code problem;
    auto const file = std::filesystem::weakly_canonical(path, problem);
    auto const inside = problem ? std::filesystem::path()
                                : file.lexically_relative(std::filesystem::weakly_canonical(folder_, problem));
    if (inside.empty() || *inside.begin() == "..")
      damaged("constant '" + to.name + "' lies in '" + location.string() + "', which is not beside the file");
    io::byte_source const source(path.string());
    auto const offset = number("offset");
    auto const length = text("length").empty() && offset <= source.size() ? source.size() - offset : number("length");
    if (!source.holds(offset, length))
      damaged("constant '" + to.name + "' lies beyond the end of '" + location.string() + "'");
    // Constants may share bytes; together they may take a multiple of the file's bytes.
    auto& taken = external_bytes_[inside.string()];
    taken += length;
    if (taken > source.size() * 4) damaged("its constants overlap in '" + location.string() + "'");
    to.bytes = source.read(offset, length);
  }

  std::string name_;
  int depth_ = 0;  ///< graphs that are being read inside of each other
  std::filesystem::path folder_;
  std::map<std::string, std::uint64_t> external_bytes_;  ///< bytes that constants take, by file
};

}  // namespace

onnx_graph read_onnx_file(std::string const& path) {
  io::byte_source const source(path);
  auto const bytes = source.read(0, source.size());
  auto const parent = std::filesystem::path(path).parent_path();
  return parser(path, parent.empty() ? std::filesystem::path(".") : parent)
      .model({reinterpret_cast<char const*>(bytes.data()), bytes.size()});
}

onnx_graph parse_onnx(std::string_view bytes, std::string const& name) { return parser(name, {}).model(bytes); }

}  // namespace stagecraft::tool
