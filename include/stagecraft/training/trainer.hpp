// SPDX-License-Identifier: BSD-3-Clause
// Trains, evaluates and runs a model: Keras's `fit`, `evaluate`, `predict` and their relatives. Level 6.
#pragma once

#include <stagecraft/execution/host_session.hpp>
#include <stagecraft/program/training_checks.hpp>
#include <stagecraft/training/batch_loader.hpp>
#include <stagecraft/training/callback_list.hpp>
#include <stagecraft/training/callbacks/progbar_logger.hpp>
#include <stagecraft/training/history.hpp>
#include <stagecraft/training/invalid_trainer.hpp>
#include <stagecraft/training/step_results.hpp>
#include <stagecraft/training/trainable.hpp>
#include <stagecraft/training/weight_views.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace stagecraft {

/// The type behind `trainer<...>`.
template <Model M, auto Training, class Machine>
class model_trainer : public trainable {
 public:
  using traced = typename detail::traced_model<M>::type;
  using session_type = host_session<traced, Training, Machine>;
  using results = step_results<session_type, Training>;
  /// What the model is trained with.
  static constexpr auto training = Training;
  /// What `evaluate` gives: the loss and the metrics, `auto [loss, accuracy] = model.evaluate(x, y);`
  using evaluation = std::array<double, results::count>;

  /// Weights get their initial values; all memory is taken here. The seed also decides dropout and shuffling.
  explicit model_trainer(std::uint64_t seed = training.seed) : session_(seed), seed_(seed) {}

  /// Trains for `epochs` epochs. Callbacks are called as in Keras, once per execution of `steps_per_execution` steps.
  /// Everything is checked before anything runs: data_error E4001 to E4008, E4010, E4011, E4017, E4018.
  /// Definition: tf.keras.Model.fit.
  training_history fit(sample_set const& x, sample_set const& y, fit_options const& options = {}) {
    check_options(options);
    int const batch_size = batch_size_to_use(options.batch_size, training.batch_size);
    loader const whole(x, y, options.sample_weight, options.class_weight);
    bool const splits = !options.validation_data.given() && options.validation_split != 0;
    auto const train_count = splits ? training_count(x.count(), options.validation_split) : x.count();
    auto const part = [&](sample_source const& weights, std::ptrdiff_t first, std::ptrdiff_t count) {
      return weights.given() ? weights.slice(first, count) : weights;
    };
    loader const data = splits ? loader(x.slice(0, train_count), y.slice(0, train_count),
                                        part(options.sample_weight, 0, train_count), options.class_weight)
                               : whole;
    labelled_samples validation = options.validation_data;
    if (splits) {
      auto const rest = x.count() - train_count;
      validation = {x.slice(train_count, rest), y.slice(train_count, rest),
                    part(options.sample_weight, train_count, rest)};
    }
    bool const validates = validation.given();
    auto const validation_loader =
        validates ? loader(validation.x, validation.y, validation.sample_weight, {}, loader::validation_names) : data;
    if (validates) batches_of(validation_loader, batch_size, options.validation_steps, "validation_steps");

    // Training that is continued with initial_epoch goes on where it was; another one has orders of its own.
    if (options.initial_epoch == 0) ++fits_;
    epoch_order order(data.count(), options.shuffle, options.seed != 0 ? options.seed : seed_ + fits_);
    int batches = order.batches(batch_size, options.drop_remainder);
    check_steps("steps_per_epoch", options.steps_per_epoch, batches);
    if (options.steps_per_epoch > 0) batches = options.steps_per_epoch;
    if (batches == 0)
      throw data_error("E4003", "x: expected at least " + std::to_string(batch_size) +
                                    " samples (one batch, with drop_remainder), found " + std::to_string(data.count()));
    int const execution = steps_of_execution(batches);

    training_history history;
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.append(bar);
    callbacks.append(history);
    callbacks.set_model(*this);
    callbacks.set_params({options.verbose, options.epochs, batches, validates});

    logs none, step_logs = results::make_logs(), epoch_logs = step_logs;
    stop_training = false;
    session_.begin_accumulation();
    callbacks.on_train_begin(none);
    for (int epoch = options.initial_epoch; epoch < options.epochs && !stop_training; ++epoch) {
      order.begin_epoch(epoch);
      results means;
      callbacks.on_epoch_begin(epoch, none);
      for (int first = 0; first < batches && !stop_training; first += execution) {
        callbacks.on_train_batch_begin(first, step_logs);
        for (int step = first; step < first + execution; ++step) train_step(data, order.batch(step, batch_size), means);
        means.write(step_logs);
        callbacks.on_train_batch_end(first + execution - 1, step_logs);
      }
      epoch_logs = step_logs;
      if (validates && (epoch + 1) % options.validation_freq == 0) {
        results validation_means;
        run_test(validation_loader, batch_size, options.validation_steps, callbacks, validation_means);
        validation_means.write(epoch_logs, "val_");
      }
      callbacks.on_epoch_end(epoch, epoch_logs);
    }
    callbacks.on_train_end(epoch_logs);
    return history;
  }

