// SPDX-License-Identifier: BSD-3-Clause
// What `export_for_ipu_serving` of a model takes. What it does is in serving/, which nothing here reads.
#pragma once

#include <string>
#include <vector>

namespace stagecraft {

/// Graphcore's arguments of `export_for_ipu_serving`, and how the application is compiled.
struct export_options {
  /// Samples of a batch. 0: what the model's inputs say; if they do not, E5092.
  int batch_size = 0;
  /// Sizes of batches, TensorFlow Serving's allowed_batch_sizes: up to 16, increasing to the batch size (E5148), of a
  /// model without stages. A batch has the least of them that holds the samples that wait; each is a predictor of its
  /// own. None: the batch size alone.
  std::vector<int> allowed_batch_sizes = {};
  /// Names of the outputs; none: "output_0", "output_1" and so on. Another number than the outputs', and equal
  /// ones, are E5093.
  std::vector<std::string> output_names = {};
  /// A C++ header with the steps below, which is copied to the folder.
  std::string processing_header = {};
  /// The type of a step before the model, whose signature it has itself: serving::application_options.
  std::string preprocessing_step = {};
  /// The type of a step after the model.
  std::string postprocessing_step = {};
  /// Whether what is in the folder is removed first. Else a folder that is not empty is an error (E5091).
  bool purge_export_dir = false;
  /// Options of the program `stagecraft compile`, such as "--march", "x86-64-v3".
  std::vector<std::string> compile_arguments = {};
  /// The program `stagecraft` itself; empty: what the environment's STAGECRAFT_TOOL says, or where PATH has it.
  std::string tool = {};
};

}  // namespace stagecraft
