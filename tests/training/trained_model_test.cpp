// SPDX-License-Identifier: BSD-3-Clause
// One thread at a time calls a trainer or a predictor; predictors that share their weights are for several.
#include <stagecraft/datasets/digits.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/training/callbacks/lambda_callback.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

#include <atomic>
#include <cstddef>
#include <doctest/doctest.h>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{8, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 16};
using trainer = sc::trainer<mlp, training>;
using predictor = sc::predictor<mlp, sc::inference{.batch_size = 4}>;
using stateful = sc::sequential<input{2, 3}.of_batch_size(2), simple_rnn{4, {.stateful = true}}>;

auto const& digits() {
  static auto const data = sc::datasets::digits({.train = 32, .test = 16});
  return data;
}

sc::sample_set part(sc::sample_set const& whole, std::ptrdiff_t first, std::ptrdiff_t count) {
  return whole.slice(first, count);
}

/// The code of what `f` throws on another thread; empty if it throws nothing.
template <class F>
std::string error_elsewhere(F const& f) {
  std::string code;
  std::thread([&] {
    try {
      f();
    } catch (sc::data_error const& error) {
      code = error.code();
    }
  }).join();
  return code;
}

/// Does something at the first batch.
struct at_batch : sc::callback {
  std::function<void()> what;
  explicit at_batch(std::function<void()> f) : what(std::move(f)) {}
  void on_train_batch_end(int, sc::logs&) override { once(); }
  void on_predict_batch_end(int, sc::logs&) override { once(); }
  void once() {
    if (what) std::exchange(what, nullptr)();
  }
};

}  // namespace

TEST_CASE("a call of a predictor during a call of another thread is refused, in every function") {
  auto const& x = digits().test.x;
  predictor model;
  auto const right = model.predict(x);
  auto const weights = model.get_weights();
  std::vector<std::string> codes;
  at_batch during([&] {
    codes.push_back(error_elsewhere([&] { (void)model.predict(x); }));
    codes.push_back(error_elsewhere([&] { (void)model(part(x, 0, 1)); }));
    codes.push_back(error_elsewhere([&] { (void)model.predict_on_batch(part(x, 0, 1)); }));
    codes.push_back(error_elsewhere([&] { model.set_weights(weights); }));
    codes.push_back(error_elsewhere([&] { (void)model.get_weights(); }));
    codes.push_back(error_elsewhere([&] { model.reset_states(); }));
    codes.push_back(error_elsewhere([&] { (void)model.sharing_weights(); }));
    CHECK(model.get_weights() == weights);  // the caller's own thread
  });
  CHECK(model.predict(x, {.callbacks = {&during}}) == right);
  CHECK(codes == std::vector<std::string>(7, "E4107"));
  CHECK(error_elsewhere([&] { CHECK(model.predict(x) == right); }).empty());  // one thread after the other

  at_batch fails([] { throw 9; });
  CHECK_THROWS_AS(model.predict(x, {.callbacks = {&fails}}), int);
  CHECK(error_elsewhere([&] { CHECK(model.predict(x) == right); }).empty());  // a call that fails ends, too
}

TEST_CASE("no number of a predictor is of two threads") {
  auto const& x = digits().test.x;
  predictor model;
  auto const right = model.predict(x);
  std::atomic<int> wrong = 0, refused = 0;
  auto const call = [&] {
    for (int i = 0; i < 200; ++i) try {
        if (!(model.predict_on_batch(part(x, 4, 4)) == xt::view(right, xt::range(4, 8)))) ++wrong;
      } catch (sc::data_error const& error) {
        refused += error.code() == "E4107" ? 1 : 1000;
      }
  };
  std::thread other(call);
  call();
  other.join();
  CHECK((wrong == 0 && refused < 400));
}

TEST_CASE("predictors that share their weights run at the same time") {
  auto const& x = digits().test.x;
  predictor first;
  auto const right = first.predict(x);
  {
    auto second = first.sharing_weights(), third = second.sharing_weights();
    std::atomic<int> wrong = 0;
    auto const call = [&](predictor& own) {
      for (int i = 0; i < 20; ++i)
        if (!(own.predict(x) == right)) ++wrong;
    };
    std::thread a([&] { call(second); }), b([&] { call(third); });
    call(first);
    a.join();
    b.join();
    CHECK(wrong == 0);
    CHECK(std::as_const(second.session()).weight(0) == std::as_const(first.session()).weight(0));
    for (predictor* const each : {&first, &second, &third}) {
      try {
        each->set_weights(predictor(7).get_weights());
        CHECK(false);
      } catch (sc::data_error const& error) {
        CHECK(std::string(error.code()) == "E4108");
      }
    }
    CHECK(third.get_weights() == first.get_weights());
    first = std::move(third);  // the weights stay as long as one of them
  }
  CHECK(first.predict(x) == right);
  auto const others = predictor(7).get_weights();
  first.set_weights(others);  // they are of one predictor again
  CHECK(first.get_weights() == others);

  sc::predictor<stateful, sc::inference{.batch_size = 2}> keeps;
  auto copy = keeps.sharing_weights();
  CHECK(copy.get_weights() == keeps.get_weights());
  copy.reset_states();  // its own
}

TEST_CASE("a trainer is one thread's as well, and its callbacks may call it") {
  auto const& [train, test] = digits();
  trainer model;
  std::vector<std::string> codes;
  at_batch during([&] {
    codes.push_back(error_elsewhere([&] { model.fit(train.x, train.y, {.verbose = 0}); }));
    codes.push_back(error_elsewhere([&] { (void)model.evaluate(test.x, test.y, {.verbose = 0}); }));
    codes.push_back(error_elsewhere([&] { (void)model.predict(test.x); }));
    codes.push_back(error_elsewhere([&] { (void)model(part(test.x, 0, 1)); }));
    codes.push_back(error_elsewhere([&] { (void)model.train_on_batch(part(train.x, 0, 2), part(train.y, 0, 2)); }));
    codes.push_back(error_elsewhere([&] { (void)model.test_on_batch(part(train.x, 0, 2), part(train.y, 0, 2)); }));
    codes.push_back(error_elsewhere([&] { model.set_weights({}); }));
    codes.push_back(error_elsewhere([&] { model.set_progress({}); }));
    codes.push_back(error_elsewhere([&] { model.set_learning_rate(1); }));
    model.set_weights(model.get_weights());
    (void)model.evaluate(test.x, test.y, {.verbose = 0});
    CHECK(model.predict(test.x).shape(0) == 16);
  });
  model.fit(train.x, train.y, {.verbose = 0, .callbacks = {&during}});
  CHECK(codes == std::vector<std::string>(9, "E4107"));
  for (float const rate : {-0.1F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    CHECK(error_elsewhere([&] { model.set_learning_rate(rate); }) == "E4109");
    CHECK(error_elsewhere([&] { model.set_progress({.learning_rate = rate}); }) == "E4109");
  }
  model.set_learning_rate(0);  // as in Keras: nothing moves
  CHECK(model.learning_rate() == 0);
  CHECK(error_elsewhere([&] { model.fit(train.x, train.y, {.verbose = 0}); }).empty());
}
