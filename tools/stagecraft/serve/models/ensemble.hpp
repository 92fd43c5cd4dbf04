// SPDX-License-Identifier: BSD-3-Clause
// A model that is a list of calls of others: Triton's ensemble.
#pragma once

#include "serve/models/model_config.hpp"

#include <stagecraft/serving/servable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// One version of an ensemble. It does not change, so that any thread may call any function.
class ensemble {
 public:
  using tensors = std::vector<std::vector<float>>;
  /// The description of the model of a step, as callers see it now.
  using describe_function = std::function<serving::servable_description(ensemble_step const&)>;
  /// Carries out a step: describes its model, and calls it with the inputs that `inputs_of` returns for that
  /// description, in its order; returns the outputs in its order.
  using gather_function = std::function<tensors(serving::servable_description const&)>;
  struct step_result {
    serving::servable_description of;
    tensors outputs;
  };
  using call_function = std::function<step_result(ensemble_step const&, gather_function const& inputs_of)>;

  /// Throws file_error E5303 if the steps, with the models that are there now, do not make the outputs from the inputs;
  /// what `describe` throws.
  ensemble(std::string name, model_config const& config, describe_function const& describe);

  [[nodiscard]] serving::servable_description const& description() const noexcept { return known_; }
  /// In the order in which they are carried out.
  [[nodiscard]] std::vector<ensemble_step> const& steps() const noexcept { return steps_; }

  /// The outputs for `samples` samples. Throws http_error 500 if a model has other inputs or outputs than when the
  /// ensemble was loaded, and what `call` throws.
  [[nodiscard]] tensors run(tensors inputs, std::int64_t samples, call_function const& call) const;

 private:
  serving::servable_description known_;
  std::vector<ensemble_step> steps_;
  std::map<std::string, std::vector<std::int64_t>> shapes_;  ///< shape of a sample of each tensor
  std::map<std::string, std::size_t> last_use_;              ///< the last step that reads a tensor
};

}  // namespace stagecraft::tool
