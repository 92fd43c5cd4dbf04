// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow's graphs of objects: layers, their parts, and variables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// An object of saved_model.pb, or of a checkpoint. The first one is the model.
struct graph_object {
  std::vector<std::pair<std::string, int>> children;  ///< names of its attributes, and the numbers of the objects
  std::string metadata;                               ///< Keras's description of a layer, before 2.5
  std::string key;        ///< name of a variable in the checkpoint; empty: the object is no variable
  std::string full_name;  ///< the variable's name, "dense/kernel"

  /// The object of an attribute; -1 if there is none.
  [[nodiscard]] int child(std::string_view name) const;
};
using object_graph = std::vector<graph_object>;

/// The graph in saved_model.pb. Throws file_error E5102.
[[nodiscard]] object_graph parse_saved_objects(std::string_view bytes, std::string const& file);
/// The graph in a checkpoint. Throws file_error E5102.
[[nodiscard]] object_graph parse_checkpoint_objects(std::string_view bytes, std::string const& file);
/// Keras's description of each layer: the number of an object of saved_model.pb, and JSON. Throws file_error E5102.
[[nodiscard]] std::vector<std::pair<int, std::string>> parse_keras_metadata(std::string_view bytes,
                                                                            std::string const& file);

}  // namespace stagecraft::tool
