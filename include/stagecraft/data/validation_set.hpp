// SPDX-License-Identifier: BSD-3-Clause
// What a training on a dataset is validated with. Keras counterpart: `validation_data` of Model.fit.
#pragma once

#include <stagecraft/data/streamed_batches.hpp>
#include <stagecraft/training/data/labelled_samples.hpp>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace stagecraft::data {

/// `.validation_data = test`, where test is a dataset, or anything that `validation_data` of arrays takes.
struct validation_set {
  trainers::labelled_samples samples;  ///< if they are in memory
  /// Else opens the dataset for batches of this size.
  std::function<std::unique_ptr<streamed_batches>(int)> open;

  validation_set() = default;
  template <class Data>
    requires requires(Data const& data) { data.open(1, false, ""); }
  validation_set(Data const& dataset)
      : open([dataset](int batch_size) { return dataset.open(batch_size, false, "validation_data."); }) {}
  template <class Data>
    requires(trainers::LabelledData<std::remove_reference_t<Data>> &&
             !std::is_same_v<std::remove_cvref_t<Data>, validation_set>)
  validation_set(Data&& data) : samples(std::forward<Data>(data)) {}
  validation_set(trainers::labelled_samples in_memory) : samples(std::move(in_memory)) {}
  validation_set(sample_set inputs, sample_set targets, trainers::sample_source weights = {})
      : samples(std::move(inputs), std::move(targets), std::move(weights)) {}
};

}  // namespace stagecraft::data
