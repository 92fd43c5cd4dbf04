// SPDX-License-Identifier: BSD-3-Clause
// Keras's files of whole models: .h5 of Keras 2, and the .keras archives.
#include "source_model.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/zip_archive.hpp>
#include <algorithm>

namespace stagecraft::tool {

namespace {

json parse(std::string_view text, std::string const& file, std::string const& place) {
  try {
    return json::parse(text);
  } catch (json::exception const& why) {
    throw file_error("E5063", file + ": " + place + " is no JSON: " + why.what());
  }
}

source_model read_h5(std::string const& path, import_options const& options) {
  hdf5_file const file(path);
  auto const config = file.text("/", "model_config");
  if (!config)
    throw file_error("E5062", path + ": has no model, " +
                                  (file.texts("/", "layer_names").empty()
                                       ? "only arrays"
                                       : "only the weights of one: write it with model.save, not save_weights"));
  auto model = read_config(parse(*config, path, "attribute 'model_config'"), path, options);
  read_h5_weights(file, model);
  return model;
}

source_model read_keras(std::string const& path, import_options const& options) {
  io::byte_source const source(path);
  io::zip_reader const archive(source);
  auto const member = [&](std::string_view name) {
    for (auto const& each : archive.members())
      if (each.name == name) return archive.read(each);
    throw file_error("E5062", path + ": has no model, since it has no member '" + std::string(name) + "'");
  };
  auto const config = member("config.json");
  auto model =
      read_config(parse({reinterpret_cast<char const*>(config.data()), config.size()}, path, "member 'config.json'"),
                  path, options);
  read_keras_weights(hdf5_file(member("model.weights.h5"), path + " (model.weights.h5)"), model);
  return model;
}

}  // namespace

source_model read_model(std::string const& path, import_options const& options) {
  auto const ends_with = [&](std::string_view ending) { return path.ends_with(ending); };
  if (ends_with(".keras")) return read_keras(path, options);
  if (ends_with(".h5") || ends_with(".hdf5")) return read_h5(path, options);
  if (ends_with(".onnx")) return read_onnx(path, options);
  throw file_error("E5042", path + ": the name must end in .h5, .hdf5, .keras or .onnx");
}

}  // namespace stagecraft::tool
