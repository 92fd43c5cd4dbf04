// SPDX-License-Identifier: BSD-3-Clause
// Trains, evaluates and runs a model: Keras's `fit`, `evaluate`, `predict` and their relatives.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/training_checks.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/models/summary.hpp>
#include <stagecraft/threads/owned.hpp>
#include <stagecraft/training/callbacks/callback_list.hpp>
#include <stagecraft/training/callbacks/history.hpp>
#include <stagecraft/training/callbacks/progbar_logger.hpp>
#include <stagecraft/training/epoch_batches.hpp>
#include <stagecraft/training/execution_rules.hpp>
#include <stagecraft/training/invalid_trainer.hpp>
#include <stagecraft/training/replica_results.hpp>
#include <stagecraft/training/run_prediction.hpp>
#include <stagecraft/training/run_problem.hpp>
#include <stagecraft/training/single_batch.hpp>
#include <stagecraft/training/step_runner.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// The type of a trainer on a machine: `type<Trainer>`. A specialisation for several processes says what they agree on.
template <class Machine>
struct trainer_on {
  template <class Trainer>
  using type = Trainer;
};

/// The type behind `trainer<...>`.
template <Model M, class Settings, class Machine>
class model_trainer : public trained_model<session_of_run<M, Settings::value, Machine>> {
  using base = trained_model<session_of_run<M, Settings::value, Machine>>;

 public:
  using typename base::session_type;
  template <run_kind Kind>
  using results = replica_results<session_type, Kind>;
  /// The training description of the model.
  static constexpr auto training = Settings::value;
  static constexpr int replicas = session_type::replicas;  ///< copies of the model, which share the batches
  /// The loss and the metrics: `auto [loss, accuracy] = model.evaluate(x, y);` Each is an array if replicas are listed.
  using evaluation = typename results<run_kind::evaluation>::report_type;
  /// The results of one batch, from `train_on_batch` and `test_on_batch`; those of training have no masked ones.
  template <run_kind Kind>
  using batch_values = typename results<Kind>::values_of_one;
  /// The results of a weight update.
  using update_values = typename results<run_kind::training>::report_type;

  /// Initializes the weights and allocates all memory. The seed also decides dropout and shuffling. Warnings E4087,
  /// E4088: a loss misreads an output; `training::outputs_are_meant` switches them off.
  explicit model_trainer(std::uint64_t seed = training.seed)
    requires(misread_output_of<M, training> == misread_output::none)
      : model_trainer(seed, nullptr) {}
  [[deprecated(
      "a cross-entropy takes the output of a linear layer for probabilities: give the loss .from_logits = true, or the "
      "layer softmax or sigmoid [E4087]")]] explicit model_trainer(std::uint64_t seed = training.seed)
    requires(misread_output_of<M, training> == misread_output::logits_as_probabilities)
      : model_trainer(seed, nullptr) {}
  [[deprecated(
      "a cross-entropy with .from_logits = true follows softmax or sigmoid: leave one of them out "
      "[E4088]")]] explicit model_trainer(std::uint64_t seed = training.seed)
    requires(misread_output_of<M, training> == misread_output::probabilities_as_logits)
      : model_trainer(seed, nullptr) {}

