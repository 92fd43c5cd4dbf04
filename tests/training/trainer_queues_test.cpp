// SPDX-License-Identifier: BSD-3-Clause
// Batches that a thread makes ready, and callbacks that a thread calls: what is computed and seen stays the same.
#include "execution_cases.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <thread>

using cases::log_recorder, cases::recorder, cases::samples;

namespace {

constexpr auto as_it_is = [](auto&) {};
constexpr auto prefetched = [](auto& training) { training.infeed_queue.prefetch_depth = 1; };
constexpr auto deeply_prefetched = [](auto& training) { training.infeed_queue.prefetch_depth = 5; };
constexpr auto asynchronous = [](auto& training) { training.asynchronous_callbacks = true; };
constexpr auto shortly_queued = [](auto& training) {
  training.asynchronous_callbacks = true;
  training.outfeed_queue.buffer_depth = 1;
  training.infeed_queue.prefetch_depth = 2;
  training.infeed_queue.optimise_latency = training.outfeed_queue.optimise_latency = true;  // changes nothing
};

/// Gives what it gets, until it has been asked too often.
std::atomic<int> asked_until_failure = 0;
struct failing : sc::layer<failing> {
  static constexpr std::string_view class_name = "Failing";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    if (--asked_until_failure == 0) throw std::runtime_error("thrown by a layer");
    std::copy_n(call.input().data(), call.input().size(), call.output().data());
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output_gradient().size(); ++i)
      call.input_gradient()[i] += call.output_gradient()[i];
  }
};
using failing_model = sc::sequential<input{4}, dense{8, sc::relu}, failing{}, dense{3}>;
using failing_stages = sc::pipelined<failing_model, sc::stages<0, 1, 1>>;

/// All that a run gives.
struct outcome {
  std::vector<double> losses, validation_losses, evaluated;
  xt::xtensor<float, 2> predicted;
  std::vector<sc::weight_array> weights;
  log_recorder calls;
};

template <class Trainer>
outcome run(int epochs = 2) {
  samples const data(32 * 4), test(37);
  Trainer model;
  outcome result;
  auto const history = model.fit(
      data.x, data.y, {.epochs = epochs, .verbose = 0, .callbacks = {&result.calls}, .validation_data = test});
  result.losses = history.at("loss");
  result.validation_losses = history.at("val_loss");
  for (double const value : model.evaluate(data.x, data.y, {.verbose = 0, .callbacks = {&result.calls}}))
    result.evaluated.push_back(value);
  result.predicted = model.predict(test.x, {.callbacks = {&result.calls}});
  result.weights = model.get_weights();
  return result;
}

void check_equal(outcome const& a, outcome const& b) {
  CHECK(a.losses == b.losses);
  CHECK(a.validation_losses == b.validation_losses);
  CHECK(a.evaluated == b.evaluated);
  CHECK(a.predicted == b.predicted);
  CHECK(a.weights == b.weights);
}

#define WAYS cases::staged_way, cases::threaded_way, cases::replicated_stages

}  // namespace

TEST_CASE_TEMPLATE("prefetched batches are the same batches", Way, WAYS) {
  auto const expected = run<typename Way::template trainer<as_it_is>>();
  check_equal(run<typename Way::template trainer<prefetched>>(), expected);
  check_equal(run<typename Way::template trainer<deeply_prefetched>>(), expected);
}

TEST_CASE("prefetched batches hold all class numbers of a sample") {
  // 32 of a batch, more than a cache line.
  static constexpr auto plain =
      sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true, .axis = 1},
                   .metrics = sc::metrics::sparse_categorical_crossentropy{.from_logits = true, .axis = 1},
                   .batch_size = 4};
  static constexpr auto queued = [] {
    auto result = plain;
    result.infeed_queue.prefetch_depth = 2;
    return result;
  }();
  using rows = sc::sequential<input{4}, dense{24}, sc::layers::reshape{3, 8}>;
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({13, 4}), y = xt::xtensor<float, 2>::from_shape({13, 8});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i * i % 11) - 5;
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = static_cast<float>(i * i % 7 % 3);
  sc::trainer<rows, plain> of_caller;
  sc::trainer<rows, queued> of_thread;
  auto const expected = of_caller.evaluate(x, y, {.verbose = 0}), found = of_thread.evaluate(x, y, {.verbose = 0});
  CHECK(found[0] == expected[0]);
  CHECK(found[1] == expected[1]);
  CHECK(found[1] == doctest::Approx(found[0]).epsilon(1e-5));
}

