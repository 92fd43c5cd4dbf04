// SPDX-License-Identifier: BSD-3-Clause
// A profile as JSON, to and from: for other programs, and to look at it again later. Needs nlohmann's JSON library
// (CMake: stagecraft::json).
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/report/detail/profile_json_fields.hpp>
#include <stagecraft/report/detail/text_file.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

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

/// Writes it to a file. Throws file_error E5050 if that is not possible.
inline void write_profile_json(profile_data const& data, std::string const& to_file = "profile.json") {
  detail::write_text_file(to_file, profile_json(data), "write_profile_json");
}

/// Reads what write_profile_json wrote. Throws file_error: E5053 if the file cannot be read, E5052 if it is no profile.
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
