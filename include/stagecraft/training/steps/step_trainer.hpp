// SPDX-License-Identifier: BSD-3-Clause
// Trains with a training step of one's own: `fit` and its relatives. Keras counterpart: Model.fit with a `train_step`.
#pragma once

#include <stagecraft/host/host.hpp>
#include <stagecraft/training/callbacks/callback_list.hpp>
#include <stagecraft/training/callbacks/history.hpp>
#include <stagecraft/training/callbacks/progbar_logger.hpp>
#include <stagecraft/training/data/batch_loader.hpp>
#include <stagecraft/training/execution_rules.hpp>
#include <stagecraft/training/optimizer_weights.hpp>
#include <stagecraft/training/replica_results.hpp>
#include <stagecraft/training/run_problem.hpp>
#include <stagecraft/training/steps/fit_step_trainer.hpp>
#include <stagecraft/training/steps/own_runs.hpp>
#include <stagecraft/training/steps/step_files.hpp>
#include <stagecraft/training/steps/step_problem.hpp>
#include <stagecraft/training/steps/step_values.hpp>
#include <stagecraft/training/steps/sub_step.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// The type that `step_trainer<...>` names: a session for each sub-step; all of them share the weights in one memory.
template <class Step, step_options Options, class Machine>
class own_step_trainer : public trainable,
                         public step_runs<Step, Options, Machine>,
                         public step_files<own_step_trainer<Step, Options, Machine>, Step> {
  using runs = step_runs<Step, Options, Machine>;
  static constexpr auto const& facts = facts_of_step<Step>;
  static constexpr std::size_t sub_steps = static_cast<std::size_t>(facts.sub_step_count);
  template <std::size_t Number>
  using model_of = sub_step_model<Step, static_cast<int>(Number)>;
  template <std::size_t Number>
  using session_of_sub_step =
      session_of_run<model_of<Number>, training_of_sub_step<Step, static_cast<int>(Number), Options>, Machine>;
  using first_session = session_of_sub_step<0>;
  using files = step_files<own_step_trainer, Step>;
  template <std::size_t Member>
  using model_of_member = typename files::template model_of_member<Member>;
  using files::for_each_member, files::for_each_sub_step, files::check_names, files::name_of_weight;
  using results_type = replica_results<first_session, run_kind::training, step_values<Step>>;

 public:
  [[nodiscard]] auto& sessions_to_share() { return sessions_; }  ///< see sc::shares
  static constexpr int replicas = first_session::replicas;       ///< copies of the models, which share the batches
  /// Batches of each replica that a step takes.
  static constexpr int micro_batches = micro_batches_of_step<Step, Options>;
  /// Values that a step reports: its metrics or, if it has none, the loss of each sub-step. Each is an array if
  /// replicas are listed.
  static constexpr std::size_t value_count = results_type::count;
  using batch_values = typename results_type::report_type;

  /// The numbers that a step's training needs to go on, beside weights and the optimizers' numbers.
  struct step_progress {
    training_progress of_trainer;  ///< calls of fit, epochs, and training steps, which step.every counts
    std::array<training_progress, sub_steps> of_sub_steps;
    std::array<typename step_values<Step>::values_type, static_cast<std::size_t>(replicas)> values;  ///< reported last
  };

  /// Initializes the weights and allocates all memory.
  [[gnu::cold]] explicit own_step_trainer(std::uint64_t seed = Options.seed) : seed_(seed) {
    for_each_sub_step([&]<std::size_t Number>() {
      auto& own = std::get<Number>(sessions_);
      using session_type = session_of_sub_step<Number>;
      own = owned<session_type>(
          new session_type(seed + (training_of_sub_step<Step, static_cast<int>(Number), Options>.seed - Options.seed)));
      for (int i = 0; Number > 0 && i < replicas; ++i)
        own->memory_of_weights(i) = std::get<0>(sessions_)->memory_of_weights(i).share();
    });
    this->share_weights(*std::get<0>(sessions_));
  }

  /// Trains for `epochs` epochs on the step's inputs, one array for each: `fit(x)`, `fit(sc::inputs(x, y))`. Logs have
  /// the step's metrics, as means over the sub-steps of an epoch; a step without metrics reports "loss", then "loss_1"
  /// and so on for later sub-steps. Replicas take turns: each of n takes every n-th batch. Errors: data_error E4001 to
  /// E4003, E4008, E4010, E4011, E4018, E4041, E4195.
  [[gnu::cold]] training_history fit(sample_set const& x, step_fit_options const& options = {}) {
    check_inputs<first_session>(x);
    runs::check_validation(options.validation_data);
    check_at_least("epochs", options.epochs, 1);
    check_at_least("initial_epoch", options.initial_epoch, 0);
    check_at_least("steps_per_epoch", options.steps_per_epoch, 0);
    if (options.initial_epoch == 0) ++fits_;
    epochs_ = options.initial_epoch;
    epoch_order order(x.count(), options.shuffle, options.seed != 0 ? options.seed : seed_ + fits_);
    int const batches = order.batches(Options.batch_size, true);
    if (batches == 0)
      throw_data_error("E4003", "x: expected at least %d samples, one batch, found %td", Options.batch_size, x.count());
    int const steps = steps_of_replica("x", "steps_per_epoch", options.steps_per_epoch, batches, replicas);
    static_cast<void>(steps_of_training_execution(steps, steps, micro_batches, replicas));

    training_history history;
    callbacks::progbar_logger bar;
    callback_list callbacks(options.callbacks);
    if (needs_bar(options.verbose, options.callbacks)) callbacks.prepend(bar);
    callbacks.append(history);
    callbacks.set_model(*this);
    callbacks.set_params({options.verbose, options.epochs, steps, options.validation_data.size() > 0});
    logs none, values = results_type::make_logs();
    stop_training = false;
    callbacks.on_train_begin(none);
    for (int epoch = options.initial_epoch; epoch < options.epochs && !stop_training; ++epoch) {
      if (options.steps_per_epoch > 0)
        order.continue_epoch(epoch, steps * replicas, batches);
      else
        order.begin_epoch(epoch);
      begin_epoch();
      callbacks.on_epoch_begin(epoch, none);
      for (int first = 0; first < steps && !stop_training; first += micro_batches) {
        callbacks.on_train_batch_begin(first, none);
        run(x, [&](int replica, int micro_batch) {
          return order.batch((first + micro_batch) * replicas + replica, Options.batch_size, batches);
        });
        results_.write(values);
        callbacks.on_train_batch_end(first + micro_batches - 1, values);
      }
      epochs_ = epoch + 1;
      logs epoch_values = values;
      if (options.validation_data.size() > 0) runs::validate(options.validation_data, epoch_values);
      callbacks.on_epoch_end(epoch, epoch_values);
    }
    callbacks.on_train_end(values);
    return history;
  }
  /// Trains on the inputs of `x`, then those of `y`.
  training_history fit(sample_set const& x, sample_set const& y, step_fit_options const& options = {}) {
    return fit(joined(x, y), options);
  }

  /// Trains one step on one full batch, or on one for each replica, then one for each replica's next micro-batch, and
  /// so on. Returns the values that it reports, in the order of the metrics. Allocates nothing. Errors: E4003 another
  /// number of samples.
  batch_values train_on_batch(sample_set const& x) {
    constexpr samples_of_step<Options.batch_size, replicas, micro_batches> samples;
    check_inputs<first_session>(x);
    samples.check(x.count());
    begin_results();
    run(x, samples);
    return results_.report();
  }
  batch_values train_on_batch(sample_set const& x, sample_set const& y) { return train_on_batch(joined(x, y)); }

  /// The names of the values that a batch reports.
  [[nodiscard]] static std::string value_name(std::size_t index) { return step_values<Step>::name(index); }

  /// Copies all weights, one model after the other, with names such as "critic/dense/kernel:0".
  [[nodiscard]] std::vector<weight_array> get_weights() const override {
    std::vector<weight_array> all;
    for_each_member([&]<std::size_t Member>() {
      for (auto& each : weights_of_model<Member>()) {
        each.name = std::string(facts.members[Member].name.view()).append("/").append(each.name);
        all.push_back(std::move(each));
      }
    });
    return all;
  }
  /// Sets all weights. Throws data_error E4009 if number, names or shapes differ.
  void set_weights(std::vector<weight_array> const& weights) override {
    check_names("set_weights", get_weights(), weights);
    std::size_t first = 0;
    for_each_member([&]<std::size_t Member>() {
      constexpr std::size_t count = weight_order<model_of_member<Member>>.size();
      set_weights_of_model<Member>({weights.begin() + static_cast<std::ptrdiff_t>(first),
                                    weights.begin() + static_cast<std::ptrdiff_t>(first + count)});
      first += count;
    });
  }
  /// The weights of a model of the step, as a trainer or a predictor of that model has them:
  /// `generator.set_weights(model.get_weights<"generator">())`. E2091 a name that no model of the step has.
  template <fixed_name Name>
  [[nodiscard]] std::vector<weight_array> get_weights() const {
    return weights_of_model<member_named<Step, Name>()>();
  }
  /// Sets the weights of a model of the step, from a trainer of that model. Shapes must agree.
  template <fixed_name Name>
  void set_weights(std::vector<weight_array> const& weights) {
    set_weights_of_model<member_named<Step, Name>()>(weights);
  }

  /// The numbers that the optimizers keep with weights, such as "critic/dense/kernel/m:0", one sub-step after the
  /// other.
  [[nodiscard]] std::vector<weight_array> get_optimizer_weights() const {
    std::vector<weight_array> all;
    for_each_sub_step([&]<std::size_t Number>() {
      for (auto& each : optimizer_weights_of<Number>()) all.push_back(std::move(each));
    });
    return all;
  }
  /// Sets the optimizers' numbers. Throws data_error E4009 if number, names or shapes differ.
  void set_optimizer_weights(std::vector<weight_array> const& weights) {
    auto const known = get_optimizer_weights();
    check_names("set_optimizer_weights", known, weights);
    auto next = weights.begin();
    for_each_sub_step([&]<std::size_t Number>() {
      using M = model_of<Number>;
      std::vector<weight_array> own(next, next + std::ssize(optimizer_weights_of<Number>()));
      next += std::ssize(own);
      for (auto& each : own) each.name.clear();
      assign_optimizer_weights<M, trained_weight_order<M>>(*std::get<Number>(sessions_), own);
    });
  }
  /// The progress of the training; its steps are those that step.every counts.
  [[nodiscard]] training_progress progress() const {
    auto result = std::get<0>(sessions_)->progress();
    result.seed = seed_;
    result.fits = fits_;
    result.epochs = epochs_;
    result.steps = static_cast<std::uint64_t>(steps_);
    return result;
  }
  [[nodiscard]] step_progress progress_of_step() const {
    step_progress result{.of_trainer = progress(), .of_sub_steps = {}, .values = {}};
    for_each_sub_step(
        [&]<std::size_t Number>() { result.of_sub_steps[Number] = std::get<Number>(sessions_)->progress(); });
    for (int i = 0; i < replicas; ++i) result.values[static_cast<std::size_t>(i)] = results_[i].values();
    return result;
  }
  /// Continues from a `progress_of_step`; weights and the optimizers' numbers are set separately.
  void set_progress(step_progress const& from) {
    seed_ = from.of_trainer.seed;
    fits_ = from.of_trainer.fits;
    epochs_ = from.of_trainer.epochs;
    steps_ = static_cast<std::int64_t>(from.of_trainer.steps);
    for_each_sub_step(
        [&]<std::size_t Number>() { std::get<Number>(sessions_)->set_progress(from.of_sub_steps[Number]); });
    for (int i = 0; i < replicas; ++i) results_[i].continue_from(from.values[static_cast<std::size_t>(i)]);
  }

  [[nodiscard]] void const* kind() const noexcept override { return &kind_of_this; }
  /// Casts a model in training to this class; nullptr if it is of another class.
  [[nodiscard]] static own_step_trainer* from(trainable& model) noexcept {
    return model.kind() == &kind_of_this ? static_cast<own_step_trainer*>(&model) : nullptr;
  }

  /// The session of a sub-step, for instance for what its IPUs have counted.
  template <std::size_t Number>
  [[nodiscard]] auto const& session() const {
    return *std::get<Number>(sessions_);
  }

  [[nodiscard]] std::string_view name() const override { return "training_step"; }
  /// The learning rate of the first sub-step's optimizer.
  [[nodiscard]] float learning_rate() const override { return std::get<0>(sessions_)->learning_rate(); }
  /// Sets the rate of all sub-steps' optimizers.
  void set_learning_rate(float rate) override {
    for_each_sub_step([&]<std::size_t Number>() { std::get<Number>(sessions_)->set_learning_rate(rate); });
  }
  /// Does nothing: models of a step keep no states from batch to batch.
  void reset_states() override {}

 private:
  static constexpr char kind_of_this = 0;

  /// The numbers of a sub-step's optimizer, under the names that the weights have in the step.
  template <std::size_t Number>
  [[nodiscard]] std::vector<weight_array> optimizer_weights_of() const {
    using M = model_of<Number>;
    using session_type = session_of_sub_step<Number>;
    auto result = copy_optimizer_weights<M, trained_weight_order<M>>(*std::get<Number>(sessions_));
    if constexpr (constexpr auto slots = static_cast<std::size_t>(session_type::sizes::slots); slots > 0)
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i].name = optimizer_weight_name(name_of_weight(trained_weight_order<M>[i / slots]),
                                               slot_name<session_type::sizes::training.optimizer>(i % slots));
    return result;
  }
  static sample_set joined(sample_set const& x, sample_set const& y) {
    sample_set all = x;
    for (auto const& each : y) all.add(each);
    return all;
  }

  void begin_results() {
    for (int replica = 0; replica < replicas; ++replica) results_[replica].begin();
  }
  /// Begins new means. All replicas get the moving means and other states of the first one.
  void begin_epoch() {
    begin_results();
    if constexpr (replicas > 1) std::get<0>(sessions_)->begin_run();
  }
  /// Runs all sub-steps of one step, in their order. `rows_of(replica, micro_batch)` returns the samples that they
  /// take, and is called by several threads.
  template <class RowsOf>
  void run(sample_set const& x, RowsOf const& rows_of) {
    for (int block = 0; block < facts.block_count; ++block)
      for (int time = 0; steps_ % facts.blocks[block].every == 0 && time < facts.blocks[block].times; ++time)
        for_each_sub_step([&]<std::size_t Number>() {
          constexpr auto number = static_cast<int>(Number);
          if (number >= facts.blocks[block].first && number < facts.blocks[block].end) run_sub_step<Number>(x, rows_of);
        });
    ++steps_;
  }
  template <std::size_t Number, class RowsOf>
  void run_sub_step(sample_set const& x, RowsOf const& rows_of) {
    using session_type = session_of_sub_step<Number>;
    auto const bring = [&](auto& to, int replica, int micro_batch) {
      load_inputs<session_type>(x, to, rows_of(replica, micro_batch));
      for (int i = 0; i < Options.batch_size; ++i) to.scale(0)[i] = 1.0F / static_cast<float>(Options.batch_size);
    };
    auto const take = [&](auto const& view) {
      results_[view.replica()].template add<Number>(view.prediction(0), Options.batch_size);
    };
    std::get<Number>(sessions_)->train(micro_batches, bring, take);
  }

  /// Visits the weights of a member, in the order of its model's trainer: `visit<Weight of the step>(index)`.
  template <std::size_t Member, class Visit>
  static void for_each_weight_of(Visit const& visit) {
    using M = model_of_member<Member>;
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (visit.template operator()<static_cast<std::size_t>(facts.members[Member].first_weight + weight_order<M>[Index])>(
           Index),
       ...);
    }(std::make_index_sequence<weight_order<M>.size()>{});
  }
  template <std::size_t Member>
  [[nodiscard]] std::vector<weight_array> weights_of_model() const {
    using M = model_of_member<Member>;
    std::vector<weight_array> result(weight_order<M>.size());
    for_each_weight_of<Member>([&]<std::size_t Weight>(std::size_t index) {
      make_room(result[index], weight_name<M>(weight_order<M>[index]),
                graph_of<M>.parameters[weight_order<M>[index]].shape);
      std::get<0>(sessions_)->template read_weight<Weight>(result[index].values.data());
    });
    return result;
  }
  template <std::size_t Member>
  void set_weights_of_model(std::vector<weight_array> weights) {
    using M = model_of_member<Member>;
    if (weights.size() != weight_order<M>.size())
      throw_data_error("E4009", "set_weights: expected %zu weights, found %zu", weight_order<M>.size(), weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i].name.clear();
      check_weight(weights[i], weight_name<M>(weight_order<M>[i]), graph_of<M>.parameters[weight_order<M>[i]].shape);
    }
    for_each_weight_of<Member>([&]<std::size_t Weight>(std::size_t index) {
      std::get<0>(sessions_)->template write_weight<Weight>(weights[index].values.data());
    });
    for_each_sub_step([&]<std::size_t Number>() { std::get<Number>(sessions_)->begin_run(); });
  }

  template <std::size_t... Number>
  static auto sessions_type(std::index_sequence<Number...>) -> std::tuple<owned<session_of_sub_step<Number>>...>;

  std::uint64_t seed_, fits_ = 0;
  std::int64_t epochs_ = 0;
  std::int64_t steps_ = 0;  // training steps since the trainer was made: see step.every
  decltype(sessions_type(std::make_index_sequence<sub_steps>{})) sessions_;
  results_type results_;
};