  /// The loss and the metrics over all samples, without dropout. Definition: tf.keras.Model.evaluate.
  evaluation evaluate(sample_set const& x, sample_set const& y, evaluate_options const& options = {}) {
    int const batch_size = batch_size_to_use(options.batch_size, training.batch_size);
    loader const data(x, y, options.sample_weight, {});
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.append(bar);
    callbacks.set_model(*this);
    callbacks.set_params({options.verbose, 1, batches_of(data, batch_size, options.steps), false});
    results means;
    run_test(data, batch_size, options.steps, callbacks, means);
    return means.values();
  }

  /// The model's outputs for all samples: a tensor (samples, shape...), or a std::tuple of tensors if there are several
  /// outputs. Allocates the result. Definition: tf.keras.Model.predict.
  auto predict(sample_set const& x, predict_options const& options = {}) {
    int const batch_size = batch_size_to_use(options.batch_size, training.batch_size);
    loader const data(x);
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.append(bar);
    callbacks.set_model(*this);
    int const batches = batches_of(data, batch_size, options.steps);
    callbacks.set_params({options.verbose, 1, batches, false});
    logs none;
    auto result = make_prediction(std::min(data.count(), std::ptrdiff_t{batches} * batch_size));
    callbacks.on_predict_begin(none);
    for (int batch = 0; batch < batches; ++batch) {
      callbacks.on_predict_batch_begin(batch, none);
      auto const first = std::ptrdiff_t{batch} * batch_size;
      auto const rows = samples(first, std::min<std::ptrdiff_t>(batch_size, data.count() - first));
      data.load_inputs(session_, rows);
      session_.predict_step();
      copy_prediction(result, first, static_cast<std::ptrdiff_t>(rows.size()));
      callbacks.on_predict_batch_end(batch, none);
    }
    callbacks.on_predict_end(none);
    return result;
  }

  /// One weight update (or one micro-batch, where gradients are accumulated) on at most `batch_size` samples.
  /// Gives the loss and metrics of these samples. Definition: tf.keras.Model.train_on_batch.
  evaluation train_on_batch(sample_set const& x, sample_set const& y, sample_source const& sample_weight = {},
                            std::vector<class_weight_entry> const& class_weight = {}) {
    loader const data(x, y, sample_weight, class_weight);
    check_one_batch(x);
    results means;
    train_step(data, samples(0, data.count()), means);
    return means.values();
  }
  /// The same without training. Definition: tf.keras.Model.test_on_batch.
  evaluation test_on_batch(sample_set const& x, sample_set const& y, sample_source const& sample_weight = {}) {
    loader const data(x, y, sample_weight, {});
    check_one_batch(x);
    results means;
    test_step(data, samples(0, data.count()), means);
    return means.values();
  }
  /// The outputs for at most `batch_size` samples. Definition: tf.keras.Model.predict_on_batch.
  auto predict_on_batch(sample_set const& x) {
    check_one_batch(x);
    return predict(x);
  }

