// SPDX-License-Identifier: BSD-3-Clause
// A profile written as JSON and read back: for other programs, and to look at it again later. Needs nlohmann's JSON
// library (CMake: stagecraft::json).
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/graph/fields.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::reports {

[[noreturn]] inline void throw_no_profile(std::string const& why) {
  throw file_error("E5052", "profile_from_json: not a profile: " + why);
}

/// Writes members to an object, in the order in which they are named.
class json_field_writer {
 public:
  static constexpr bool reads = false;

  [[nodiscard]] nlohmann::ordered_json take() { return std::move(object_); }

  template <class T>
  void operator()(char const* name, T const& value) {
    object_[name] = value_of(value);
  }

 private:
  template <class T>
  static nlohmann::ordered_json value_of(T const& value);

  nlohmann::ordered_json object_ = nlohmann::ordered_json::object();
};

/// Reads the members that json_field_writer writes. Numbers that do not fit and unknown names are E5052.
class json_field_reader {
 public:
  static constexpr bool reads = true;

  explicit json_field_reader(nlohmann::ordered_json const& object) : object_(object) {
    if (!object.is_object()) throw_no_profile("an object was expected, not " + std::string(object.type_name()));
  }

  template <class T>
  void operator()(char const* name, T& value) {
    auto const found = object_.find(name);
    if (found == object_.end()) throw_no_profile("there is no member \"" + std::string(name) + "\"");
    read(name, *found, value);
  }

 private:
  template <class T>
  static void read(char const* name, nlohmann::ordered_json const& from, T& value);

  nlohmann::ordered_json const& object_;
};

/// The number of enumerators of an enumeration that a profile names.
template <class T>
inline constexpr int enumerators = 0;
template <>
inline constexpr int enumerators<cycle_kind> = cycle_kind_count;
template <>
inline constexpr int enumerators<pass_kind> = static_cast<int>(pass_kind::weight_update) + 1;
template <>
inline constexpr int enumerators<schedule> = static_cast<int>(schedule::sequential) + 1;
template <>
inline constexpr int enumerators<recomputation_mode> =
    static_cast<int>(recomputation_mode::recompute_and_backpropagate_interleaved) + 1;

template <class T>
[[nodiscard]] constexpr std::string_view enumerator_name(T value) {
  if constexpr (std::is_same_v<T, schedule> || std::is_same_v<T, recomputation_mode>)
    return name(value);
  else
    return to_string(value);
}

/// The members, in their order. `Fields` is a json_field_writer or a json_field_reader, `T` const for the former.
template <class Fields, class T>
void visit_fields(Fields& field, T& of) {
  for_each_field(of, [&](std::string_view name, auto& value) { field(std::string(name).c_str(), value); });
}

// Tiles: neighbours with the same memory are one entry.
[[nodiscard]] inline nlohmann::ordered_json tiles_to_json(std::vector<profile_tile> const& tiles) {
  auto result = nlohmann::ordered_json::array();
  for (std::size_t i = 0, end = 0; i < tiles.size(); i = end) {
    for (end = i + 1; end < tiles.size() && tiles[end] == tiles[i];) ++end;
    nlohmann::ordered_json entry;
    entry["tiles"] = end - i;
    for (int category = 0; category < memory_category_count; ++category) {
      auto const own = static_cast<memory_category>(category);
      if (tiles[i][own] != 0) entry[std::string(to_string(own))] = tiles[i][own];
    }
    result.push_back(std::move(entry));
  }
  return result;
}

/// More tiles than any IPU has.
inline constexpr std::size_t most_tiles = 1'000'000;

/// Integers that any program reads exactly, and that can be added up; -1 stands for none.
inline constexpr std::int64_t largest_integer = std::int64_t{1} << 53;
inline constexpr std::int64_t most_bytes_of_tile = 1'000'000'000'000;

[[nodiscard]] inline std::int64_t integer_of(char const* name, nlohmann::ordered_json const& from,
                                             std::int64_t least = -1, std::int64_t most = largest_integer) {
  if (!from.is_number_integer()) throw_no_profile("\"" + std::string(name) + "\" is not an integer");
  auto const number = from.get<std::int64_t>();
  bool const wraps = from.is_number_unsigned() && number < 0;
  if (wraps || number < least || number > most)
    throw_no_profile("\"" + std::string(name) + "\" is " + from.dump() + ", not from " + std::to_string(least) +
                     " to " + std::to_string(most));
  return number;
}

[[nodiscard]] inline std::vector<profile_tile> tiles_from_json(nlohmann::ordered_json const& from) {
  if (!from.is_array()) throw_no_profile("\"tiles\" is not an array");
  std::vector<profile_tile> tiles;
  for (auto const& entry : from) {
    json_field_reader field(entry);
    std::int64_t count = 0;
    field("tiles", count);
    if (count < 1 || static_cast<std::uint64_t>(count) > most_tiles - tiles.size())
      throw_no_profile("an entry of \"tiles\" stands for " + std::to_string(count) + " tiles");
    profile_tile tile;
    for (int category = 0; category < memory_category_count; ++category) {
      auto const own = static_cast<memory_category>(category);
      auto const name = std::string(to_string(own));
      if (entry.contains(name)) tile[own] = integer_of(name.c_str(), entry[name], 0, most_bytes_of_tile);
    }
    tiles.insert(tiles.end(), static_cast<std::size_t>(count), tile);
  }
  return tiles;
}

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class T>
nlohmann::ordered_json json_field_writer::value_of(T const& value) {
  if constexpr (std::is_same_v<T, std::vector<profile_tile>>) {
    return tiles_to_json(value);
  } else if constexpr (is_vector<T>) {
    auto result = nlohmann::ordered_json::array();
    for (auto const& element : value) result.push_back(value_of(element));
    return result;
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(enumerator_name(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(value) ? value : 0.0;  // JSON has no others
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    json_field_writer fields;
    visit_fields(fields, value);
    return fields.take();
  }
}

template <class T>
void json_field_reader::read(char const* name, nlohmann::ordered_json const& from, T& value) {
  if constexpr (std::is_same_v<T, std::vector<profile_tile>>) {
    value = tiles_from_json(from);
  } else if constexpr (is_vector<T>) {
    if (!from.is_array()) throw_no_profile("\"" + std::string(name) + "\" is not an array");
    value.clear();
    for (auto const& element : from) read(name, element, value.emplace_back());
  } else if constexpr (std::is_enum_v<T>) {
    auto const text = from.get<std::string>();
    for (int i = 0; i < enumerators<T>; ++i)
      if (enumerator_name(static_cast<T>(i)) == text) {
        value = static_cast<T>(i);
        return;
      }
    throw_no_profile("\"" + std::string(name) + "\" is \"" + text + "\", which is none of its values");
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double> || std::is_same_v<T, std::string>) {
    value = from.get<T>();
  } else if constexpr (std::is_integral_v<T>) {
    std::int64_t const most = std::numeric_limits<T>::max();
    value = static_cast<T>(integer_of(name, from, -1, std::min(most, largest_integer)));
  } else {
    json_field_reader fields(from);
    visit_fields(fields, value);
  }
}

inline constexpr std::string_view profile_format = "stagecraft profile";
inline constexpr int profile_version = 1;

[[nodiscard]] inline nlohmann::ordered_json profile_to_json(profile_data const& data) {
  json_field_writer fields;
  fields("format", std::string(profile_format));
  fields("version", profile_version);
  visit_fields(fields, data);
  return fields.take();
}

[[nodiscard]] inline profile_data profile_from_json(nlohmann::ordered_json const& json) {
  json_field_reader fields(json);
  std::string format;
  fields("format", format);
  if (format != profile_format) throw_no_profile("\"format\" is \"" + format + "\"");
  int version = 0;
  fields("version", version);
  if (version != profile_version) throw_no_profile("its version is " + std::to_string(version) + ", not 1");
  profile_data data;
  visit_fields(fields, data);
  auto const is_device = [](int device) { return device >= 0 && device < timetable::capacity; };
  if (data.device_of_stage.empty() || data.device_of_stage.size() > timetable::capacity ||
      !std::all_of(data.device_of_stage.begin(), data.device_of_stage.end(), is_device))
    throw_no_profile("\"device_of_stage\" is not 1 to 64 numbers from 0 to 63");
  constexpr int many = 1'000'000;
  for (int const number : {data.batch_size, data.micro_batches, data.batch_serialization, data.machine.replicas})
    if (number < 1 || number > many)
      throw_no_profile("\"batch_size\", \"micro_batches\", \"batch_serialization\" or \"replicas\" is " +
                       std::to_string(number) + ", not from 1 to " + std::to_string(many));
  return data;
}

}  // namespace stagecraft::reports

namespace stagecraft {

/// A profile as text in JSON: an object with `format` ("stagecraft profile"), `version` (1) and the members of
/// profile_data, in their order and with their names. Enumerators are their names; neighbouring tiles with the same
/// memory are one entry with their number; members of memory that are 0 are left out. Integers are read up to 2^53.
/// Bytes in names that are no character become U+FFFD.
[[nodiscard]] inline std::string profile_json(profile_data const& data) {
  return detail::profile_to_json(data).dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// The profile that profile_json wrote. Throws file_error E5052 if the text is not JSON, or not a profile.
[[nodiscard]] inline profile_data profile_from_json(std::string_view text) {
  try {
    return detail::profile_from_json(nlohmann::ordered_json::parse(text));
  } catch (nlohmann::json::exception const& problem) {
    detail::throw_no_profile(problem.what());
  }
}

/// Writes profile_json(data) to a file. Throws file_error E5050 if that is not possible.
inline void write_profile_json(profile_data const& data, std::string const& to_file = "profile.json") {
  detail::write_text_file(to_file, profile_json(data), "write_profile_json");
}

/// Reads a file of write_profile_json. Throws file_error: E5053 if the file cannot be read, E5052 if it is no profile.
[[nodiscard]] inline profile_data read_profile_json(std::string const& from_file) {
  auto const fail = [&]() -> void {
    auto const* const reason = std::strerror(errno);
    throw file_error("E5053", "read_profile_json: cannot read '" + from_file + "': " + reason);
  };
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::fopen(from_file.c_str(), "rb"), &std::fclose);
  if (!file) fail();
  std::string text;
  char part[16'384];
  for (std::size_t count = sizeof part; count == sizeof part;)
    text.append(part, count = std::fread(part, 1, sizeof part, file.get()));
  if (std::ferror(file.get()) != 0) fail();
  return profile_from_json(text);
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