/// The kinds of trainer that carry out a step.
enum class step_kind : unsigned char { invalid, own, of_fit };
template <class Step, step_options Options, class Machine>
inline constexpr step_kind kind_of_step = step_problem<Step, Options, Machine>().failed() ? step_kind::invalid
                                          : is_step_of_fit<Step>                          ? step_kind::of_fit
                                                                                          : step_kind::own;

template <class Step, step_options Options, class Machine, step_kind Kind>
struct find_step_trainer {
  using type = own_step_trainer<Step, Options, Machine>;
};
template <class Step, step_options Options, class Machine>
struct find_step_trainer<Step, Options, Machine, step_kind::of_fit> {
  using type = fit_step_trainer<Step, Options, Machine>;
};
template <class Step, step_options Options, class Machine>
struct find_step_trainer<Step, Options, Machine, step_kind::invalid> {
  using type = invalid_step_trainer<Step>;
};

}  // namespace stagecraft::trainers

namespace stagecraft {

/// Trains with a step of one's own, on the host or, with <stagecraft/ipu.hpp>, on emulated IPUs:
///
///     sc::step_trainer<gan_step, sc::step_options{.batch_size = 64}> model;
///     model.fit(images, {.epochs = 20});
///
/// Each `minimize` of the step ends a sub-step, which is planned as a model of its own whose one layer computes the
/// loss from the step's inputs; all share the same weights. A step that does what `fit` does, with one model and one
/// loss by step.loss, is carried out by its model's own trainer. Errors: E2083 to E2090, E2098, E2099, and those of
/// layers and optimizers; E2044 to E2046 replicas; E2092 a cluster; E2103; E2110 sub-steps that do not fit into an IPU
/// together; E2111 a model with stages, unless the step does what `fit` does; E3010.
template <class Step, step_options Options = {}, class Machine = host<1>,
          class Verdict = typename detail::early_verdict<detail::step_problem<Step, Options, Machine>()>::checked>
using step_trainer = typename Verdict::template model<
    typename detail::find_step_trainer<Step, Options, Machine, detail::kind_of_step<Step, Options, Machine>>::type>;

}  // namespace stagecraft
