// SPDX-License-Identifier: BSD-3-Clause
// Finds the stages of an exported model by a pipeline configuration, for `convert --pipeline_cfg`.
#pragma once

#include "applications/application_source.hpp"
#include "applications/cxx_compiler.hpp"
#include "pipeline/pipeline_configuration.hpp"
#include "pipeline/pipeline_solution.hpp"

#include <string>

namespace stagecraft::tool {

/// A model that is to be divided.
struct pipeline_job {
  std::string folder;           ///< folder of the exported model, with model.json and application.json
  application_machine machine;  ///< the machine; its number of IPUs comes from the solution
  int batch_per_step = 1;       ///< batches for each stage in one execution
  cxx_compiler compiler = {};   ///< compiles the program that computes costs
};

/// Finds the stages, writes the solution file and the profile that the configuration asks for, and prints their names;
/// then sets the stages in the folder's model.json, and the iterations, batch_per_step times the number of stages, in
/// its application.json. Costs are those of the library: a program that asks for them is compiled and run, which takes
/// some seconds, and half a minute for a ResNet-50.
///
/// Throws file_error: E5001, E5030 files that cannot be read; E5094 the compiler has failed; E5177 a layer that no
/// expression matches, or those of two stages; E5178 an expression that matches no layer, or a stage without layers;
/// E5179 a solution that is none of this model; E5180 other IPUs than emulated ones; E5181 no number of IPUs for which
/// the model has parts and memory suffices.
pipeline_solution find_pipeline(pipeline_configuration const& configuration, pipeline_job const& job);

}  // namespace stagecraft::tool
