// SPDX-License-Identifier: BSD-3-Clause
// Options of fit, evaluate and predict. Keras counterpart: the keyword arguments of Model.fit, Model.evaluate and
// Model.predict.
#pragma once

#include <stagecraft/training/callbacks/callback_pointers.hpp>
#include <stagecraft/training/data/labelled_samples.hpp>
#include <stagecraft/training/data/row_weights.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Options of `fit`; names, order and defaults are Keras's. Each can be left out. Data given here as lvalues are used
/// in place, rvalues are kept.
struct fit_options {
  int batch_size = 0;  ///< samples per step; 0: the training description's
  int epochs = 1;      ///< number of the epoch, from 1, after which training ends
  int verbose = 1;     ///< output: 0 nothing, 1 a progress bar, 2 one line per epoch
  /// The callbacks, such as `{&stop, &log}`, called in this order, then the history and the bar. Data are not searched
  /// for NaN: `callbacks::terminate_on_nan no_nan;` and `{&no_nan}` stop a training whose loss becomes NaN.
  trainers::callback_pointers callbacks{};
  double validation_split = 0;  ///< the last part of the data, before any shuffling, that is kept for validation
  trainers::labelled_samples validation_data{};              ///< takes precedence over validation_split
  bool shuffle = true;                                       ///< true: each epoch visits the samples in another order
  std::vector<trainers::class_weight_entry> class_weight{};  ///< `{{0, 1.0f}, {1, 5.0f}}`, one entry for every class
  trainers::sample_source sample_weight{};                   ///< one number per sample
  int initial_epoch = 0;  ///< number of the first epoch, from 0; to continue a training
  /// Batches per epoch, of all replicas together; each epoch goes on in the data where the one before has ended. 0: all
  /// batches.
  int steps_per_epoch = 0;
  int validation_steps = 0;     ///< batches per validation, of all replicas together; 0: all of them
  int validation_freq = 1;      ///< epochs from one validation to the next
  std::uint64_t seed = 0;       ///< seed of the shuffling; 0: the trainer's
  bool drop_remainder = false;  ///< true: a last batch that is not full is left out

  /// The names above, in the order that C++ demands: E4084 says it.
  static constexpr std::string_view order =
      "batch_size, epochs, verbose, callbacks, validation_split, validation_data, shuffle, class_weight, "
      "sample_weight, initial_epoch, steps_per_epoch, validation_steps, validation_freq, seed, drop_remainder";
};

/// Options of `evaluate`; names, order and defaults are Keras's. Each can be left out.
struct evaluate_options {
  int batch_size = 0;                       ///< samples per step; 0: the training description's
  int verbose = 1;                          ///< the printed text: 0 nothing, 1 a progress bar, 2 one line
  trainers::sample_source sample_weight{};  ///< one number per sample
  int steps = 0;                            ///< batches, of all replicas together; 0: all of them
  /// The callbacks, such as `{&log}`, called in this order.
  trainers::callback_pointers callbacks{};

  /// The names above, in the order that C++ demands.
  static constexpr std::string_view order = "batch_size, verbose, sample_weight, steps, callbacks";
};

/// Options of `predict`; names, order and defaults are Keras's. Each can be left out.
struct predict_options {
  int batch_size = 0;  ///< samples per step; 0: the training description's
  int verbose = 0;     ///< the printed text: 0 nothing, 1 a progress bar, 2 one line
  int steps = 0;       ///< batches, of all replicas together; 0: all of them
  /// The callbacks, such as `{&log}`, called in this order.
  trainers::callback_pointers callbacks{};

  /// The names above, in the order that C++ demands.
  static constexpr std::string_view order = "batch_size, verbose, steps, callbacks";
};

}  // namespace stagecraft
