// SPDX-License-Identifier: BSD-3-Clause
#include "tensorflow/graph_def.hpp"

#include "protobuf_tag.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <algorithm>
#include <array>
#include <protozero/pbf_reader.hpp>

namespace stagecraft::tool {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr auto message_tag(std::uint32_t number) { return tag(number, pbf_wire_type::length_delimited); }
constexpr auto number_tag(std::uint32_t number) { return tag(number, pbf_wire_type::varint); }

constexpr std::size_t most_axes = 254;

class parser {
 public:
  parser(std::string const& file, std::size_t size) : file_(file), most_bytes_(4 * size + (std::size_t{1} << 20)) {}

  tensorflow_graph saved_model(pbf_reader message) {
    std::optional<tensorflow_graph> found;
    while (message.next()) {
      if (message.tag_and_type() != message_tag(2)) {
        message.skip();
        continue;
      }
      auto const meta_graph = message.get_message();
      if (!found && is_served(meta_graph)) found = read_meta_graph(meta_graph);
    }
    if (!found) damaged("it has no graph with the tag 'serve'");
    return *std::move(found);
  }

  stored_tensor tensor(pbf_reader message) {
    auto found = read_tensor(message);
    if (!found.tensor) damaged("a tensor has a type without numbers");
    return *std::move(found.tensor);
  }
  tensorflow_graph graph(pbf_reader message) {
    tensorflow_graph result;
    read_graph(message, result);
    if (result.nodes.empty()) damaged("it has no nodes");
    return result;
  }

  [[noreturn]] void damaged(std::string const& what) const {
    io::refuse("E5240", file_, "is no graph of TensorFlow's: " + what);
  }

 private:
  static bool is_served(pbf_reader meta_graph) {
    bool result = false;
    while (meta_graph.next(1, pbf_wire_type::length_delimited)) {
      auto info = meta_graph.get_message();
      while (info.next(4, pbf_wire_type::length_delimited)) result = result || info.get_string() == "serve";
    }
    return result;
  }

  tensorflow_graph read_meta_graph(pbf_reader message) {
    tensorflow_graph graph;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(2): read_graph(message.get_message(), graph); break;
        case message_tag(3): {
          auto saver = message.get_message();
          while (saver.next(3, pbf_wire_type::length_delimited)) graph.restore_node = saver.get_string();
          break;
        }
        case message_tag(5): read_signature(message.get_message(), graph); break;
        default: message.skip();
      }
    return graph;
  }

