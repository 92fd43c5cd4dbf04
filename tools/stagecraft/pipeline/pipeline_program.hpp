// SPDX-License-Identifier: BSD-3-Clause
// Writes, compiles and runs a program that asks the library for a model's stages and their costs.
#pragma once

#include "pipeline/pipeline_search.hpp"

#include <string>

namespace stagecraft::tool {

/// A question to the program that plans pipelines.
struct pipeline_question {
  pipeline_configuration const& configuration;
  std::string solution = {};        ///< the text of a solution file; empty: stages are searched
  int num_ipus = 2;                 ///< number of IPUs; if stages are searched, each has one
  int iterations = 2;               ///< batches of an execution
  std::string profile_folder = {};  ///< folder for profiles; empty: none are written
};

/// The program's answer.
struct pipeline_answer {
  std::string problem;      ///< the error of the stages, with its code; empty: there is none
  std::string memory;       ///< a sentence about memory that does not fit; empty: all fits, or there is no profile
  std::string solution;     ///< the text of a solution file
  io::json config;          ///< keys of the model's configuration
  std::string description;  ///< the profile as text
};

/// Asks the question. Throws file_error: E5001, E5030 files that cannot be read; E5094 the compiler fails for another
/// reason than the stages.
[[nodiscard]] pipeline_answer ask_library(pipeline_job const& job, pipeline_question const& question);

}  // namespace stagecraft::tool
