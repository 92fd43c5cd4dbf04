// SPDX-License-Identifier: BSD-3-Clause
// The small convolutional network as a stagecraft model: what a user writes.
#pragma once

#include <stagecraft/pipeline.hpp>

#include "cnn_network.hpp"
#include "trainer_steps.hpp"

namespace stagecraft::benchmarks {

using cnn = sequential<layers::input{cnn_side, cnn_side, 1}, layers::conv2d{cnn_first, 3, relu},
                       layers::conv2d{cnn_second, 3, relu}, layers::max_pooling2d{}, layers::flatten{},
                       layers::dense{cnn_units, relu}, layers::dense{cnn_classes}>;

template <int Batch, auto Optimizer>
inline constexpr auto cnn_training = training{.optimizer = Optimizer,
                                              .loss = losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = metrics::accuracy{},
                                              .batch_size = Batch};

template <int Batch, auto Optimizer, int Threads = 1>
using cnn_trainer = trainer_steps<cnn, cnn_training<Batch, Optimizer>, host<Threads>>;

}  // namespace stagecraft::benchmarks
