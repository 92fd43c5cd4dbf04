// SPDX-License-Identifier: BSD-3-Clause
// A trainer of a model with stages gives the bits of one without: weights, histories, evaluations, predictions, and
// what callbacks see, once per execution or, asynchronously, after each step.
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/callbacks/callbacks.hpp>
#include <stagecraft/training/trainer.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "made_data.hpp"

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3, 3);
    dense shared(9, sc::tanh);
    auto a = shared(flatten()(x));
    auto b = dropout(0.25F)(dense(9, sc::relu)(a));
    auto c = shared(add()(a, b));
    auto d = batch_normalization()(concatenate()(c, b));
    return sc::outputs(dense(4)(d), dense(2)(c));
  }
};
// In Keras's order: flatten, dense, dense_1, dropout, add, dense, ...
constexpr int stage_of_layer(std::string_view name, int node) {
  if (name == "flatten" || (name == "dense" && node == 0)) return 0;
  if (name == "dense_1" || name == "dropout") return 1;
  return name == "add" || name == "dense" ? 2 : 3;
}
inline constexpr auto four = [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = stage_of_layer(call.layer_name(), call.node_index());
};
using four_stages = sc::pipelined<network, four, sc::device_mapping<0, 1, 0, 2>>;

template <sc::schedule Schedule, int Replicas, bool Asynchronous, bool AccumulateOutfeed = false>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                 .loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                                sc::losses::mean_squared_error{}),
                 .metrics = sc::metrics::per_output({"dense_3", sc::metrics::mae{}}, {"dense_2", sc::metrics::acc{}}),
                 .loss_weights = {1, 0.5},
                 .weighted_metrics = sc::metrics::accuracy{},
                 .batch_size = 4,
                 .steps_per_execution = 16,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8,
                              .reduction_method = sc::gradient_accumulation_reduction_method::mean,
                              .schedule = Schedule,
                              .accumulate_outfeed = AccumulateOutfeed},
                 .num_replicas = Replicas,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::mean,
                 .asynchronous_callbacks = Asynchronous};

struct samples {
  xt::xtensor<float, 3> x;
  std::vector<int> y;
  xt::xtensor<float, 2> z;
  std::vector<float> weights;

  explicit samples(std::size_t count, int first = 0)
      : x(xt::xtensor<float, 3>::from_shape({count, 3, 3})),
        y(count),
        z(xt::xtensor<float, 2>::from_shape({count, 2})),
        weights(count) {
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = random_runs::number(first, static_cast<int>(i));
    for (std::size_t i = 0; i < z.size(); ++i) z.data()[i] = random_runs::number(first + 1, static_cast<int>(i));
    for (std::size_t i = 0; i < count; ++i)
      y[i] = static_cast<int>(i * 7 % 4), weights[i] = static_cast<float>(i % 5) / 2;
  }
};

/// Writes down each hook with its number and logs.
class recorder : public sc::callback {
 public:
  using entry = std::tuple<std::string, int, std::vector<double>>;
  std::vector<entry> entries;

  void on_train_begin(sc::logs& values) override { add("train_begin", 0, values); }
  void on_train_end(sc::logs& values) override { add("train_end", 0, values); }
  void on_epoch_begin(int epoch, sc::logs& values) override { add("epoch_begin", epoch, values); }
  void on_epoch_end(int epoch, sc::logs& values) override { add("epoch_end", epoch, values); }
  void on_train_batch_begin(int batch, sc::logs&) override { add("train_batch_begin", batch, {}); }
  void on_train_batch_end(int batch, sc::logs& values) override { add("train_batch_end", batch, values); }
  void on_test_begin(sc::logs&) override { add("test_begin", 0, {}); }
  void on_test_end(sc::logs& values) override { add("test_end", 0, values); }
  void on_test_batch_end(int batch, sc::logs& values) override { add("test_batch_end", batch, values); }
  void on_predict_batch_end(int batch, sc::logs& values) override { add("predict_batch_end", batch, values); }

