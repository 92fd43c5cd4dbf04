// SPDX-License-Identifier: BSD-3-Clause
#include "object_graph.hpp"

#include "protobuf_tag.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <utility>

namespace stagecraft::tool {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// Calls `visit(message)` for each message with this number.
template <class Visit>
void for_each_message(pbf_reader message, std::uint32_t number, Visit const& visit) {
  while (message.next(number, pbf_wire_type::length_delimited)) visit(message.get_message());
}

void read_child(pbf_reader message, graph_object& to) {
  std::pair<std::string, int> child{"", 0};
  while (message.next()) switch (message.tag_and_type()) {
      case tag(1, pbf_wire_type::varint): child.second = message.get_int32(); break;
      case tag(2, pbf_wire_type::length_delimited): child.first = message.get_string(); break;
      default: message.skip();
    }
  to.children.push_back(std::move(child));
}

/// Reads an attribute of an object in a checkpoint; the one of a variable is called VARIABLE_VALUE.
void read_attribute(pbf_reader message, graph_object& to) {
  std::string name, full_name, key;
  while (message.next()) switch (message.tag_and_type()) {
      case tag(1, pbf_wire_type::length_delimited): name = message.get_string(); break;
      case tag(2, pbf_wire_type::length_delimited): full_name = message.get_string(); break;
      case tag(3, pbf_wire_type::length_delimited): key = message.get_string(); break;
      default: message.skip();
    }
  if (name == "VARIABLE_VALUE") to.full_name = std::move(full_name), to.key = std::move(key);
}

void read_user_object(pbf_reader message, graph_object& to) {
  while (message.next(3, pbf_wire_type::length_delimited)) to.metadata = message.get_string();
}

/// Reads an object of either graph, in which children have the same field number.
graph_object read_object(pbf_reader message, bool is_checkpoint) {
  graph_object object;
  while (message.next()) switch (message.tag_and_type()) {
      case tag(1, pbf_wire_type::length_delimited): read_child(message.get_message(), object); break;
      case tag(2, pbf_wire_type::length_delimited):
        if (is_checkpoint)
          read_attribute(message.get_message(), object);
        else
          message.skip();
        break;
      case tag(4, pbf_wire_type::length_delimited):
        if (is_checkpoint)
          message.skip();
        else
          read_user_object(message.get_message(), object);
        break;
      default: message.skip();
    }
  return object;
}

template <class Read>
auto parsed(std::string const& file, Read const& read) {
  try {
    return read();
  } catch (protozero::exception const& why) {
    io::refuse("E5102", file, std::string("its protobuf is cut off or damaged (") + why.what() + ")");
  }
}

void check(object_graph const& graph, std::string const& file) {
  if (graph.empty()) io::refuse("E5102", file, "it has no objects");
  for (auto const& each : graph)
    for (auto const& [name, object] : each.children)
      if (object < 0 || static_cast<std::size_t>(object) >= graph.size())
        io::refuse(
            "E5102", file,
            "attribute '" + name + "' is object " + std::to_string(object) + " of " + std::to_string(graph.size()));
}

}  // namespace

int graph_object::child(std::string_view name) const {
  for (auto const& [own, object] : children)
    if (own == name) return object;
  return -1;
}

object_graph parse_saved_objects(std::string_view bytes, std::string const& file) {
  auto graph = parsed(file, [&] {
    object_graph result;
    bool is_first = true;  // graphs for several devices have the same objects: the first one counts
    for_each_message({bytes.data(), bytes.size()}, 2, [&](pbf_reader const& meta_graph) {
      if (!std::exchange(is_first, false)) return;
      for_each_message(meta_graph, 7, [&](pbf_reader const& objects) {
        for_each_message(objects, 1, [&](pbf_reader const& object) { result.push_back(read_object(object, false)); });
      });
    });
    return result;
  });
  check(graph, file);
  return graph;
}

object_graph parse_checkpoint_objects(std::string_view bytes, std::string const& file) {
  auto graph = parsed(file, [&] {
    object_graph result;
    for_each_message({bytes.data(), bytes.size()}, 1,
                     [&](pbf_reader const& object) { result.push_back(read_object(object, true)); });
    return result;
  });
  check(graph, file);
  return graph;
}

std::vector<std::pair<int, std::string>> parse_keras_metadata(std::string_view bytes, std::string const& file) {
  return parsed(file, [&] {
    std::vector<std::pair<int, std::string>> result;
    for_each_message({bytes.data(), bytes.size()}, 1, [&](pbf_reader message) {
      std::pair<int, std::string> object{0, ""};
      while (message.next()) switch (message.tag_and_type()) {
          case tag(2, pbf_wire_type::varint): object.first = message.get_int32(); break;
          case tag(5, pbf_wire_type::length_delimited): object.second = message.get_string(); break;
          default: message.skip();
        }
      result.push_back(std::move(object));
    });
    return result;
  });
}

}  // namespace stagecraft::tool