  /// Trains for `epochs` epochs. Callbacks are called as in Keras, once per execution of `steps_per_execution` steps;
  /// with `asynchronous_callbacks` once per step, see step_runner. Replicas take turns: with n replicas, each takes
  /// every n-th batch. `steps_per_epoch` and `validation_steps` count the batches of all replicas, and callbacks see
  /// the steps of each; batches that do not fill all replicas are left out. States of stateful layers go from each
  /// batch to the next one, through epochs and validation, until `reset_states`; `.shuffle = false` leaves sequences in
  /// their places. Data are not searched for NaN, which makes the loss NaN: `callbacks::terminate_on_nan` then stops
  /// the training. Errors: E2022, E2026 for a model with stages whose description has no rule for weight updates, so
  /// that it can only be evaluated. Everything else is checked before anything runs: data_error E4001 to E4008, E4010,
  /// E4011, E4017 to E4019, E4041. Definition: tf.keras.Model.fit.
  [[gnu::cold]] training_history fit(sample_set const& x, sample_set const& y, fit_options const& options = {}) {
    static_assert(report<trained_run_problem<M, training>>());
    auto const calling = this->begin_call("fit");
    check_options(options);
    int const batch_size = batch_size_to_use(options.batch_size, training.batch_size);
    loader data(x, y, options.sample_weight, options.class_weight);
    labelled_samples validation = options.validation_data;
    if (!validation.given() && options.validation_split != 0) {
      labelled_samples const all{x, y, options.sample_weight};
      auto const count = training_count(x.count(), options.validation_split);
      labelled_samples const first = all.slice(0, count);
      data = loader(first.x, first.y, first.sample_weight, options.class_weight);
      validation = all.slice(count, x.count() - count);
    }
    threads::owned<batches_to_run> held_out;
    if (validation.given())
      held_out =
          threads::owned(new batches_to_run(validation_batches(validation, batch_size, options.validation_steps)));
    if constexpr (keeps_states)
      check_full_batches("x", options.drop_remainder ? batch_size : data.count(), batch_size, training.batch_size);
    auto const order_seed = this->begin_fit(options.initial_epoch);
    epoch_order order(data.count(), options.shuffle, options.seed != 0 ? options.seed : order_seed);
    int const batches = order.batches(batch_size, options.drop_remainder);
    if (batches == 0)
      throw_data_error("E4003", "x: expected at least %d samples (one batch, with drop_remainder), found %td",
                       batch_size, data.count());
    int const steps = steps_of_replica("x", "steps_per_epoch", options.steps_per_epoch, batches, replicas);
    batches_to_run of{std::move(data), std::move(order), batch_size, batches, steps};
    return run_epochs(options, of, held_out.get());
  }

  /// Trains on a dataset, <stagecraft/data/data.hpp>: batch after batch, of samples that need not fit in memory. An
  /// epoch is a pass over all of them, or the next `steps_per_epoch` batches. The bits are those of the same samples in
  /// memory, in the same order. Errors as above, and E4063 to E4066; those of samples, such as E4004, when their batch
  /// comes. Definition: tf.keras.Model.fit.
  template <class Data>
    requires requires { typename Data::fit_options; }
  training_history fit(Data const& dataset, typename Data::fit_options const& options = {}) {
    static_assert(report<trained_run_problem<M, training>>());
    auto const calling = this->begin_call("fit");
    fit_options const common = options.common();
    check_options(common);
    auto const stream = dataset.open(training.batch_size, options.drop_remainder);
    auto of = batches_to_run::of_stream(*stream, "steps_per_epoch", common.steps_per_epoch, common.initial_epoch,
                                        common.steps_per_epoch > 0, common.class_weight);
    threads::owned<batches_to_run> held_out;
    std::shared_ptr<typename decltype(stream)::element_type> validation;
    if (common.validation_data.given()) {
      held_out = threads::owned(
          new batches_to_run(validation_batches(common.validation_data, training.batch_size, common.validation_steps)));
    } else if (options.validation_data.open) {
      validation = options.validation_data.open(training.batch_size);
      held_out = threads::owned(new batches_to_run(batches_to_run::of_stream(
          *validation, "validation_steps", common.validation_steps, 0, false, {}, loader::validation_names)));
    }
    static_cast<void>(this->begin_fit(common.initial_epoch));
    return run_epochs(common, of, held_out.get());
  }