  /// What was seen at the end of batches, by kind, run and number.
  [[nodiscard]] std::map<std::tuple<std::string, int, int>, std::vector<double>> ends_of_batches() const {
    std::map<std::tuple<std::string, int, int>, std::vector<double>> result;
    int run = 0;
    for (auto const& [hook, number, values] : entries) {
      if (hook == "epoch_begin" || hook == "test_begin" || hook == "test_end") ++run;
      if (hook.ends_with("batch_end")) result[{hook, run, number}] = values;
    }
    return result;
  }

 private:
  void add(char const* hook, int number, sc::logs const& values) {
    std::vector<double> numbers;
    for (auto const& each : values) numbers.push_back(each.value);
    entries.emplace_back(hook, number, numbers);
  }
};

template <class Tensor>
std::vector<float> floats_of(Tensor const& tensor) {
  return {tensor.data(), tensor.data() + tensor.size()};
}

/// All that a user can see of some runs of a trainer.
struct outcome {
  std::vector<recorder::entry> seen;
  std::map<std::tuple<std::string, int, int>, std::vector<double>> ends_of_batches;
  std::vector<double> numbers;
  std::vector<float> weights, predictions;
};

template <class M, auto Training, int Threads>
outcome run() {
  samples const train(4 * 64 * std::size_t{Training.num_replicas}),
      test(4 * 32 * std::size_t{Training.num_replicas}, 77);
  sc::trainer<M, Training, sc::host<Threads>> model(9);
  static_assert(sc::is_pipelined<M> == (Threads > 1));
  using session_type = typename std::remove_cvref_t<decltype(model)>::session_type;
  static_assert(std::same_as<session_type, sc::engine::session_of<M, Training, sc::host<Threads>>>);
  recorder seen;
  auto const targets = [](samples const& from) { return sc::inputs(from.y, from.z); };
  auto const history = model.fit(train.x, targets(train),
                                 {.epochs = 3,
                                  .verbose = 0,
                                  .callbacks = {&seen},
                                  .validation_data = {test.x, targets(test)},
                                  .sample_weight = train.weights});
  outcome result;
  for (auto const& series : history.history)
    result.numbers.insert(result.numbers.end(), series.values.begin(), series.values.end());
  for (double const value : model.evaluate(test.x, targets(test), {.verbose = 0, .callbacks = {&seen}}))
    result.numbers.push_back(value);
  auto const [classes, numbers] = model.predict(test.x, {.callbacks = {&seen}});
  result.predictions = floats_of(classes);
  auto const more = floats_of(numbers);
  result.predictions.insert(result.predictions.end(), more.begin(), more.end());
  for (auto const& weight : model.get_weights())
    result.weights.insert(result.weights.end(), weight.values.begin(), weight.values.end());
  result.seen = seen.entries;
  result.ends_of_batches = seen.ends_of_batches();
  return result;
}

// What only evaluates and predicts needs no number of micro-batches per weight update, has stages as it likes, and
// executions of any length.
template <sc::schedule Schedule, int StepsPerExecution>
inline constexpr auto evaluation = sc::training{.optimizer = sc::optimizers::adam{},
                                                .loss = training<Schedule, 1, false>.loss,
                                                .metrics = training<Schedule, 1, false>.metrics,
                                                .loss_weights = {1, 0.5},
                                                .weighted_metrics = sc::metrics::accuracy{},
                                                .batch_size = 4,
                                                .steps_per_execution = StepsPerExecution,
                                                .pipeline = {.schedule = Schedule}};
inline constexpr auto one_by_one = [](auto& assignment) {
  int stage = 0;
  for (auto& call : assignment) call.pipeline_stage = stage < 5 ? stage++ : 5;
};
using six_on_one_device = sc::pipelined<network, one_by_one, sc::device_mapping<0, 0, 0, 0, 0, 0>>;
struct small : sc::functional<small> {
  static constexpr auto build(auto& model) { return dense(4)(flatten()(model.input(3, 3))); }
};
using inputs_first = sc::pipelined<small, sc::stages<1, 1>>;
inline constexpr auto of_small = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 4,
                                              .steps_per_execution = 12,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

