// SPDX-License-Identifier: BSD-3-Clause
// The pipeline stage of each layer, and the IPU of each stage: the solution file of Graphcore's ipu_saved_model_cli.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// Names are those of layers, `outer/inner` in nested models. A layer with calls in several stages has an entry for
/// each of the later calls, `name[1]`.
struct pipeline_solution {
  std::vector<int> device_mapping;                            ///< the IPU of each stage
  std::vector<std::pair<std::string, int>> pipeline_mapping;  ///< each name with its stage

  [[nodiscard]] int stages() const { return static_cast<int>(device_mapping.size()); }
  /// The number of IPUs that it needs: one more than the highest, rounded up to a power of two.
  [[nodiscard]] int num_ipus() const;
};

/// A solution from the text of a solution file, in which `device_maping` is `device_mapping`, and stages without it are
/// on IPUs of their own. `where` is named in errors. Throws file_error E5179 for any other text.
[[nodiscard]] pipeline_solution parse_pipeline_solution(std::string const& text, std::string const& where);

/// Reads a solution from a file. Throws file_error E5001 if it cannot be read, and the errors above.
[[nodiscard]] pipeline_solution read_pipeline_solution(std::string const& path);

/// Writes the text of a solution file, and beside it `<path>.inc`, the same as a C++ string literal, for
/// `sc::pipelined<model, sc::pipeline::solution_file<text>>`. Missing folders are made. Throws file_error E5041 if a
/// file or folder cannot be written.
void write_pipeline_solution(std::string const& text, std::string const& path);

}  // namespace stagecraft::tool
