// SPDX-License-Identifier: BSD-3-Clause
// Formats of files of weights. The ending of a file's name decides its format.
#pragma once

#include <stagecraft/io/detail/bundle_folder.hpp>
#include <stagecraft/io/detail/system_files.hpp>
#include <stagecraft/io/npz.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <string>
#include <string_view>

namespace stagecraft::io {

/// A format of files of tensors. `write` is null if there is only a reader.
struct weight_format {
  std::string_view ending;
  tensor_file (*read)(std::string const& path) = nullptr;
  void (*write)(std::string const& path, tensor_file const& file) = nullptr;
  weight_format const* next = nullptr;
};

/// The list of formats that other headers add before main, the last one first.
inline constinit weight_format const* added_formats = nullptr;

[[nodiscard]] inline tensor_file read_npz_weights(std::string const& path) { return stagecraft::read_npz(path); }

inline constexpr weight_format npz_format{".npz", &read_npz_weights, &stagecraft::write_npz};
inline constexpr weight_format safetensors_format{".safetensors", &stagecraft::read_safetensors,
                                                  &stagecraft::write_safetensors, &npz_format};

/// The format of a file by its name. Throws file_error E5042 for another ending.
[[nodiscard]] inline weight_format const& format_of(std::string const& path) {
  std::string endings;
  for (auto const* list : {added_formats, &safetensors_format})
    for (auto const* format = list; format != nullptr; format = format->next) {
      if (path.ends_with(format->ending)) return *format;
      endings += (endings.empty() ? "" : ", ") + std::string(format->ending);
    }
  refuse("E5042", path, "expected a name that ends in one of: " + endings);
}

[[nodiscard]] inline bool is_folder(std::string const& path) {
  files::facts facts{};
  return files::facts_of(path, facts) == 0 && files::is_folder(facts);
}

/// The file of weights in a bundle, which is a folder.
inline constexpr char const* weights_of_bundle = "/weights.safetensors";
/// The key of a text beside the weights in a bundle. It lists the beginnings of the names of tensors that are no
/// weights.
inline constexpr char const* bundle_metadata = "stagecraft_bundle";
inline constexpr std::string_view optimizer_prefix = "optimizer_weights/", counter_prefix = "counters/";

/// The weights of a file, or of a bundle.
[[nodiscard]] inline tensor_file read_weights(std::string const& path) {
  auto const place = place_of_bundle(path);
  auto const file_path = is_folder(place) ? place + weights_of_bundle : path;
  auto file = format_of(file_path).read(file_path);
  if (file.find_metadata(bundle_metadata) != nullptr)
    std::erase_if(file.tensors, [](stored_tensor const& tensor) {
      return tensor.name.starts_with(optimizer_prefix) || tensor.name.starts_with(counter_prefix);
    });
  return file;
}

}  // namespace stagecraft::io
