// SPDX-License-Identifier: BSD-3-Clause
// Graphcore's converters, as changes of a model: each does nothing unless an option asks for it.
#pragma once

#include "commands/convert_options.hpp"
#include "pipeline/pipeline_solution.hpp"
#include "source/source_model.hpp"

#include <string>

namespace stagecraft::tool {

/// Applies converters to a model, in Graphcore's order: one function after the other. `where` is named in errors.
/// Expressions are searched for in the names of layers, "encoder/dense" in a nested model; those that are found nowhere
/// are told on the error stream.
class model_converters {
 public:
  model_converters(source_model& model, convert_options const& options, std::string where)
      : model_(model), options_(options), where_(std::move(where)) {}

  /// The layers of a GELU become one; where there are none, nothing changes. Throws file_error E5143: they are not
  /// between one tensor and those that read one of them.
  void replace_gelu();
  /// Excluded layers stay on the host, or are removed. Throws file_error: E5140 a layer on the host between others on
  /// IPUs; E5142 a layer that cannot be removed.
  void place_on_ipus();
  /// Throws file_error E5147: there are inputs of int64, and they are not to be converted.
  void convert_int64();
  /// The types of layers. Throws file_error E5205: a weight is beyond float16.
  void convert_precision();
  /// The IPU of each layer, in stages that follow each other. Throws file_error E5136: nothing is on IPUs.
  [[nodiscard]] pipeline_solution shard() const;

 private:
  source_model& model_;
  convert_options const& options_;
  std::string where_;
};

}  // namespace stagecraft::tool
