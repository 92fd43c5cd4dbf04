// SPDX-License-Identifier: BSD-3-Clause
// A program that trains allocates nothing after its first step.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/callbacks/callbacks.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include "../session_steps.hpp"
#include "counted_memory.hpp"

#include <doctest/doctest.h>

#include <new>
#include <string_view>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto x = flatten()(model.input(4, 5));
    dense shared(20, sc::gelu, {.kernel_regularizer = sc::regularizers::l2{0.01F}});
    auto a = dropout(0.25F)(shared(x));
    return dense(10)(concatenate()(shared(a), multiply()(a, x)));
  }
};

template <int Steps>
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = {sc::metrics::accuracy{}, sc::metrics::sparse_top_k_categorical_accuracy{.k = 3}},
                 .batch_size = 8,
                 .steps_per_execution = Steps};

/// With all queues and threads there are.
template <int Replicas>
inline constexpr auto queued = [] {
  auto result = training<4>;
  result.pipeline.gradient_accumulation_steps_per_replica = 4;
  result.num_replicas = Replicas;
  result.infeed_queue.prefetch_depth = 2;
  result.asynchronous_callbacks = true;
  return result;
}();
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{10}>;
inline constexpr auto single = sc::inference{.batch_size = 1, .steps_per_execution = 2};
using staged = sc::pipelined<network, [](auto& assignment) {
  for (auto& call : assignment) call.pipeline_stage = call.layer_name() == "dense_1" ? 1 : 0;
}>;

struct samples {
  xt::xtensor<float, 3> x;
  std::vector<int> y;
  std::vector<float> weight;
  explicit samples(std::size_t count)
      : x(xt::xtensor<float, 3>::from_shape({count, 4, 5})), y(count), weight(count, 0.5F) {
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * 7919 % 1000) / 1000;
    for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<int>(i % 10);
  }
};

/// Counts what is allocated from the end of each epoch's first batch to the end of its last one, all that runs between
/// batches included, when it is the last of the callbacks.
class watch : public sc::callback {
 public:
  long steps = 0, taken = 0;

  void on_epoch_begin(int, sc::logs&) override { before_ = -1; }
  void on_train_batch_end(int, sc::logs&) override { look(); }
  void on_test_begin(sc::logs&) override { before_ = -1; }
  void on_test_batch_end(int, sc::logs&) override { look(); }
  void on_predict_begin(sc::logs&) override { before_ = -1; }
  void on_predict_batch_end(int, sc::logs&) override { look(); }

 private:
  void look() {
    long const now = allocations();
    if (before_ >= 0) {
      ++steps;
      taken += now - before_;
    }
    before_ = now;
  }
  long before_ = -1;
};

/// A bar that is redrawn at each batch.
struct screen {
  std::size_t characters = 0;
  void operator()(std::string_view text) { characters += text.size(); }
};

template <class Run>
long allocations_of(Run const& run) {
  long const before = allocations();
  run();
  return allocations() - before;
}

}  // namespace

TEST_CASE("allocations are counted") {
  CHECK(allocations_of([] { ::operator delete(::operator new(8)); }) == 1);
  CHECK(allocations_of([] { ::operator delete(::operator new(64, std::align_val_t{64}), std::align_val_t{64}); }) == 1);
  std::vector<int> grown;
  CHECK(allocations_of([&] { grown.resize(100); }) == 1);
}

TEST_CASE("names that are long") {
  constexpr std::string_view name = "a_name_of_more_than_fifteen_characters";
  screen output;
  sc::progress_bar bar({.output = output});
  bar.show(name, 1);
  CHECK(allocations_of([&] {
          bar.restart(10);
          bar.show(name, 2);
        }) == 0);

  // Without memory for a name there is no entry.
  sc::logs logs;
  sc::trainers::named_series series;
  for (auto const* each : {"first", "second", "third"}) {
    logs[each] = 1;
    series.append(each, 1);
  }
  refuse_allocations(true);
  bool is_refused = false, both_are = false;
  try {
    logs[name] = 1;
  } catch (std::bad_alloc const&) {
    is_refused = true;
  }
  try {
    series.append(name, 1);
  } catch (std::bad_alloc const&) {
    both_are = is_refused;
  }
  refuse_allocations(false);
  CHECK(both_are);
  CHECK(logs.size() == 3);
  CHECK(series.size() == 3);
}

TEST_CASE("steps of a session") {
  session_steps<network, training<1>, sc::host<>> session;
  CHECK(allocations_of([&] {
          for (int i = 0; i < 10; ++i) {
            session.train_step([] {});
            session.test_step();
            session.predict_step();
          }
        }) == 0);
}