TEST_CASE_TEMPLATE("asynchronous callbacks see every step, with the values of synchronous ones", Way, WAYS) {
  auto const expected = run<typename Way::template trainer<as_it_is>>();
  auto const found = run<typename Way::template trainer<asynchronous>>();
  check_equal(found, expected);
  int const steps = 16 / Way::replicas;
  int const validation_steps = 5 / Way::replicas, predicted_steps = (5 + Way::replicas - 1) / Way::replicas;
  auto const all = static_cast<std::size_t>(3 * steps + 2 * validation_steps + predicted_steps);
  CHECK(found.calls.ends.size() == all * Way::replicas);
  CHECK(found.calls.begins == static_cast<int>(all * Way::replicas));
  CHECK(expected.calls.begins == static_cast<int>(expected.calls.ends.size()));
  // A last execution may be shorter. Replicas report a step one after the other, each what is its own.
  std::size_t next = 0, different = 0;
  for (std::size_t i = Way::replicas - 1; i < found.calls.ends.size(); i += Way::replicas) {
    auto const& each = found.calls.ends[i];
    CHECK(found.calls.ends[i - Way::replicas + 1].batch == each.batch);
    different += found.calls.ends[i - Way::replicas + 1].values != each.values ? 1 : 0;
    if (next < expected.calls.ends.size() && each.kind == expected.calls.ends[next].kind &&
        each.batch == expected.calls.ends[next].batch) {
      CHECK(each.values == expected.calls.ends[next].values);
      ++next;
    }
  }
  CHECK(next == expected.calls.ends.size());
  CHECK((different > 0) == (Way::replicas > 1));

  auto const queued = run<typename Way::template trainer<shortly_queued>>();
  check_equal(queued, expected);
  CHECK(queued.calls.ends == found.calls.ends);
}

TEST_CASE_TEMPLATE("hooks of epochs come after those of all their batches, on the caller's thread", Way, WAYS) {
  struct order : recorder {
    std::thread::id const caller = std::this_thread::get_id();
    int elsewhere = 0;

    void on_epoch_end(int epoch, sc::logs& values) override {
      CHECK(std::this_thread::get_id() == caller);
      recorder::on_epoch_end(epoch, values);
    }
    void on_train_batch_end(int batch, sc::logs& values) override {
      elsewhere += std::this_thread::get_id() != caller ? 1 : 0;
      recorder::on_train_batch_end(batch, values);
    }
  } calls;
  samples const data(32 * Way::replicas);
  typename Way::template trainer<asynchronous> model;
  model.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .callbacks = {&calls}});
  CHECK(calls.text == (Way::replicas == 1 ? "T( e0( b0-0 b1-1 b2-2 b3-3 )e0 e1( b0-0 b1-1 b2-2 b3-3 )e1 )T "
                                          : "T( e0( b0-0 b0-0 b1-1 b1-1 b2-2 b2-2 b3-3 b3-3 )e0 "
                                            "e1( b0-0 b0-0 b1-1 b1-1 b2-2 b2-2 b3-3 b3-3 )e1 )T "));
  CHECK(calls.elsewhere == 8 * Way::replicas);
}

