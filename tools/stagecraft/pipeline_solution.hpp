// SPDX-License-Identifier: BSD-3-Clause
// Which layer of a model is in which pipeline stage, and which stage on which IPU: the solution file of Graphcore's
// ipu_saved_model_cli.
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
  /// The IPUs that it needs: one more than the highest, rounded up to a power of two.
  [[nodiscard]] int num_ipus() const;
};

/// Reads a solution file, in which `device_maping` is `device_mapping`. Throws file_error: E5001 it cannot be read;
/// E5179 it is no such file.
[[nodiscard]] pipeline_solution read_pipeline_solution(std::string const& path);

/// Writes a solution file, and beside it `<path>.inc`, the same as a C++ string literal, for
/// `sc::pipelined<model, sc::solution_file<text>>`. Folders are made. Throws file_error if that cannot be.
void write_pipeline_solution(pipeline_solution const& solution, std::string const& path);

/// Sets the stages of an exported model: in the folder's model.json. Throws file_error: E5001, E5030 files that cannot
/// be read; E5179 the solution names layers that the model does not have, leaves one out, or is not in the order in
/// which the layers need each other.
void apply_pipeline_solution(pipeline_solution const& solution, std::string const& folder);

}  // namespace stagecraft::tool
