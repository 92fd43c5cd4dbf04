// SPDX-License-Identifier: BSD-3-Clause
// The law of pipelines: whatever the stages, devices, threads and options of storage, a model does with the bits what
// it does without stages, with the same accumulation and the same replicas.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>

#include <doctest/doctest.h>

#include <string>

#include "made_data.hpp"
#include "option_rows.hpp"
#include "random_models.hpp"
#include "random_stages.hpp"

namespace random_runs {

template <option_row Row>
constexpr auto optimizer_of() {
  if constexpr (Row.optimizer() == 0)
    return sc::optimizers::sgd{.learning_rate = 0.02F, .momentum = 0.5F};
  else if constexpr (Row.optimizer() == 1)
    return sc::optimizers::adam{.global_clipnorm = 0.5F};  // of all devices
  else
    return sc::optimizers::lamb{.clipnorm = 0.25F};
}

template <class M>
constexpr auto loss_of_model() {
  constexpr sc::losses::sparse_categorical_crossentropy classes{.from_logits = true};
  if constexpr (sc::outputs_of<M>.size() == 1)
    return classes;
  else
    return sc::losses::per_output(classes, sc::losses::mean_squared_error{});
}

template <class M>
constexpr sc::jobs::output_weights weights_of_losses() {
  return sc::outputs_of<M>.size() == 1 ? sc::jobs::output_weights(1.5) : sc::jobs::output_weights(1, 0.25);
}

/// Micro-batches per weight update, without batch serialization: as many rounds of the schedule as are drawn.
constexpr int accumulation_of(option_row const& row, unsigned seed) {
  int const rounds = 1 + static_cast<int>(seed % 2);
  switch (row.schedule()) {
    case sc::schedule::grouped: return rounds * 2 * row.stages();
    case sc::schedule::interleaved: return rounds * row.stages();
    default: return 1 + static_cast<int>(seed % 4);
  }
}

template <class M, option_row Row, sc::pipelining_options Options>
inline constexpr auto training_with =
    sc::training{.optimizer = optimizer_of<Row>(),
                 .loss = loss_of_model<M>(),
                 .loss_weights = weights_of_losses<M>(),
                 .batch_size = 2 + Row.stages() % 3,
                 .steps_per_execution = 40 * Options.gradient_accumulation_steps_per_replica,
                 .pipeline = Options,
                 .num_replicas = Row.replicas(),
                 .cross_replica_reduction = Row.cross_replica_reduction()};

/// The machine that carries out the stages, with so many threads.
template <int Threads>
struct on_host {
  using type = sc::host<Threads>;
};

/// A model, one row of options, and stages, with a seed for what the row does not say.
template <class M, unsigned RowSeed, template <int> class Machine = on_host>
struct equality {
  static constexpr option_row row{RowSeed};
  static constexpr int accumulation = accumulation_of(row, RowSeed / 3);
  static constexpr sc::pipelining_options plain_options{
      .gradient_accumulation_steps_per_replica = accumulation * row.batch_serialization(),
      .reduction_method = row.reduction_method(),
      .gradient_accumulation_dtype = row.accumulation_dtype()};
  static constexpr sc::pipelining_options staged_options{
      .gradient_accumulation_steps_per_replica = accumulation,
      .reduction_method = row.reduction_method(),
      .schedule = row.schedule(),
      .recomputation_mode = row.recomputation_mode(),
      .gradient_accumulation_dtype = row.accumulation_dtype(),
      .batch_serialization_iterations = row.batch_serialization(),
      .offload_activations = row.activations(),
      .offload_gradient_accumulation_buffers = row.gradients(),
      .offload_weight_update_variables = row.optimizer_state(),
      .offload_weights = row.weights(),
      .replicated_optimizer_state_sharding = row.shards_optimizer_state(),
      .replicated_weight_sharding = row.shards_weights()};

  using staged_model = typename with_random_stages<M, row.stages(), RowSeed, row.devices()>::type;
  using plain = sc::engine::session_of<M, training_with<M, row, plain_options>, sc::host<>>;
  using staged = sc::engine::session_of<staged_model, training_with<M, row, staged_options>,
                                        typename Machine<row.threads()>::type>;

  static void run() {
    CAPTURE(RowSeed);
    CAPTURE(sc::graph_of<M>.order.size());
    plain expected(RowSeed + 1);
    staged actual(RowSeed + 1);
    check_weights(expected, actual, "first weights");
    expected.begin_run();
    actual.begin_run();
    expected.begin_accumulation();
    actual.begin_accumulation();

    int const update = accumulation * row.batch_serialization();
    int const others = 2 * row.stages() * row.batch_serialization();
    int first = 0;
    auto const train = [](auto& session, int steps, auto const& feed, auto const& look) {
      session.train(steps, feed, look);
    };
    auto const test = [](auto& session, int steps, auto const& feed, auto const& look) {
      session.test(steps, feed, look);
    };
    auto const predict = [](auto& session, int steps, auto const& feed, auto const& look) {
      session.predict(steps, feed, look);
    };
    auto const both = [&](auto const& execute, int steps, std::string const& what) {
      auto const a = results_of(expected, steps, first, execute), b = results_of(actual, steps, first, execute);
      CAPTURE(what);
      CHECK(first_difference(a, b) == -1);
      check_weights(expected, actual, what);
      first += steps;
    };
    both(predict, others, "predictions with the first weights");
    both(train, 2 * update, "two updates in one execution");
    both(test, others, "an evaluation");
    both(test, 1, "an evaluation of one micro-batch");
    expected.set_learning_rate(expected.learning_rate() / 2);
    actual.set_learning_rate(actual.learning_rate() / 2);
    both(train, update, "an update with another learning rate");
    both(predict, others + 1, "predictions");
    both(train, update, "an update after predictions");
    CHECK(actual.learning_rate() == expected.learning_rate());
  }

 private:
  template <class Session>
  static std::vector<float> results_of(Session& session, int steps, int first, auto const& execute) {
    seen_results<Session> seen(steps);
    execute(session, steps, made_data<Session>(first), [&](auto const& view) { seen.add(view); });
    CHECK(seen.saw_each_once());
    return seen.floats();
  }
  static void check_weights(plain const& expected, staged const& actual, std::string const& when) {
    CAPTURE(when);
    auto const a = weights_of(expected), b = weights_of(actual);
    CHECK(first_difference(a, b) == -1);
    for (float const weight : a)
      if (!(weight > -100 && weight < 100)) FAIL_CHECK("a weight is far out: ", weight);
  }
};

}  // namespace random_runs
