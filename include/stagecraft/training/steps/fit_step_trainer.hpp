// SPDX-License-Identifier: BSD-3-Clause
// The trainer of a training step of one's own that does what `fit` does, and the options of `fit` with a step.
#pragma once

#include <stagecraft/training/steps/sub_step.hpp>
#include <stagecraft/training/trainer.hpp>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {

/// Options of `fit` with a training step of one's own: those of fit_options that apply to it.
struct step_fit_options {
  int epochs = 1;   ///< number of the epoch, from 1, after which training ends
  int verbose = 1;  ///< output: 0 nothing, 1 a progress bar, 2 one line per epoch
  /// The callbacks, such as `{&stop, &log}`, called in this order, then the history and the bar.
  trainers::callback_pointers callbacks{};
  bool shuffle = true;      ///< true: each epoch visits the samples in another order
  int initial_epoch = 0;    ///< number of the first epoch, from 0; to continue a training
  int steps_per_epoch = 0;  ///< batches per epoch; each epoch goes on where the one before has ended. 0: all batches
  std::uint64_t seed = 0;   ///< seed of the shuffling; 0: the trainer's
  /// The inputs of the step's `test`: its metrics are reported after each epoch, as "val_" and their names. A step that
  /// does what `fit` does and has no `test` takes the inputs of `train`, and reports "val_loss". data_error E4195 from
  /// other steps without a `test`.
  sample_set validation_data{};
};

}  // namespace stagecraft

namespace stagecraft::trainers {

/// The trainer of a training step that does what `fit` does: the trainer of its model, with the layers' kernels and the
/// bits of `fit`. Weights have the names that they have in the model.
template <class Step, step_options Options, class Machine>
class fit_step_trainer : public model_trainer<type_of_tag<facts_of_step<Step>.members[0].type>,
                                              settings_of<training_of_fit<Step, Options>>, Machine> {
  using base = model_trainer<type_of_tag<facts_of_step<Step>.members[0].type>,
                             settings_of<training_of_fit<Step, Options>>, Machine>;

 public:
  /// True for the name of the model in the step.
  template <fixed_name Name>
  static constexpr bool is_model = facts_of_step<Step>.members[0].name == Name;
  using base::base, base::get_weights, base::set_weights;
  /// Batches of each replica that a step takes.
  static constexpr int micro_batches = micro_batches_of_step<Step, Options>;

  /// Trains on the step's inputs, the last of which is the target: see own_step_trainer::fit.
  training_history fit(sample_set const& inputs, step_fit_options const& options = {}) {
    auto const [x, y] = split(inputs);
    return fit(x, y, options);
  }
  training_history fit(sample_set const& x, sample_set const& y, step_fit_options const& options = {}) {
    fit_options all;
    all.epochs = options.epochs;
    all.verbose = options.verbose;
    all.callbacks = options.callbacks;
    all.shuffle = options.shuffle;
    all.initial_epoch = options.initial_epoch;
    all.steps_per_epoch = options.steps_per_epoch;
    all.seed = options.seed;
    all.drop_remainder = true;
    if (options.validation_data.size() > 0)
      std::tie(all.validation_data.x, all.validation_data.y) = split(options.validation_data);
    return base::fit(x, y, all);
  }
  /// One step: see own_step_trainer::train_on_batch. One batch of one replica need not be full.
  auto train_on_batch(sample_set const& inputs) {
    auto const [x, y] = split(inputs);
    return train_on_batch(x, y);
  }
  auto train_on_batch(sample_set const& x, sample_set const& y) {
    if constexpr (base::replicas * micro_batches == 1) {
      return base::train_on_batch(x, y);
    } else {
      auto const calling = this->begin_call("train_on_batch");
      typename base::loader const data(x, y, {}, {});
      return run_update<micro_batches>(this->session(), data);
    }
  }
  /// The weights of the model under its name in the step, or of a part of the model.
  template <fixed_name Name>
  [[nodiscard]] std::vector<weight_array> get_weights() const {
    if constexpr (is_model<Name>)
      return base::get_weights();
    else
      return base::template get_weights<Name>();
  }
  template <fixed_name Name>
  void set_weights(std::vector<weight_array> const& weights) {
    if constexpr (is_model<Name>)
      base::set_weights(weights);
    else
      base::template set_weights<Name>(weights);
  }

 private:
  /// Inputs of the model, and its target.
  static std::pair<sample_set, sample_set> split(sample_set const& inputs) {
    std::pair<sample_set, sample_set> result;
    for (int i = 0; i < inputs.size(); ++i) (i + 1 < inputs.size() ? result.first : result.second).add(inputs[i]);
    return result;
  }
};

/// Stands in for the trainer of a step that has had its compile error.
template <class Step>
struct invalid_step_trainer {
  explicit invalid_step_trainer(std::uint64_t = 1) {}
  training_history fit(sample_set const&, step_fit_options const& = {}) { return {}; }
  training_history fit(sample_set const&, sample_set const&, step_fit_options const& = {}) { return {}; }
  std::array<double, 1> evaluate(sample_set const&) { return {}; }
  xt::xarray<float> predict(sample_set const&) { return {}; }
};

}  // namespace stagecraft::trainers
