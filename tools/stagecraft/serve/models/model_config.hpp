// SPDX-License-Identifier: BSD-3-Clause
// A model's `config.pbtxt`, Triton's file, as far as it says what an application does not: sequences, instances, inputs
// of bytes, and ensembles.
#pragma once

#include "serve/models/sequence_batcher.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// A step of an ensemble: a call of another model.
struct ensemble_step {
  std::string model;
  std::int64_t version = 0;                    ///< 0: the highest one
  std::map<std::string, std::string> inputs;   ///< from the model's names to the ensemble's
  std::map<std::string, std::string> outputs;  ///< from the model's names to the ensemble's
};

/// A model that is a list of calls of others.
struct ensemble_settings {
  struct tensor {
    std::string name;
    bool is_bytes = false;                           ///< TYPE_STRING
    std::optional<std::vector<std::int64_t>> shape;  ///< `dims`, -1 for any length; none: it is not said
  };
  std::vector<tensor> inputs, outputs;
  std::vector<ensemble_step> steps;
};

/// Copies of a model's program, and where they run.
struct instance_group {
  int count = 1;
  std::string policy = "cpu";  ///< the name of a --host_policy, which need not be there if nobody names it
  bool is_named = false;
};

struct model_config {
  std::optional<sequence_settings> sequences;
  std::optional<ensemble_settings> ensemble;
  std::vector<instance_group> groups;  ///< empty: one copy
  std::set<std::string> bytes;         ///< inputs of type TYPE_STRING
  int max_batch_size = 0;              ///< an ensemble's; 0: that of its models
};

/// Reads the `config.pbtxt` of a model's folder, and prints what has no effect; empty if there is no such file. Throws
/// file_error E5283: it is not as Triton's, or asks for what is not here; E5096: it cannot be read.
[[nodiscard]] model_config read_model_config(std::string const& folder);

/// True if a model's folder has a `config.pbtxt` with an ensemble, whose versions are folders without an application.
[[nodiscard]] bool has_ensemble(std::string const& folder);

}  // namespace stagecraft::tool
