// SPDX-License-Identifier: BSD-3-Clause
// Models that Keras 2 has saved in TensorFlow's format: a folder with keras_metadata.pb, which has the configurations,
// saved_model.pb, whose graph of objects leads from layers to their variables, and a checkpoint of the variables.
// Sources: tensorflow/core/protobuf/saved_model.proto, saved_object_graph.proto, trackable_object_graph.proto,
// keras/protobuf/saved_metadata.proto.
#pragma once

#include "source/source_model.hpp"
#include "tensor_bundle.hpp"

#include <string>
#include <string_view>

namespace stagecraft::tool {

/// The files that a model is read from.
struct saved_model_files {
  std::string name;         ///< name of the folder in errors
  std::string saved_model;  ///< the bytes of saved_model.pb
  std::string metadata;     ///< bytes of keras_metadata.pb; empty: releases before 2.5 had it in saved_model.pb
  bundle_files variables;
};

/// True if a folder has such a model.
[[nodiscard]] bool is_saved_model(std::string const& folder);

/// The model of a folder: Keras's layers, or the graph of a signature if there are none, or if a signature is named.
/// Throws the errors of read_config and read_saved_graph, and file_error E5001 if a file cannot be read, E5065 for
/// weights that are missing or of other shapes, E5100 and E5101 as tensor_bundle, E5102 for a damaged model of Keras's.
[[nodiscard]] source_model read_saved_model(std::string const& folder, import_options const& options);
[[nodiscard]] source_model read_saved_model(saved_model_files files, import_options const& options);

}  // namespace stagecraft::tool