  /// The loss and the metrics over all samples, without dropout. Runs `steps_per_execution` steps at once; the last
  /// execution may be shorter, also one of a pipeline, where Keras on IPU refuses it. With replicas, batches that do
  /// not fill all of them are left out, with a warning. Errors as `fit`. Definition: tf.keras.Model.evaluate.
  [[gnu::cold]] evaluation evaluate(sample_set const& x, sample_set const& y, evaluate_options const& options = {}) {
    auto const calling = this->begin_call("evaluate");
    int const batch_size = batch_size_to_use(options.batch_size, training.batch_size);
    auto of =
        batches_to_run::to_evaluate(loader(x, y, options.sample_weight, {}), "x", batch_size, "steps", options.steps);
    return run_evaluation(options, of);
  }
  /// Evaluates on a dataset: see `fit`.
  template <class Data>
    requires requires { typename Data::fit_options; }
  evaluation evaluate(Data const& dataset, typename Data::evaluate_options const& options = {}) {
    auto const calling = this->begin_call("evaluate");
    auto const stream = dataset.open(training.batch_size, false);
    auto of = batches_to_run::of_stream(*stream, "steps", options.steps, 0, false);
    return run_evaluation(options.common(), of);
  }

  /// The model's outputs for all samples, in their order: a tensor (samples, shape...), or a std::tuple of tensors if
  /// there are several outputs. Allocates the result. Executions are those of `evaluate`, but no batch is left out:
  /// replicas that have no batch in the last step repeat the last one, and their outputs are dropped. Definition:
  /// tf.keras.Model.predict.
  auto predict(sample_set const& x, predict_options const& options = {}) {
    auto const calling = this->begin_call("predict");
    return run_prediction<base>(*this, x, options);
  }
  /// Predictions for a dataset: see `fit`. It takes x of elements (x, y).
  template <class Data>
    requires requires { typename Data::predict_options; }
  auto predict(Data const& dataset, typename Data::predict_options const& options = {}) {
    auto const calling = this->begin_call("predict");
    return run_streamed_prediction<base>(*this, dataset, options);
  }

  /// Prints the table of the model's layers: `sc::summary<model>(options)`. Definition: tf.keras.Model.summary.
  void summary(summary_options const& options = {}) const { stagecraft::summary<M>(options); }

  /// The outputs for at most `batch_size` samples, computed immediately: Keras's `model(x)`. The stages of a pipelined
  /// model follow each other, whatever its schedule. The result is an xtensor adaptor of the model's own memory, or a
  /// std::tuple of them, valid until the model runs again. Definition: tf.keras.Model.__call__.
  auto operator()(sample_set const& x) {
    auto const calling = this->begin_call("a call of the model");
    return call_model(this->session(), x);
  }

  // The first argument reports, so that no compiler comes to the list, of which it would have an error of its own.
  /// Options that do not exist are E4084, those of a dataset E4140.
  template <class Options = fit_options, std::size_t Size>
  training_history fit(refusing<wrong_run_options<Options>>, any_argument, any_options<Size>) {
    return {};
  }
  template <class Options = fit_options>
  training_history fit(refusing<wrong_run_options<Options>>, any_argument, ...) {
    return {};
  }
  template <class Options = evaluate_options, std::size_t Size>
  evaluation evaluate(refusing<wrong_run_options<Options>>, any_argument, any_options<Size>) {
    return {};
  }
  template <class Options = evaluate_options>
  evaluation evaluate(refusing<wrong_run_options<Options>>, any_argument, ...) {
    return {};
  }
  template <fixed_name F = "fit", std::size_t Size>
  training_history fit(refusing<wrong_streamed_options<F>>, any_options<Size>) {
    return {};
  }
  template <fixed_name F = "fit">
  training_history fit(refusing<wrong_streamed_options<F>>, ...) {
    return {};
  }
  template <fixed_name F = "evaluate", std::size_t Size>
  evaluation evaluate(refusing<wrong_streamed_options<F>>, any_options<Size>) {
    return {};
  }
  template <fixed_name F = "evaluate">
  evaluation evaluate(refusing<wrong_streamed_options<F>>, ...) {
    return {};
  }
  template <class Options = predict_options, std::size_t Size>
  auto predict(refusing<wrong_run_options<Options>>, any_options<Size>) {
    return predict(sample_set{});
  }
  template <class Options = predict_options>
  auto predict(refusing<wrong_run_options<Options>>, ...) {
    return predict(sample_set{});
  }

