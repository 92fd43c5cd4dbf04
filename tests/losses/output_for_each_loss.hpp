// SPDX-License-Identifier: BSD-3-Clause
// A model that has an output for each loss, some with another reduction or along another axis: that of
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
    auto const rows = [&](char const* name) {
      return stagecraft::layers::reshape(3, 4)(stagecraft::layers::dense(12, {.name = name})(x));
    };
    return stagecraft::outputs(
        head("mean_absolute_percentage_error"), head("mean_squared_logarithmic_error"), head("log_cosh"),
        head("poisson", stagecraft::softplus), head("kl_divergence"), head("hinge"), head("squared_hinge"),
        head("categorical_hinge"), head("cosine_similarity"), head("mean_squared_error_sum"),
        head("categorical_crossentropy_sum"), head("mean_squared_error"), head("mean_absolute_error"), head("huber"),
        head("binary_crossentropy"), head("categorical_crossentropy"), head("sparse_categorical_crossentropy"),
        rows("categorical_crossentropy_axis"), rows("binary_crossentropy_axis"), rows("cosine_similarity_axis"),
        rows("sparse_categorical_crossentropy_axis"));
  }
};

inline constexpr auto loss_for_each_output = [] {
  using namespace stagecraft::losses;
  return stagecraft::training{
      .optimizer = stagecraft::optimizers::sgd{.learning_rate = 0.05F},
      .loss = per_output(
          mean_absolute_percentage_error{}, mean_squared_logarithmic_error{}, log_cosh{}, poisson{}, kl_divergence{},
          hinge{}, squared_hinge{}, categorical_hinge{}, cosine_similarity{},
          mean_squared_error{.reduction = reduction::sum},
          categorical_crossentropy{.from_logits = true, .reduction = reduction::sum}, mean_squared_error{},
          mean_absolute_error{}, huber{.delta = 0.5F}, binary_crossentropy{.from_logits = true},
          categorical_crossentropy{.from_logits = true, .label_smoothing = 0.1F},
          sparse_categorical_crossentropy{.from_logits = true},
          categorical_crossentropy{.from_logits = true, .axis = 1}, binary_crossentropy{.from_logits = true, .axis = 1},
          cosine_similarity{.axis = 1, .reduction = reduction::sum},
          sparse_categorical_crossentropy{.from_logits = true, .axis = 1}),
      .loss_weights = {0.01, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      .batch_size = 4};
}();

}  // namespace laws
