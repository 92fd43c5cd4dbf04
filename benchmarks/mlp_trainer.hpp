// SPDX-License-Identifier: BSD-3-Clause
// The same perceptron as a stagecraft model: what a user writes, and the steps that `fit` runs for each batch, with the
// copy of the samples and the accuracy.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <algorithm>
#include <cstdint>

#include "mlp_eigen.hpp"

namespace stagecraft::benchmarks {

using mlp = sequential<layers::input{mlp_inputs}, layers::dense{mlp_first, relu}, layers::dense{mlp_second, relu},
                       layers::dense{mlp_classes}>;

template <int Batch, auto Optimizer>
class mlp_trainer {
 public:
  mlp_trainer() { std::fill_n(model_.session().scale(0), Batch, 1.0F / Batch); }

  /// One step on Batch x 784 floats and their labels. Gives the mean loss before it.
  float train_on_batch(float const* pixels, std::int32_t const* labels) {
    auto& session = model_.session();
    std::copy_n(pixels, Batch * mlp_inputs, session.input(0));
    std::copy_n(labels, Batch, session.template target<0>());
    session.train_step([&] { results_.add(session, Batch, true); });
    return session.total_loss();
  }

 private:
  static constexpr auto description = training{.loss = losses::sparse_categorical_crossentropy{.from_logits = true},
                                               .optimizer = Optimizer,
                                               .metrics = metrics::accuracy{},
                                               .batch_size = Batch};
  using model_type = trainer<mlp, description, host<>>;

  model_type model_;
  typename model_type::results results_;
};

}  // namespace stagecraft::benchmarks