template <class Trained, class M, auto Training, int Threads>
void check_evaluation(Trained& trained) {
  samples const test(4 * 31);
  auto const targets = sc::inputs(test.y, test.z);
  sc::trainer<M, Training, sc::host<Threads>> model(10);
  model.set_weights(trained.get_weights());
  CHECK(model.evaluate(test.x, targets, {.verbose = 0}) == trained.evaluate(test.x, targets, {.verbose = 0}));
  auto const [a, b] = model.predict(test.x);
  auto const [c, d] = trained.predict(test.x);
  CHECK(random_runs::first_difference(floats_of(a), floats_of(c)) == -1);
  CHECK(random_runs::first_difference(floats_of(b), floats_of(d)) == -1);
}

void check_same_results(outcome const& a, outcome const& b) {
  CHECK(a.weights.size() > 100);
  CHECK(random_runs::first_difference(a.weights, b.weights) == -1);
  CHECK(random_runs::first_difference(a.predictions, b.predictions) == -1);
  CHECK(a.numbers == b.numbers);
}
void check_same(outcome const& a, outcome const& b) {
  check_same_results(a, b);
  CHECK(a.seen.size() > 20);
  CHECK(a.seen == b.seen);
}

/// With and without stages, synchronous and asynchronous.
template <sc::schedule Schedule, int Replicas, int Threads>
void check_trainers() {
  constexpr auto together = training<Schedule, Replicas, false>, alone = training<Schedule, Replicas, true>;
  auto const plain = run<network, together, 1>(), staged = run<four_stages, together, Threads>();
  check_same(plain, staged);
  auto const plain_alone = run<network, alone, 1>(), staged_alone = run<four_stages, alone, Threads>();
  check_same(plain_alone, staged_alone);
  // Asynchronous callbacks see every step, among them those that end an execution.
  check_same_results(plain, staged_alone);
  CHECK(staged_alone.ends_of_batches.size() > 10 * staged.ends_of_batches.size());
  for (auto const& [key, values] : staged.ends_of_batches) {
    auto const found = staged_alone.ends_of_batches.find(key);
    REQUIRE(found != staged_alone.ends_of_batches.end());
    CHECK(found->second == values);
  }
}

}  // namespace

TEST_CASE("a trainer of a grouped pipeline") { check_trainers<sc::schedule::grouped, 1, 2>(); }

TEST_CASE("a trainer of a sequential pipeline with replicas") { check_trainers<sc::schedule::sequential, 2, 3>(); }

TEST_CASE("a trainer that accumulates results") {
  constexpr auto accumulating = training<sc::schedule::grouped, 2, false, true>;
  check_same(run<network, accumulating, 1>(), run<four_stages, accumulating, 2>());
}

TEST_CASE("trainers of which nothing is said how weights are updated, evaluate") {
  samples const train(4 * 64);
  sc::trainer<network, training<sc::schedule::grouped, 1, false>, sc::host<1>> trained(9);
  trained.fit(train.x, sc::inputs(train.y, train.z), {.verbose = 0});
  check_evaluation<decltype(trained), four_stages, evaluation<sc::schedule::interleaved, 7>, 2>(trained);
  check_evaluation<decltype(trained), six_on_one_device, evaluation<sc::schedule::grouped, 6>, 1>(trained);
}

TEST_CASE("a trainer of stages of which the first one has only the inputs") {
  samples const train(4 * 60);
  auto const weights = [&](auto&& model) {
    model.fit(train.x, train.y, {.epochs = 2, .verbose = 0});
    return model.get_weights();
  };
  CHECK(weights(sc::trainer<inputs_first, of_small, sc::host<2>>(9)) ==
        weights(sc::trainer<small, of_small, sc::host<1>>(9)));
}