  [[nodiscard]] std::string_view name() const override { return graph_of<traced>.name(); }
  [[nodiscard]] float learning_rate() const override { return session_.learning_rate(); }
  void set_learning_rate(float rate) override { session_.set_learning_rate(rate); }

  /// Copies of all weights, in the order of the model's layers; those of a subclass in the order of their first calls,
  /// where Keras takes the order of its attributes. Definition: tf.keras.Model.get_weights.
  [[nodiscard]] std::vector<weight_array> get_weights() const override {
    return detail::copy_weights<traced>(session_);
  }
  /// Throws data_error E4009 if number, names or shapes differ from the model's.
  void set_weights(std::vector<weight_array> const& weights) override {
    detail::assign_weights<traced>(session_, weights);
  }

  /// A weight as an xtensor expression over the model's own memory, nothing is copied:
  /// `model.template weight<"dense/kernel">()`, shape (inputs, units). Reads and writes. E4032 for an unknown name.
  template <fixed_name Name>
  [[nodiscard]] auto weight() {
    return detail::view_weight<traced, Name>(session_);
  }

  /// The session that carries out the steps.
  [[nodiscard]] session_type& session() noexcept { return session_; }

 private:
  using loader = batch_loader<session_type, Training>;

  void train_step(loader const& data, std::span<std::int32_t const> rows, results& means) {
    data.load(session_, rows);
    session_.train_step([&] { means.add(session_, static_cast<int>(rows.size()), true); });
  }
  void test_step(loader const& data, std::span<std::int32_t const> rows, results& means) {
    data.load(session_, rows);
    session_.test_step();
    means.add(session_, static_cast<int>(rows.size()), false);
  }

  // As in Keras, a bar among the user's callbacks stands in for the run's own.
  [[nodiscard]] static bool needs_bar(int verbose, std::vector<callback*> const& given) {
    bool found = false;
    for (callback* each : given) found = found || dynamic_cast<callbacks::progbar_logger*>(each) != nullptr;
    return verbose != 0 && !found;
  }

  void run_test(loader const& data, int batch_size, int steps, callback_list& callbacks, results& means) {
    int const batches = batches_of(data, batch_size, steps);
    int const execution = std::min(training.steps_per_execution, batches);
    logs step_logs = results::make_logs();
    callbacks.on_test_begin(step_logs);
    for (int first = 0; first < batches; first += execution) {
      int const last = std::min(first + execution, batches);
      callbacks.on_test_batch_begin(first, step_logs);
      for (int batch = first; batch < last; ++batch) {
        auto const begin = std::ptrdiff_t{batch} * batch_size;
        test_step(data, samples(begin, std::min<std::ptrdiff_t>(batch_size, data.count() - begin)), means);
      }
      means.write(step_logs);
      callbacks.on_test_batch_end(last - 1, step_logs);
    }
    callbacks.on_test_end(step_logs);
  }

  static int batches_of(loader const& data, int batch_size, int steps, char const* option = "steps") {
    auto const batches = static_cast<int>((data.count() + batch_size - 1) / batch_size);
    check_at_least(option, steps, 0);
    check_steps(option, steps, batches);
    return steps > 0 ? steps : batches;
  }

  /// Keras on IPU's rules: an execution is cut to an epoch that is shorter (with a warning), and must divide a longer
  /// one.
  [[nodiscard]] static int steps_of_execution(int batches) {
    constexpr int wanted = Training.steps_per_execution;
    constexpr int accumulation = Training.pipeline.accumulation_steps();
    int const steps = std::min(wanted, batches);
    if (batches % steps != 0)
      throw data_error("E4017", "steps_per_execution: expected a divisor of the epoch's " + std::to_string(batches) +
                                    " batches, found " + std::to_string(steps));
    if (steps % accumulation != 0)
      throw data_error("E4018", "gradient_accumulation_steps_per_replica: expected a divisor of the epoch's " +
                                    std::to_string(steps) + " batches, found " + std::to_string(accumulation));
    if (steps < wanted)
      std::fprintf(stderr,
                   "stagecraft: steps_per_execution %d is more than the %d steps there are; %d are executed at once\n",
                   wanted, batches, steps);
    return steps;
  }

