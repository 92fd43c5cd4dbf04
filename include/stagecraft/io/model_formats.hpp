// SPDX-License-Identifier: BSD-3-Clause
// Formats of files with whole models, besides the library's own folders. The ending of a file's name decides its
// format.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/kept_training.hpp>
#include <string>
#include <string_view>

namespace stagecraft::io {

/// A format of files that hold a whole model.
struct model_format {
  std::string_view ending;
  void (*write)(std::string const& path, bundle_contents const& contents) = nullptr;
  /// Reads the file for a trainer's `load`; null: only weights are read from files of this format.
  kept_training (*read)(std::string const& path) = nullptr;
  model_format const* next = nullptr;
};

/// The list of formats that other headers add before main, the last one first.
inline constinit model_format const* added_model_formats = nullptr;

/// The format of a path, by its ending; null: a folder of the library's own. Throws file_error E5042 for a format whose
/// header is not included, or that programs cannot write.
[[nodiscard]] inline model_format const* model_format_of(std::string const& path) {
  for (auto const* format = added_model_formats; format != nullptr; format = format->next)
    if (path.ends_with(format->ending)) return format;
  for (std::string_view const ending : {".h5", ".hdf5", ".keras"})
    if (path.ends_with(ending))
      refuse("E5042", path,
             "a program writes files of this format if it has #include <stagecraft/io/keras_files.hpp> (CMake: "
             "stagecraft::hdf5)");
  for (std::string_view const ending : {".onnx", "model.json"})
    if (path.ends_with(ending))
      refuse("E5042", path,
             "a program saves folders, of which the tool makes this format: stagecraft export <folder> --to " + path);
  for (std::string_view const ending : {".safetensors", ".npz"})
    if (path.ends_with(ending)) refuse("E5042", path, "has weights alone, which save_weights writes");
  return nullptr;
}

}  // namespace stagecraft::io
