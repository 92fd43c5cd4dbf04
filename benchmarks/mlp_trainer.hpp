// SPDX-License-Identifier: BSD-3-Clause
// The perceptron as a stagecraft model: what a user writes.
#pragma once

#include <stagecraft/pipeline.hpp>

#include "mlp_network.hpp"
#include "trainer_steps.hpp"

namespace stagecraft::benchmarks {

using mlp = sequential<layers::input{mlp_inputs}, layers::dense{mlp_first, relu}, layers::dense{mlp_second, relu},
                       layers::dense{mlp_classes}>;

template <int Batch, auto Optimizer>
inline constexpr auto mlp_training = training{.optimizer = Optimizer,
                                              .loss = losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = metrics::accuracy{},
                                              .batch_size = Batch};

template <int Batch, auto Optimizer, int Threads = 1>
using mlp_trainer = trainer_steps<mlp, mlp_training<Batch, Optimizer>, host<Threads>>;

}  // namespace stagecraft::benchmarks
