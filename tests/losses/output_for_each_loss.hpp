// SPDX-License-Identifier: BSD-3-Clause
// A model that has an output for each loss that is a `call` and nothing else, and two with another reduction: that of
// losses_training.txt.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

namespace laws {

struct output_for_each_loss : stagecraft::functional<output_for_each_loss> {
  static constexpr auto build(auto& model) {
    auto x = model.input(6);
    auto const head = [&](char const* name, stagecraft::activation f = stagecraft::linear) {
      return stagecraft::layers::dense(4, f, {.name = name})(x);
    };
    return stagecraft::outputs(head("mean_absolute_percentage_error"), head("mean_squared_logarithmic_error"),
                               head("log_cosh"), head("poisson", stagecraft::softplus), head("kl_divergence"),
                               head("hinge"), head("squared_hinge"), head("categorical_hinge"),
                               head("cosine_similarity"), head("mean_squared_error_sum"),
                               head("categorical_crossentropy_sum"));
  }
};

inline constexpr auto loss_for_each_output = [] {
  using namespace stagecraft::losses;
  return stagecraft::training{
      .optimizer = stagecraft::optimizers::sgd{.learning_rate = 0.05F},
      .loss = per_output(mean_absolute_percentage_error{}, mean_squared_logarithmic_error{}, log_cosh{}, poisson{},
                         kl_divergence{}, hinge{}, squared_hinge{}, categorical_hinge{}, cosine_similarity{},
                         mean_squared_error{.reduction = reduction::sum},
                         categorical_crossentropy{.from_logits = true, .reduction = reduction::sum}),
      .loss_weights = {0.01, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      .batch_size = 4};
}();

}  // namespace laws