  /// One weight update (or one micro-batch, if gradients are accumulated) on at most `batch_size` samples. With stages
  /// or replicas, one update on `batch_size` samples for each replica and each of the stages' micro-batches: a batch
  /// for each replica, then for the next micro-batch. Returns the loss and metrics of these samples, of replicas as
  /// `evaluate` does. Allocates nothing. Definition: tf.keras.Model.train_on_batch. Errors: E4008 more samples; E4003
  /// another number of samples, with stages or replicas; E2060 a cluster.
  template <class Trained = M>
  result_or_verdict<single_batch_problem<Trained, training, Machine>, update_values> train_on_batch(
      sample_set const& x, sample_set const& y, sample_source const& sample_weight = {},
      std::vector<class_weight_entry> const& class_weight = {}) {
    constexpr int micro_batches = is_pipelined<M> ? options_of<M, training>.accumulation_steps() : 1;
    auto const calling = this->begin_call("train_on_batch");
    loader const data(x, y, sample_weight, class_weight);
    if constexpr (single_batch_problem<M, training, Machine>.failed())
      return {update_values{}};
    else if constexpr (replicas * micro_batches == 1)
      return {run_single<run_kind::training>(this->session(), data)};
    else
      return {run_update<micro_batches>(this->session(), data)};
  }
  /// Evaluates one batch. Definition: tf.keras.Model.test_on_batch.
  batch_values<run_kind::evaluation> test_on_batch(sample_set const& x, sample_set const& y,
                                                   sample_source const& sample_weight = {}) {
    auto const calling = this->begin_call("test_on_batch");
    loader const data(x, y, sample_weight, {});
    return run_single<run_kind::evaluation>(this->session(), data);
  }
  /// The outputs for at most `batch_size` samples. Definition: tf.keras.Model.predict_on_batch.
  auto predict_on_batch(sample_set const& x) {
    check_one_batch(x.count(), training.batch_size);
    return predict(x);
  }

 protected:
  using loader = batch_loader<session_type>;

 private:
  using processes = typename session_type::sizes::processes;
  static constexpr bool keeps_states = session_type::graph.is_stateful();

  /// Makes a trainer without a warning.
  [[gnu::cold]] model_trainer(std::uint64_t seed, std::nullptr_t) : base(seed) {}

  template <run_kind Kind>
  using runner = step_runner<base, Kind>;

  using batches_to_run = epoch_batches<session_type>;

  /// Evaluates the same samples, once or repeatedly.
  class evaluator {
   public:
    evaluator(base& model, callback_list& callbacks, batches_to_run& of)
        : callbacks_(callbacks),
          order_(of.order),
          runner_(model, callbacks, {of.steps, training.steps_per_execution}, of.data, of.order, of.batch_size,
                  of.batches) {}
    [[gnu::cold]] results<run_kind::evaluation> run() {
      results<run_kind::evaluation> means;
      logs none, step_logs = means.make_logs();
      callbacks_.on_test_begin(none);
      order_.begin_epoch(0);
      runner_.run(means, step_logs);
      callbacks_.on_test_end(step_logs);
      return means;
    }

   private:
    callback_list& callbacks_;
    epoch_order& order_;
    runner<run_kind::evaluation> runner_;
  };

