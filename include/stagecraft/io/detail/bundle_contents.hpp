// SPDX-License-Identifier: BSD-3-Clause
// The files of a bundle in memory, with their checksums. Deep JSON is refused before it is parsed, since copies take
// stack and a parser with a callback would take quadratic time.
#pragma once

#include <stagecraft/io/detail/bundle_folder.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/io/detail/system_files.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <stagecraft/version.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// True if lists and objects are nested more than `deepest` deep. For a text that is no JSON, the answer may be either.
[[nodiscard]] constexpr bool is_nested_deeper(std::string_view text, int deepest) noexcept {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}
static_assert(is_nested_deeper("[[]]", 1) && !is_nested_deeper("[[]]", 2));
static_assert(!is_nested_deeper(R"(["[[\"[", {}])", 2));

struct bundle_contents {
  json model;           ///< model.json
  json training;        ///< `training` of training.json; null: the bundle of a predictor
  tensor_file tensors;  ///< weights.safetensors
  /// The names of the weights that training changes, and of the others, in Keras's order: a file of tensors has an
  /// order of its own.
  std::vector<std::string> trainable_weights, non_trainable_weights;
};

inline constexpr std::string_view bundle_format = "stagecraft bundle";
inline constexpr int bundle_version = 1;
inline constexpr std::string_view no_checksum = "00000000";

[[nodiscard]] inline std::string hexadecimal(std::uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(value));
  return text;
}
[[nodiscard]] inline std::uint32_t crc32_of(std::string_view text) {
  return crc32_of(std::as_bytes(std::span(text.data(), text.size())));
}

/// Writes the three files to a folder.
inline void write_contents(std::string const& folder, bundle_contents const& contents) {
  auto files = json::object();
  auto const add = [&](char const* name, auto const& write) {
    file_writer file(folder + "/" + name);
    summing_writer sum(file);
    write(sum);
    file.close();
    files[name] = {{"bytes", sum.size()}, {"crc32", hexadecimal(sum.crc())}};
  };
  add("model.json", [&](auto& to) { to.write(contents.model.dump(1) + "\n"); });
  add("weights.safetensors",
      [&](auto& to) { write_safetensors(to, contents.tensors, folder + "/weights.safetensors"); });
  json const training{{"format", bundle_format},
                      {"format_version", bundle_version},
                      {"stagecraft_version", std::to_string(version_major) + "." + std::to_string(version_minor) + "." +
                                                 std::to_string(version_patch)},
                      {"training", contents.training},
                      {"trainable_weights", contents.trainable_weights},
                      {"non_trainable_weights", contents.non_trainable_weights},
                      {"files", files},
                      {"crc32", no_checksum}};
  auto text = training.dump(1) + "\n";
  // This file's checksum is computed with zeros in its own place.
  text.replace(text.rfind(no_checksum), no_checksum.size(), hexadecimal(crc32_of(text)));
  file_writer file(folder + "/training.json");
  file.write(text);
  file.close();
}

/// Reads JSON that is nested no deeper than the deepest that this library writes. Throws file_error E5030.
[[nodiscard]] inline json parse_json(std::string_view text, std::string const& file) {
  constexpr int deepest = 100;
  if (is_nested_deeper(text, deepest)) refuse("E5030", file, "its JSON is nested deeper than that of a bundle");
  try {
    return json::parse(text);
  } catch (nlohmann::json::exception const& problem) {
    refuse("E5030", file, std::string("it is not JSON: ") + problem.what());
  }
}

[[nodiscard]] inline std::string text_of(byte_source const& source) {
  auto const bytes = source.read(0, source.size());
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// The checksum of a file.
[[nodiscard]] inline std::uint32_t crc32_of(byte_source const& source) {
  constexpr std::uint64_t part = std::uint64_t{1} << 20;
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < source.size(); at += part)
    crc = crc32_of(source.read(at, std::min(part, source.size() - at)), crc);
  return crc;
}

/// Reads training.json: the list of files and the training. E5030, E5031.
[[nodiscard]] inline json read_training_json(byte_source const& source) {
  auto text = text_of(source);
  auto const whole = parse_json(text, source.name());
  auto const wrong = [&](std::string const& what) { refuse("E5030", source.name(), what); };
  if (!whole.is_object() || !whole.contains("format") || whole["format"] != bundle_format)
    wrong("it is not that of a bundle");
  if (!whole.contains("format_version") || !whole["format_version"].is_number_unsigned() ||
      whole["format_version"].get<std::uint64_t>() != std::uint64_t{bundle_version})
    wrong("the bundle has another format than version " + std::to_string(bundle_version) +
          ": a newer release of the library wrote it");
  auto const is_entry = [&](json const& files, char const* name) {
    return files.contains(name) && files[name].is_object() && files[name].contains("bytes") &&
           files[name]["bytes"].is_number_unsigned() && files[name].contains("crc32") &&
           files[name]["crc32"].is_string();
  };
  if (!whole.contains("files") || !whole["files"].is_object() || !is_entry(whole["files"], "model.json") ||
      !is_entry(whole["files"], "weights.safetensors") || !whole.contains("training") || !whole.contains("crc32") ||
      !whole["crc32"].is_string() || whole["crc32"].get_ref<std::string const&>().size() != no_checksum.size())
    wrong("it lacks something that a bundle has");
  auto const& checksum = whole["crc32"].get_ref<std::string const&>();
  auto const place = text.rfind('"' + checksum + '"');
  if (place == std::string::npos) wrong("its checksum is no number");
  text.replace(place + 1, checksum.size(), no_checksum);
  if (hexadecimal(crc32_of(text)) != checksum) refuse("E5031", source.name(), "it is damaged: its checksum differs");
  return whole;
}

/// A list of names in training.json; none if an older release wrote it.
[[nodiscard]] inline std::vector<std::string> names_in(json const& whole, char const* key, std::string const& folder) {
  std::vector<std::string> names;
  auto const found = whole.find(key);
  if (found == whole.end()) return names;
  bool is_list = found->is_array();
  for (auto const& each : *found) is_list = is_list && each.is_string();
  if (!is_list) refuse("E5030", folder + "/training.json", "'" + std::string(key) + "' is no list of names");
  return found->get<std::vector<std::string>>();
}

/// An open folder: its files are read from it even if another folder takes its place meanwhile.
class opened_folder {
 public:
  explicit opened_folder(std::string path) : path_(std::move(path)), opened_(files::open_folder(path_)) {}
  opened_folder(opened_folder const&) = delete;
  opened_folder& operator=(opened_folder const&) = delete;
  ~opened_folder() {
    if (opened_ >= 0) files::close(opened_);
  }

  /// The bytes of a file of the bundle. Throws E5001 with the system's reason if there is no folder.
  [[nodiscard]] byte_source file(char const* name) const {
    auto const path = path_ + "/" + name;
    return opened_ < 0 ? byte_source(path) : byte_source(opened_, name, path);
  }
  /// True if the path now leads to another folder, or to none.
  [[nodiscard]] bool is_replaced() const {
    files::facts own{}, there{};
    if (opened_ < 0) return false;
    if (files::facts_of(path_, there) != 0) return true;
    return files::facts_of(opened_, own) != 0 || own.st_dev != there.st_dev || own.st_ino != there.st_ino;
  }

 private:
  std::string path_;
  int opened_;
};

/// Reads the files of an open folder. Errors as read_contents.
[[nodiscard]] inline bundle_contents read_contents(opened_folder const& from, std::string const& folder) {
  auto const training = from.file("training.json"), model = from.file("model.json"),
             weights = from.file("weights.safetensors");
  auto const whole = read_training_json(training);
  auto const check = [&](byte_source const& source, char const* name) {
    auto const& entry = whole["files"][name];
    if (source.size() != entry["bytes"].get<std::uint64_t>() ||
        hexadecimal(crc32_of(source)) != entry["crc32"].get_ref<std::string const&>())
      refuse("E5031", source.name(), "it is damaged, or of another bundle: its size or checksum differs");
  };
  bundle_contents contents;
  contents.training = whole["training"];
  contents.trainable_weights = names_in(whole, "trainable_weights", folder);
  contents.non_trainable_weights = names_in(whole, "non_trainable_weights", folder);
  check(model, "model.json");
  check(weights, "weights.safetensors");
  contents.model = parse_json(text_of(model), model.name());
  contents.tensors = read_safetensors(weights);
  return contents;
}

/// Reads the files of a bundle. If another process saves to it meanwhile, the result is one of the two bundles, whole.
/// Throws file_error: E5001, E5011 to E5013 as read_safetensors, E5030 it is no bundle, E5031 a file is not the one
/// that was saved.
[[nodiscard]] inline bundle_contents read_contents(std::string const& path) {
  for (int left = 50;; --left) {
    auto const folder = place_of_bundle(path);
    opened_folder const from(folder);
    try {
      return read_contents(from, folder);
    } catch (file_error const&) {
      bool const is_moved = from.is_replaced() || place_of_bundle(path) != folder;
      if (!is_moved || left == 0) throw;
    }
  }
}

}  // namespace stagecraft::io
