// SPDX-License-Identifier: BSD-3-Clause
// Graphcore's converters, as changes of a model: each does nothing unless an option asks for it.
#pragma once

#include "commands/convert_options.hpp"
#include "pipeline/pipeline_solution.hpp"
#include "source/source_model.hpp"

#include <string>

namespace stagecraft::tool {

/// Applies converters to a model, in Graphcore's order: one function after the other. `where` is named in errors.
/// Expressions are searched for in the names of layers, "encoder/dense" in a nested model; expressions that match
/// nothing are reported on the error stream.
class model_converters {
 public:
  model_converters(source_model& model, convert_options const& options, std::string where)
      : model_(model), options_(options), where_(std::move(where)) {}

  /// Replaces the layers of each GELU by one layer; without any, nothing changes. Throws file_error E5143 if they do
  /// not read one tensor and pass on one.
  void replace_gelu();
  /// Leaves excluded layers on the host, or removes them. Throws file_error: E5140 a layer on the host between others
  /// on IPUs; E5142 a layer that cannot be removed.
  void place_on_ipus();
  /// Converts inputs of int64. Throws file_error E5147 if there are some and the option is off.
  void convert_int64();
  /// Sets the types of layers. Throws file_error E5205 for a weight beyond float16.
  void convert_precision();
  /// Finds the IPU of each layer, in stages that follow each other. Throws file_error E5136 if no layer is on IPUs.
  [[nodiscard]] pipeline_solution shard() const;

 private:
  source_model& model_;
  convert_options const& options_;
  std::string where_;
};

}  // namespace stagecraft::tool
