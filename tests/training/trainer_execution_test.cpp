// SPDX-License-Identifier: BSD-3-Clause
// Several steps per execution, and gradients accumulated over micro-batches.
#include "trainer_cases.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

using cases::recorder, cases::samples, cases::trainer;

namespace {

template <int Steps, int Accumulation>
inline constexpr auto executed = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 8,
                                              .steps_per_execution = Steps,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = Accumulation}};
template <int Steps, int Accumulation = 0>
using by = sc::trainer<cases::classifier, executed<Steps, Accumulation>>;

using staged = sc::pipelined<cases::classifier, sc::stages<0, 1>>;

/// What is written to stderr meanwhile.
template <class Run>
std::string errors_of(Run const& run) {
  std::string const name = "trainer_execution_test.txt";
  std::fflush(stderr);
  int const kept = dup(fileno(stderr));
  if (std::freopen(name.c_str(), "w", stderr) == nullptr) return "cannot redirect";
  run();
  std::fflush(stderr);
  dup2(kept, fileno(stderr));
  close(kept);
  std::ifstream file(name);
  std::ostringstream text;
  text << file.rdbuf();
  std::remove(name.c_str());
  return text.str();
}

}  // namespace

TEST_CASE("callbacks are called once per execution, and training is the same") {
  samples const data(48);
  by<3> model;
  recorder calls;
  auto const history = model.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .callbacks = {&calls}});
  CHECK(calls.text == "T( e0( b0-2 b3-5 )e0 e1( b0-2 b3-5 )e1 )T ");
  trainer plain;
  CHECK(plain.fit(data.x, data.y, {.epochs = 2, .verbose = 0}).at("loss") == history.at("loss"));
  CHECK(plain.get_weights() == model.get_weights());
  calls.text.clear();
  samples const few(40);
  model.evaluate(few.x, few.y, {.verbose = 0, .callbacks = {&calls}});
  CHECK(calls.text == "V( v0-2 v3-4 )V ");
  calls.text.clear();
  CHECK(model.predict(few.x, {.callbacks = {&calls}}) == plain.predict(few.x));
  CHECK(calls.text == "P( p0-2 p3-4 )P ");
}

TEST_CASE("an execution must divide the epoch") {
  samples const data(32);
  by<3> model;
  recorder calls;
  CHECK_THROWS_WITH_AS(model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&calls}}),
                       "steps_per_execution: expected a divisor of the epoch's 4 batches, found 3 [E4017]",
                       sc::data_error);
  CHECK(calls.text.empty());
}

TEST_CASE("an execution longer than the epoch is cut, with a warning") {
  samples const data(16);
  by<100> model;
  recorder calls;
  auto const warning = errors_of([&] { model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&calls}}); });
  CHECK(warning == "stagecraft: steps_per_execution 100 is more than the 2 steps there are; 2 are executed at once\n");
  CHECK(calls.text == "T( e0( b0-1 )e0 )T ");
  CHECK(errors_of([&] { by<2>{}.fit(data.x, data.y, {.verbose = 0}); }).empty());
}

TEST_CASE("weights change once per accumulation") {
  samples const data(64), batch(8);
  by<4, 4> model;
  int updates = 0;
  auto before = model.get_weights();
  for (int k = 0; k < 8; ++k) {
    model.train_on_batch(batch.x, batch.y);
    auto const after = model.get_weights();
    updates += after != before ? 1 : 0;
    before = after;
  }
  CHECK(updates == 2);
  CHECK(model.fit(data.x, data.y, {.epochs = 2, .verbose = 0}).at("loss").size() == 2);
  samples const few(24);
  CHECK_THROWS_WITH_AS(
      model.fit(few.x, few.y, {.verbose = 0}),
      "gradient_accumulation_steps_per_replica: expected a divisor of the epoch's 3 batches, found 4 [E4018]",
      sc::data_error);
}

TEST_CASE("micro-batches that came before are not part of fit") {
  samples const data(64), batch(8);
  by<4, 4> plain, model;
  model.train_on_batch(batch.x, batch.y);
  auto const expected = plain.fit(data.x, data.y, {.verbose = 0});
  CHECK(model.fit(data.x, data.y, {.verbose = 0}).at("loss") == expected.at("loss"));
  CHECK(model.get_weights() == plain.get_weights());
}

TEST_CASE("a pipelined model is trained as the model without stages") {
  samples const data(64);
  by<4, 4> plain;
  sc::trainer<staged, executed<4, 4>> model;
  auto const expected = plain.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  CHECK(model.fit(data.x, data.y, {.epochs = 2, .verbose = 0}).at("loss") == expected.at("loss"));
  CHECK(model.get_weights() == plain.get_weights());
}
