// SPDX-License-Identifier: BSD-3-Clause
// The options of a model's `export_for_ipu_serving`, which is in serving/; nothing here includes that room.
#pragma once

#include <string>
#include <vector>

namespace stagecraft {

/// Graphcore's arguments of `export_for_ipu_serving`, and how the application is compiled.
struct export_options {
  /// Samples of a batch. 0: the batch size of the model's inputs; E5092 if they have none.
  int batch_size = 0;
  /// Sizes of batches, TensorFlow Serving's allowed_batch_sizes: up to 16, increasing to the batch size (E5148), of a
  /// model without stages. A batch has the least of them that holds the samples that wait; each is a predictor of its
  /// own. None: the batch size alone.
  std::vector<int> allowed_batch_sizes = {};
  /// Names of the outputs; none: "output_0", "output_1" and so on. E5093 for another number of names, and for equal
  /// names.
  std::vector<std::string> output_names = {};
  /// A C++ header with the steps below, which is copied to the folder.
  std::string processing_header = {};
  /// The type of a step before the model, which has its own signature: see serving::application_options.
  std::string preprocessing_step = {};
  /// The type of a step after the model.
  std::string postprocessing_step = {};
  /// True: the content of the folder is removed first. False: a folder that is not empty is an error (E5091).
  bool purge_export_dir = false;
  /// Options of the program `stagecraft compile`, such as "--march", "x86-64-v3".
  std::vector<std::string> compile_arguments = {};
  /// The path of the program `stagecraft`; empty: the environment's STAGECRAFT_TOOL, or the program that PATH finds.
  std::string tool = {};
};

}  // namespace stagecraft