  [[gnu::cold]] training_history run_epochs(fit_options const& options, batches_to_run& of,
                                            batches_to_run* validation) {
    step_counts const counts{of.steps,
                             steps_of_training_execution(of.steps, training.steps_per_execution,
                                                         options_of<M, training>.accumulation_steps(), replicas)};

    training_history history;
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.prepend(bar);
    callbacks.append(history);
    callbacks.set_model(*this);
    callbacks.set_params({options.verbose, options.epochs, of.steps, validation != nullptr});

    using training_results = results<run_kind::training>;
    logs none, step_logs = training_results::make_logs(), epoch_logs = step_logs;
    runner<run_kind::training> trained(*this, callbacks, counts, of.data, of.order, of.batch_size, of.batches);
    threads::owned<evaluator> validator;
    if (validation != nullptr) validator = threads::owned(new evaluator(*this, callbacks, *validation));

    this->stop_training = false;
    this->session().begin_accumulation();
    callbacks.on_train_begin(none);
    for (int epoch = options.initial_epoch; epoch < options.epochs && !this->stop_training; ++epoch) {
      if (options.steps_per_epoch > 0)
        of.order.continue_epoch(epoch, of.steps * replicas, of.batches);
      else
        of.order.begin_epoch(epoch);
      training_results means;
      callbacks.on_epoch_begin(epoch, none);
      if constexpr (!trained_run_problem<M, training>.failed()) trained.run(means, step_logs);
      epoch_logs = step_logs;
      if (validation != nullptr && (epoch + 1) % options.validation_freq == 0)
        validator->run().write(epoch_logs, "val_");
      this->end_epoch(epoch);
      callbacks.on_epoch_end(epoch, epoch_logs);
      if constexpr (!processes::is_alone)
        processes::agree({.what = engine::process_round::end_of_epoch, .first = epoch, .of = options.epochs}, *this,
                         true);
    }
    callbacks.on_train_end(epoch_logs);
    return history;
  }

  [[gnu::cold]] evaluation run_evaluation(evaluate_options const& options, batches_to_run& of) {
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.prepend(bar);
    callbacks.set_model(*this);
    callbacks.set_params({options.verbose, 1, of.steps, false});
    return evaluator(*this, callbacks, of).run().report();
  }

  [[gnu::cold]] static batches_to_run validation_batches(labelled_samples const& of, int batch_size, int asked) {
    constexpr auto names = loader::validation_names;
    return batches_to_run::to_evaluate(loader(of.x, of.y, of.sample_weight, {}, names), names.x, batch_size,
                                       "validation_steps", asked);
  }
};

template <class M, auto Training, class Machine>
using trainer_or_stand_in =
    std::conditional_t<run_problem<M, Training, Machine, true>().failed(), invalid_trainer<result_count<Training>()>,
                       typename trainer_on<Machine>::template type<model_trainer<M, settings_of<Training>, Machine>>>;

}  // namespace stagecraft::trainers

namespace stagecraft {

/// A model, its training description, and the machine that runs it, which are checked together when they are named:
///
///     sc::trainer<mlp, training> model;                    // on the host
///     model.fit(train.x, train.y, {.epochs = 2, .validation_data = test});
///     auto [loss, accuracy] = model.evaluate(test.x, test.y);
///     xt::xtensor<float, 2> logits = model.predict(test.x);
///
/// A trainer is one thread's: a call during a call of another thread is E4107. Callbacks may call their own trainer.
///
/// Errors: those of the model's layers and stages, and those of the training description, alone and with the machine:
/// E4020 to E4025, E2020 to E2022, E2024, E2026 to E2049, E2061, E2062, E4089, E4092, E4094.
template <Model M, auto Training, class Machine = host<>,
          class Verdict = typename detail::early_verdict<detail::run_problem<M, Training, Machine, true>()>::checked,
          bool = decltype(detail::find_loops_to_check<M, Training, Machine, true>())::are_used>
using trainer = typename Verdict::template model<detail::trainer_or_stand_in<M, Training, Machine>>;

}  // namespace stagecraft
#include <stagecraft/diagnostics/end_headers.hpp>