TEST_CASE_TEMPLATE("fit, with a bar, metrics, weights and validation", Model, sc::trainer<network, training<1>>,
                   sc::trainer<network, training<2>>) {
  samples const data(77), test(50);
  Model model;
  screen output;
  double now = 0;
  auto clock = [&] { return now += 1; };
  sc::callbacks::progbar_logger bar({.interval = 0, .output = output, .time = clock});
  watch counter;
  model.fit(data.x, data.y,
            {.epochs = 4,
             .verbose = 1,
             .callbacks = {&bar, &counter},
             .validation_data = test,
             .class_weight =
                 {{0, 1.F}, {1, 2.F}, {2, 1.F}, {3, 1.F}, {4, 1.F}, {5, 1.F}, {6, 1.F}, {7, 1.F}, {8, 1.F}, {9, 1.F}},
             .sample_weight = data.weight});
  CHECK(counter.steps >= 4 * 4);
  CHECK(counter.taken == 0);
  CHECK(output.characters > 1000);
}

TEST_CASE_TEMPLATE("prefetched batches, asynchronous callbacks, stages and replicas", Model,
                   sc::trainer<network, queued<1>>, sc::trainer<staged, queued<1>, sc::host<2>>,
                   sc::trainer<staged, queued<2>, sc::host<4>>) {
  samples const data(128), test(80);
  Model model;
  watch counter;
  model.fit(
      data.x, data.y,
      {.epochs = 3, .verbose = 0, .callbacks = {&counter}, .validation_data = test, .sample_weight = data.weight});
  model.evaluate(data.x, data.y, {.verbose = 0, .callbacks = {&counter}});
  model.predict(data.x, {.callbacks = {&counter}});
  CHECK(counter.steps >= 3 * 7);
  CHECK(counter.taken == 0);
}

TEST_CASE("evaluate and predict") {
  samples const data(77);
  sc::trainer<network, training<1>> model;
  screen output;
  double now = 0;
  auto clock = [&] { return now += 1; };
  sc::callbacks::progbar_logger bar({.interval = 0, .output = output, .time = clock});
  watch counter;
  model.evaluate(data.x, data.y, {.callbacks = {&bar, &counter}});
  model.predict(data.x, {.verbose = 1, .callbacks = {&bar, &counter}});
  CHECK(counter.steps == 18);
  CHECK(counter.taken == 0);
}

TEST_CASE("what a run allocates does not depend on the number of its steps") {
  samples const few(24), many(240);
  sc::trainer<network, training<1>> model;
  auto const fit = [&](samples const& data) {
    return allocations_of([&] { model.fit(data.x, data.y, {.verbose = 0}); });
  };
  auto const predict = [&](samples const& data) { return allocations_of([&] { model.predict(data.x); }); };
  CHECK(fit(few) == fit(many));
  CHECK(predict(few) == predict(many));
}

TEST_CASE("single batches allocate nothing") {
  samples const data(8);
  sc::trainer<network, training<1>> model;
  sc::sample_set const x = data.x, y = data.y;
  CHECK(allocations_of([&] {
          for (int i = 0; i < 10; ++i) {
            model.train_on_batch(x, y);
            model.train_on_batch(data.x, data.y, data.weight);
            model.test_on_batch(data.x, data.y);
          }
        }) == 0);
}

TEST_CASE_TEMPLATE("a predictor that is called allocates nothing", Model, sc::predictor<network, single>,
                   sc::predictor<staged, single, sc::host<2>>) {
  samples const data(1);
  Model model;
  float sum = 0;
  CHECK(allocations_of([&] {
          for (int i = 0; i < 10; ++i) sum += model(data.x)(0, 3);
        }) == 0);
  CHECK(sum == 10 * model.predict(data.x)(0, 3));
}

TEST_CASE("a predictor takes less than a third of the memory of a trainer") {
  using trainer = sc::trainer<mlp, training<1>>;
  using predictor = sc::predictor<mlp, sc::inference{.batch_size = 8}>;
  auto const bytes_of = []<class Model>(Model const*) {
    long long const before = allocated_bytes();
    Model const model;
    return allocated_bytes() - before;
  };
  // What initializing the weights takes for a moment is counted, too, with the predictor.
  long long const weights = sc::engine::weight_storage_of<mlp, sc::host<>::architecture>.floats * 4;
  long long const predictor_bytes = bytes_of(static_cast<predictor const*>(nullptr)) - weights;
  CHECK(predictor_bytes > weights);
  CHECK(predictor_bytes * 3 < bytes_of(static_cast<trainer const*>(nullptr)));
}