TEST_CASE_TEMPLATE("what an asynchronous callback throws ends the run and reaches the caller", Way, WAYS) {
  struct thrower : sc::callback {
    int at = 0;
    void on_train_batch_end(int batch, sc::logs&) override {
      if (batch == at) throw std::runtime_error("thrown by a callback");
    }
    void on_test_batch_begin(int batch, sc::logs&) override {
      if (batch == at) throw std::runtime_error("thrown by a callback");
    }
  } callback;
  samples const data(32 * 4);
  typename Way::template trainer<shortly_queued> model;
  int const steps = 16 / Way::replicas;
  for (callback.at = 0; callback.at < steps; ++callback.at) {
    CHECK_THROWS_WITH_AS(model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&callback}}), "thrown by a callback",
                         std::runtime_error);
    CHECK_THROWS_WITH_AS(model.evaluate(data.x, data.y, {.verbose = 0, .callbacks = {&callback}}),
                         "thrown by a callback", std::runtime_error);
  }
  // The model goes on as one that nothing has happened to.
  recorder calls;
  model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&calls}});
  CHECK(calls.text.find("-" + std::to_string(steps - 1) + " )e0 )T ") != std::string::npos);
}

TEST_CASE_TEMPLATE("training stops after the execution in which a callback asked for it", Way, WAYS) {
  struct stopper : recorder {
    void on_train_batch_end(int batch, sc::logs& values) override {
      recorder::on_train_batch_end(batch, values);
      model().stop_training = true;
    }
  } calls;
  samples const data(32 * 8);
  typename Way::template trainer<asynchronous> model;
  auto const history = model.fit(data.x, data.y, {.epochs = 3, .verbose = 0, .callbacks = {&calls}});
  CHECK(history.epoch.size() == 1);
  // Executions that had begun are seen to their end.
  auto const last = calls.text.substr(0, calls.text.find(" )e0"));
  auto const batch = std::stoi(last.substr(last.rfind('-') + 1));
  CHECK(batch % 4 == 3);
  CHECK(batch < 32 / Way::replicas);
  CHECK(calls.text.find("e1") == std::string::npos);
}

TEST_CASE("asynchronous callbacks change the learning rate, and keep off the weights") {
  struct changer : sc::callback {
    int refused = 0;
    void on_train_batch_end(int, sc::logs&) override {
      model().set_learning_rate(model().learning_rate() * 0.5F);
      try {
        static_cast<void>(model().get_weights());
      } catch (sc::data_error const& error) {
        refused += std::string_view(error.what()).find("E4042") != std::string_view::npos ? 1 : 0;
      }
    }
    void on_epoch_end(int, sc::logs&) override { model().set_weights(model().get_weights()); }
  } callback;
  samples const data(32);
  cases::unstaged_way::trainer<asynchronous> model;
  model.set_learning_rate(1);
  model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&callback}});
  CHECK(callback.refused == 4);
  CHECK(model.learning_rate() == 0.0625F);
}

TEST_CASE_TEMPLATE("the progress bar counts steps of a replica", Way, WAYS) {
  struct screen {
    std::string text;
    void operator()(std::string_view added) { text += added; }
  } output;
  double now = 0;
  auto clock = [&] { return now += 1; };
  sc::callbacks::progbar_logger bar(
      {.interval = 0, .display = sc::display_mode::lines, .output = output, .time = clock});
  samples const data(32 * Way::replicas);
  typename Way::template trainer<asynchronous> model;
  model.fit(data.x, data.y, {.callbacks = {&bar}});
  for (char const* state : {"1/4 [", "2/4 [", "3/4 [", "4/4 [=="}) CHECK(output.text.find(state) != std::string::npos);
  MESSAGE(output.text);
}

TEST_CASE_TEMPLATE("what a layer throws reaches the caller, though others wait for batches and callbacks", Way,
                   cases::way<failing_model>, cases::way<failing_model, sc::host<3>, 3>,
                   cases::way<failing_stages, sc::host<4>, 2>) {
  samples const data(32 * 6);
  typename Way::template trainer<shortly_queued> model;
  int const steps = 24;
  for (int failure = 1; failure <= steps; ++failure) {
    asked_until_failure = failure;
    CHECK_THROWS_WITH_AS(model.fit(data.x, data.y, {.verbose = 0}), "thrown by a layer", std::runtime_error);
    asked_until_failure = failure;
    CHECK_THROWS_WITH_AS(model.predict(data.x), "thrown by a layer", std::runtime_error);
  }
  asked_until_failure = 0;
  log_recorder calls;
  model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&calls}});
  CHECK(calls.ends.size() == static_cast<std::size_t>(steps));
}
