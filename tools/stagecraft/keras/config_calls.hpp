// SPDX-License-Identifier: BSD-3-Clause
// The calls of layers in the configuration of a functional model: lists in Keras 2, objects in Keras 3.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stagecraft::tool {

using nlohmann::json;

/// The origin of a tensor: a layer's name, and the numbers of its call and output.
struct history {
  std::string layer;
  int node = 0, output = 0;
};

/// The option of a call that says how many of its tensors, the last ones, are masks.
inline constexpr char const* masks_key = "masks of this call";
/// Set if the layers after the call see these masks, too, though the file does not say so: in Keras 2.
inline constexpr char const* masks_go_on_key = "masks go on";

/// A call in a configuration.
struct config_call {
  int layer = 0;
  std::vector<history> inputs;
  json options = json::object();
  /// Arguments of an operation on tensors, in which {"tensor of this call": i} stands for the input with that number.
  json positional{}, named{};
  std::vector<json> shapes{};  ///< shapes and types of the inputs, as far as the file has them
};

/// Reads calls. Throws file_error E5063 for calls of an unknown form.
class config_calls {
 public:
  explicit config_calls(std::string const& file) : file_(file) {}

  /// Reads one call of a layer.
  [[nodiscard]] config_call read_node(json const& node, int layer, std::string const& name) const;
  /// Reads one call of an operation on tensors, whose configuration gives further arguments.
  [[nodiscard]] config_call read_operator(json const& node, int layer, std::string const& name, json named) const;
  /// Reads a list of tensors, [["x", 0, 0], ...], or one tensor, ["x", 0, 0].
  [[nodiscard]] std::vector<history> read_ends(json const& content, char const* key, std::string const& model) const;

 private:
  [[noreturn]] void wrong(std::string const& what) const;

  std::string const& file_;
};

}  // namespace stagecraft::tool