  void read_graph(pbf_reader message, tensorflow_graph& graph) {
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(1): graph.nodes.push_back(read_node(message.get_message())); break;
        case message_tag(2): {
          auto library = message.get_message();
          while (library.next(1, pbf_wire_type::length_delimited)) read_function(library.get_message(), graph);
          break;
        }
        default: message.skip();
      }
  }

  void read_function(pbf_reader message, tensorflow_graph& graph) {
    tensorflow_function function;
    std::string name;
    std::map<std::string, std::string> results;
    std::vector<std::string> order;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(1): {
          auto signature = message.get_message();
          while (signature.next()) switch (signature.tag_and_type()) {
              case message_tag(1): name = signature.get_string(); break;
              case message_tag(2): function.arguments.push_back(read_argument(signature.get_message())); break;
              case message_tag(3): order.push_back(read_argument(signature.get_message())); break;
              default: signature.skip();
            }
          break;
        }
        case message_tag(3): function.nodes.push_back(read_node(message.get_message())); break;
        case message_tag(4): results.insert(read_pair(message.get_message())); break;
        default: message.skip();
      }
    for (auto const& each : order) {
      auto const found = results.find(each);
      if (found == results.end()) damaged("function '" + name + "' does not say what its output '" + each + "' is");
      function.results.emplace_back(each, found->second);
    }
    graph.functions.insert_or_assign(name, std::move(function));
  }

  static std::string read_argument(pbf_reader message) {
    std::string name;
    while (message.next(1, pbf_wire_type::length_delimited)) name = message.get_string();
    return name;
  }

  static std::pair<std::string, std::string> read_pair(pbf_reader message) {
    std::pair<std::string, std::string> result;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(1): result.first = message.get_string(); break;
        case message_tag(2): result.second = message.get_string(); break;
        default: message.skip();
      }
    return result;
  }

  void read_signature(pbf_reader message, tensorflow_graph& graph) {
    std::string key;
    tensorflow_signature signature;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(1): key = message.get_string(); break;
        case message_tag(2): {
          auto content = message.get_message();
          while (content.next()) switch (content.tag_and_type()) {
              case message_tag(1): signature.inputs.push_back(read_tensor_info(content.get_message())); break;
              case message_tag(2): signature.outputs.push_back(read_tensor_info(content.get_message())); break;
              case message_tag(3): signature.method = content.get_string(); break;
              default: content.skip();
            }
          break;
        }
        default: message.skip();
      }
    // A map has no order of its own: its keys are sorted, as TensorFlow does it.
    auto const by_key = [](auto const& a, auto const& b) { return a.key < b.key; };
    std::sort(signature.inputs.begin(), signature.inputs.end(), by_key);
    std::sort(signature.outputs.begin(), signature.outputs.end(), by_key);
    graph.signatures.insert_or_assign(key, std::move(signature));
  }

  tensorflow_tensor read_tensor_info(pbf_reader message) {
    tensorflow_tensor result;
    result.has_rank = false;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(1): result.key = message.get_string(); break;
        case message_tag(2): {
          auto info = message.get_message();
          while (info.next()) switch (info.tag_and_type()) {
              case message_tag(1): result.tensor = info.get_string(); break;
              case number_tag(2): result.type = info.get_int32(); break;
              case message_tag(3): {
                auto const shape = read_shape(info.get_message());
                result.shape = shape.integers, result.has_rank = shape.has_rank;
                break;
              }
              default: info.skip();
            }
          break;
        }
        default: message.skip();
      }
    return result;
  }

  tensorflow_node read_node(pbf_reader message) {
    tensorflow_node node;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(1): node.name = message.get_string(); break;
        case message_tag(2): node.type = message.get_string(); break;
        case message_tag(3): node.inputs.push_back(message.get_string()); break;
        case message_tag(5): {
          std::string name;
          tensorflow_attribute value;
          auto pair = message.get_message();
          while (pair.next()) switch (pair.tag_and_type()) {
              case message_tag(1): name = pair.get_string(); break;
              case message_tag(2): value = read_attribute(pair.get_message()); break;
              default: pair.skip();
            }
          node.attributes.insert_or_assign(std::move(name), std::move(value));
          break;
        }
        default: message.skip();
      }
    return node;
  }

  tensorflow_attribute read_attribute(pbf_reader message) {
    using enum tensorflow_kind;
    tensorflow_attribute value;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(1): read_list(message.get_message(), value); break;
        case message_tag(2): value.kind = text, value.text = message.get_string(); break;
        case number_tag(3): value.kind = integer, value.integer = message.get_int64(); break;
        case tag(4, pbf_wire_type::fixed32): value.kind = real, value.real = message.get_float(); break;
        case number_tag(5): value.kind = truth, value.integer = message.get_bool() ? 1 : 0; break;
        case number_tag(6): value.kind = type, value.integer = message.get_int32(); break;
        case message_tag(7): value = read_shape(message.get_message()); break;
        case message_tag(8): value = read_tensor(message.get_message()); break;
        case message_tag(10): {
          value.kind = function;
          auto called = message.get_message();
          while (called.next(1, pbf_wire_type::length_delimited)) value.text = called.get_string();
          break;
        }
        default: message.skip();
      }
    return value;
  }

  static void read_list(pbf_reader message, tensorflow_attribute& to) {
    using enum tensorflow_kind;
    to.kind = other;
    auto const add = [&](tensorflow_kind kind, auto const& values) {
      to.kind = kind;
      to.integers.insert(to.integers.end(), values.begin(), values.end());
    };
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(2): to.kind = texts, to.texts.push_back(message.get_string()); break;
        case message_tag(3): add(whole_numbers, message.get_packed_int64()); break;
        case number_tag(3): add(whole_numbers, std::array{message.get_int64()}); break;
        case message_tag(4): {
          to.kind = reals;
          auto const values = message.get_packed_float();
          to.reals.insert(to.reals.end(), values.begin(), values.end());
          break;
        }
        case tag(4, pbf_wire_type::fixed32): to.kind = reals, to.reals.push_back(message.get_float()); break;
        case message_tag(6): add(types, message.get_packed_int32()); break;
        case number_tag(6): add(types, std::array{message.get_int32()}); break;
        default: message.skip();
      }
  }

  tensorflow_attribute read_shape(pbf_reader message) const {
    tensorflow_attribute result;
    result.kind = tensorflow_kind::shape;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(2): {
          std::int64_t length = 0;  // protobuf leaves zeros out
          auto dimension = message.get_message();
          while (dimension.next(1, pbf_wire_type::varint)) length = dimension.get_int64();
          if (result.integers.size() == most_axes) damaged("a shape has more than 254 axes");
          result.integers.push_back(std::max<std::int64_t>(length, -1));
          break;
        }
        case number_tag(3): result.has_rank = !message.get_bool(); break;
        default: message.skip();
      }
    return result;
  }

  template <class To, class Values>
  static void append(Values const& values, std::vector<std::byte>& to) {
    for (auto const each : values) {
      auto const value = static_cast<To>(each);
      auto const* const bytes = reinterpret_cast<std::byte const*>(&value);
      to.insert(to.end(), bytes, bytes + sizeof value);
    }
  }
  template <class Values>
  static void append(element_type type, Values const& values, std::vector<std::byte>& to) {
    switch (type) {
      case element_type::float32: return append<float>(values, to);
      case element_type::float64: return append<double>(values, to);
      case element_type::int64: return append<std::int64_t>(values, to);
      case element_type::uint64: return append<std::uint64_t>(values, to);
      case element_type::int32: return append<std::int32_t>(values, to);
      case element_type::uint32: return append<std::uint32_t>(values, to);
      case element_type::int16: return append<std::int16_t>(values, to);
      case element_type::uint16:
      case element_type::float16:
      case element_type::bfloat16: return append<std::uint16_t>(values, to);
      case element_type::int8: return append<std::int8_t>(values, to);
      default: return append<std::uint8_t>(values, to);
    }
  }

  /// Reads a tensor. The last value of a list stands for all that follow.
  tensorflow_attribute read_tensor(pbf_reader message) {
    tensorflow_attribute result;
    result.kind = tensorflow_kind::tensor;
    stored_tensor made;
    std::optional<element_type> type;
    bool is_whole = false;  // all bytes are given
    auto const look = message;
    while (message.next()) switch (message.tag_and_type()) {
        case number_tag(1): result.element_type = message.get_int32(); break;
        case message_tag(2): made.shape = read_shape(message.get_message()).integers; break;
        default: message.skip();
      }
    type = element_type_of(result.element_type);
    message = look;
    if (!type) {
      while (message.next(8, pbf_wire_type::length_delimited)) result.texts.push_back(message.get_string());
      result.integers = made.shape;
      return result;
    }
    made.type = *type;
    while (message.next()) switch (message.tag_and_type()) {
        case message_tag(4): {
          auto const view = message.get_view();
          auto const* const bytes = reinterpret_cast<std::byte const*>(view.data());
          made.bytes.assign(bytes, bytes + view.size());
          is_whole = !made.bytes.empty();
          break;
        }
        case message_tag(5): append(*type, message.get_packed_float(), made.bytes); break;
        case tag(5, pbf_wire_type::fixed32): append(*type, std::array{message.get_float()}, made.bytes); break;
        case message_tag(6): append(*type, message.get_packed_double(), made.bytes); break;
        case tag(6, pbf_wire_type::fixed64): append(*type, std::array{message.get_double()}, made.bytes); break;
        case message_tag(7):
        case message_tag(13): append(*type, message.get_packed_int32(), made.bytes); break;
        case number_tag(7):
        case number_tag(13): append(*type, std::array{message.get_int32()}, made.bytes); break;
        case message_tag(10): append(*type, message.get_packed_int64(), made.bytes); break;
        case number_tag(10): append(*type, std::array{message.get_int64()}, made.bytes); break;
        case message_tag(11): append(*type, message.get_packed_bool(), made.bytes); break;
        case number_tag(11): append(*type, std::array{message.get_bool()}, made.bytes); break;
        case message_tag(16): append(*type, message.get_packed_uint32(), made.bytes); break;
        case number_tag(16): append(*type, std::array{message.get_uint32()}, made.bytes); break;
        case message_tag(17): append(*type, message.get_packed_uint64(), made.bytes); break;
        case number_tag(17): append(*type, std::array{message.get_uint64()}, made.bytes); break;
        default: message.skip();
      }
    auto const size = io::bytes_of(made.shape, size_of(*type));
    if (!size) damaged("a tensor has a shape that cannot be counted");
    if (is_whole ? made.bytes.size() != *size : made.bytes.size() > *size)
      damaged("a tensor of the shape " + io::shape_text(made.shape) + " has " + std::to_string(made.bytes.size()) +
              " bytes");
    // A small file may declare large tensors: together they may take at most a multiple of its own bytes.
    if (*size > most_bytes_ - taken_) damaged("its tensors take more than four times its bytes");
    taken_ += *size;
    auto const element = size_of(*type);
    if (made.bytes.empty()) made.bytes.resize(*size);
    while (made.bytes.size() < *size)
      made.bytes.insert(made.bytes.end(), made.bytes.end() - static_cast<std::ptrdiff_t>(element), made.bytes.end());
    result.tensor = std::move(made);
    return result;
  }

  std::string const& file_;
  std::size_t most_bytes_, taken_ = 0;
};

template <class Read>
auto parsed(std::string_view bytes, std::string const& file, Read const& read) {
  parser from(file, bytes.size());
  try {
    return read(from, pbf_reader(bytes.data(), bytes.size()));
  } catch (protozero::exception const& why) {
    from.damaged(std::string("its protobuf is cut off or damaged (") + why.what() + ")");
  }
}

}  // namespace

tensorflow_graph parse_saved_graph(std::string_view bytes, std::string const& file) {
  return parsed(bytes, file, [](parser& from, pbf_reader const& message) { return from.saved_model(message); });
}

stored_tensor parse_tensor(std::string_view bytes, std::string const& file) {
  return parsed(bytes, file, [](parser& from, pbf_reader const& message) { return from.tensor(message); });
}

tensorflow_graph parse_graph_def(std::string_view bytes, std::string const& file) {
  return parsed(bytes, file, [](parser& from, pbf_reader const& message) { return from.graph(message); });
}

}  // namespace stagecraft::tool
