// SPDX-License-Identifier: BSD-3-Clause
// A layer of an imported model: its C++, and what follows from its options: the shape of its output, its weights.
#pragma once

#include "source/source_text.hpp"

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/graph/shape.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::tool {

using nlohmann::json;

/// Thrown for options that the library lacks, and for other reasons why a layer cannot be written. The caller adds the
/// layer's name.
struct unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A value in C++. Whole numbers and floats may become parameters of a function that stands for repeated layers.
struct literal {
  enum class kinds : unsigned char { fixed, integer, real };

  kinds kind = kinds::fixed;
  source_text text;

  friend bool operator==(literal const&, literal const&) = default;
};

/// An option in a layer's braces: `.strides = 2`, or one of the arguments in front of them, without a name.
struct written_option {
  own_text name;
  literal value;
  bool is_default = false;  ///< true: it is not written, unless like layers have another value
};

/// A weight: its name within the layer, such as "kernel" or "forward_lstm/bias", and its shape.
struct expected_weight {
  std::string name;
  std::vector<std::int64_t> shape;
  bool trainable = true;
};

/// Output shape and weights of a layer for given input shapes.
struct layer_rules {
  stagecraft::shape output;
  std::vector<expected_weight> weights;
  std::vector<stagecraft::shape> parts{};  ///< shapes of several outputs; empty for one, which is `output`
};

/// A layer of any class.
class source_layer {
 public:
  virtual ~source_layer() = default;
  /// Returns output shape and weights for inputs of these shapes. Throws unsupported with the library's error.
  [[nodiscard]] virtual layer_rules rules(std::span<shape const> inputs, std::string const& name) const = 0;
  /// Called once with the rules of the first call, before the layer is written.
  virtual void learn(layer_rules const&) {}

  own_text word = "";                      ///< "conv2d"
  std::string default_name;                ///< Keras's base of default names: "conv2d" for "conv2d_1"
  std::vector<std::string> wrapped_names;  ///< bases of default names of the layers inside it
  std::vector<written_option> arguments;   ///< arguments before the braces
  std::vector<written_option> options;     ///< options in braces
  std::optional<stagecraft::dtype> dtype;  ///< a type of its own, such as float16
  bool is_on_host = false;                 ///< true: the host carries it out beside IPUs
  /// The `call` of a layer that the library does not have; its type is written before the model. Others have none.
  source_text own_call = {};
  source_text own_name = {};  ///< what that type should be called: "difference_square_root"
};

/// Returns the calls that follow a layer's braces: `.in_dtype(sc::dtype::float16).on_host()`, or nothing.
[[nodiscard]] source_text placement_text(source_layer const& layer);

/// The C++ of a layer of the library without its name: `conv2d{64, 3, sc::relu, {.strides = 2}}`.
[[nodiscard]] source_text text_of(source_layer const& layer);

/// The part of a model's configuration that a layer is made from.
struct layer_config {
  std::string class_name;
  json const& options;          ///< Keras's "config"
  int rank = 0;                 ///< axes of the first input, with the batch; 0: unknown
  json call_options = nullptr;  ///< keyword arguments of its calls, such as use_causal_mask
};

/// Makes the layer of a configuration. Throws unsupported if the library lacks the layer or one of its options.
[[nodiscard]] std::unique_ptr<source_layer> make_layer(layer_config const& config);

/// A layer of this class that is called with masks, the last `masks` of its tensors. `go_on`: its output has the
/// mask. Throws unsupported for layers that take none.
[[nodiscard]] std::unique_ptr<source_layer> masked_layer(std::unique_ptr<source_layer> layer,
                                                         std::string const& class_name, json const& masks, bool go_on);

/// The C++ names of layers, and Keras's names of their classes in the same spelling.
[[nodiscard]] std::vector<std::string> known_words();

/// The library's type with a name of Keras's; none if there is no such type.
[[nodiscard]] std::optional<stagecraft::dtype> dtype_named(std::string_view name);
/// The C++ of a type: `sc::dtype::float16`.
[[nodiscard]] source_text dtype_text(stagecraft::dtype type);

}  // namespace stagecraft::tool
