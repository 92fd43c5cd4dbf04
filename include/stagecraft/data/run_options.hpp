// SPDX-License-Identifier: BSD-3-Clause
// Options of fit, evaluate and predict for a dataset. They are the options for arrays, except those that the dataset
// itself decides. Keras counterpart: the keyword arguments of Model.fit and its relatives with a tf.data.Dataset.
#pragma once

#include <stagecraft/data/streamed_batches.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <stagecraft/training/data/labelled_samples.hpp>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::data {

/// The type of `.validation_data = test`, where test is a dataset, or anything that `validation_data` takes for arrays.
struct validation_set {
  trainers::labelled_samples samples;  ///< the samples, if they are in memory
  /// Opens the dataset for batches of this size; empty if samples are in memory.
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

/// Options of `fit`; names, order and defaults are Keras's. Each can be left out.
struct fit_options {
  int epochs = 1;   ///< number of the epoch, from 1, after which training ends
  int verbose = 1;  ///< the printed text: 0 nothing, 1 a progress bar, 2 one line per epoch
  /// The callbacks, such as `{&stop, &log}`, called in this order, then the history and the bar.
  trainers::callback_pointers callbacks{};
  validation_set validation_data{};                          ///< a dataset, or arrays
  std::vector<trainers::class_weight_entry> class_weight{};  ///< `{{0, 1.0f}, {1, 5.0f}}`, one entry for every class
  /// Number of the first epoch, from 0; to continue a training. With `steps_per_epoch`, the batches of epochs before it
  /// are read and left out.
  int initial_epoch = 0;
  /// Batches per epoch, of all replicas together. Each epoch goes on where the one before has ended, and the dataset
  /// begins anew when it ends. 0: an epoch is a pass over all batches, whose number must be known (E4063).
  int steps_per_epoch = 0;
  int validation_steps = 0;     ///< batches per validation, of all replicas together; 0: all of them
  int validation_freq = 1;      ///< validation runs after every that many epochs
  bool drop_remainder = false;  ///< true: a last batch that is not full is left out

  /// These options as those for arrays.
  [[nodiscard]] stagecraft::fit_options common() const {
    return {.epochs = epochs,
            .verbose = verbose,
            .callbacks = callbacks,
            .validation_data = validation_data.samples,
            .class_weight = class_weight,
            .initial_epoch = initial_epoch,
            .steps_per_epoch = steps_per_epoch,
            .validation_steps = validation_steps,
            .validation_freq = validation_freq,
            .drop_remainder = drop_remainder};
  }
};

/// Options of `evaluate`. Each can be left out.
struct evaluate_options {
  int verbose = 1;                          ///< the printed text: 0 nothing, 1 a progress bar, 2 one line
  int steps = 0;                            ///< batches, of all replicas together; 0: all of them
  trainers::callback_pointers callbacks{};  ///< such as `{&log}`, called in this order

  /// These options as those for arrays.
  [[nodiscard]] stagecraft::evaluate_options common() const {
    return {.verbose = verbose, .steps = steps, .callbacks = callbacks};
  }
};

/// Options of `predict`. Each can be left out.
struct predict_options {
  int verbose = 0;                          ///< the printed text: 0 nothing, 1 a progress bar, 2 one line
  int steps = 0;                            ///< batches, of all replicas together; 0: all of them
  trainers::callback_pointers callbacks{};  ///< such as `{&log}`, called in this order

  /// These options as those for arrays.
  [[nodiscard]] stagecraft::predict_options common() const {
    return {.verbose = verbose, .steps = steps, .callbacks = callbacks};
  }
};

}  // namespace stagecraft::data