  [[nodiscard]] std::span<std::int32_t const> samples(std::ptrdiff_t first, std::ptrdiff_t count) {
    for (std::ptrdiff_t i = 0; i < count; ++i)
      samples_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first + i);
    return {samples_.data(), static_cast<std::size_t>(count)};
  }
  static void check_one_batch(sample_set const& x) {
    if (x.count() > training.batch_size)
      detail::throw_data_error("E4008",
                               "x: expected at most %d samples, the training description's batch_size, found %td",
                               training.batch_size, x.count());
  }

  template <std::size_t Output>
  using prediction_type = xt::xtensor<float, static_cast<std::size_t>(session_type::output_shape(Output).rank()) + 1>;

  template <std::size_t Output>
  [[nodiscard]] static prediction_type<Output> make_output(std::ptrdiff_t count) {
    std::array<std::size_t, static_cast<std::size_t>(session_type::output_shape(Output).rank()) + 1> extents{
        static_cast<std::size_t>(count)};
    for (std::size_t axis = 1; axis < extents.size(); ++axis)
      extents[axis] = static_cast<std::size_t>(session_type::output_shape(Output)[static_cast<int>(axis) - 1]);
    return prediction_type<Output>::from_shape(extents);
  }
  [[nodiscard]] static auto make_prediction(std::ptrdiff_t count) {
    if constexpr (session_type::output_count == 1)
      return make_output<0>(count);
    else
      return [&]<std::size_t... Output>(std::index_sequence<Output...>) {
        return std::tuple<prediction_type<Output>...>(make_output<Output>(count)...);
      }(std::make_index_sequence<session_type::output_count>{});
  }
  template <class Result>
  void copy_prediction(Result& result, std::ptrdiff_t first, std::ptrdiff_t count) const {
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (copy_output<Output>(result, first, count), ...);
    }(std::make_index_sequence<session_type::output_count>{});
  }
  template <std::size_t Output, class Result>
  void copy_output(Result& result, std::ptrdiff_t first, std::ptrdiff_t count) const {
    constexpr auto size = static_cast<std::ptrdiff_t>(session_type::output_shape(Output).size());
    float* to = nullptr;
    if constexpr (session_type::output_count == 1)
      to = result.data();
    else
      to = std::get<Output>(result).data();
    std::copy_n(session_.prediction(Output, false), count * size, to + first * size);
  }

  session_type session_;
  std::uint64_t seed_;
  std::uint64_t fits_ = 0;  // trainings that began at epoch 0: each has orders of samples of its own
  std::array<std::int32_t, static_cast<std::size_t>(Training.batch_size)> samples_{};
};

namespace detail {

/// The first rule that a model, its stages or its training description breaks.
template <class M, auto Training>
constexpr diagnostic const& trainer_problem() {
  if constexpr (is_invalid<M>)
    return findings<typename traced_model<M>::type>.problem;
  else if constexpr (has_invalid_stages<M>)
    return stage_problem<M>;
  else
    return training_problem<M, Training>;
}

template <class M, auto Training, class Machine>
using trainer_or_stand_in = std::conditional_t<trainer_problem<M, Training>().failed(), invalid_trainer<Training>,
                                               model_trainer<M, Training, Machine>>;

}  // namespace detail

/// A model, what it is trained with, and the machine that runs it, checked together where they are named:
///
///     sc::trainer<mlp, training> model;                    // on the host
///     model.fit(train.x, train.y, {.epochs = 2, .validation_data = test});
///     auto [loss, accuracy] = model.evaluate(test.x, test.y);
///     xt::xtensor<float, 2> logits = model.predict(test.x);
///
/// Errors: those of the model's layers and stages, and E4020 to E4025, E2020 to E2022 of the training.
template <Model M, auto Training, class Machine = host<>>
using trainer = typename detail::verdict_on<detail::trainer_problem<M, Training>()>::template model<
    detail::trainer_or_stand_in<M, Training, Machine>>;

}  // namespace stagecraft
