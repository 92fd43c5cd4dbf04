// SPDX-License-Identifier: BSD-3-Clause
#include "trainer_cases.hpp"

using cases::recorder, cases::samples, cases::trainer;

TEST_CASE("fit learns, and its history says so") {
  samples const data(60), test(30, 7);
  trainer model;
  auto const history = model.fit(data.x, data.y, {.epochs = 60, .verbose = 0, .validation_data = test});
  CHECK(history.epoch.size() == 60);
  CHECK(history.at("loss").back() < 0.5 * history.at("loss").front());
  CHECK(history.at("accuracy").back() > 0.8);
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  CHECK(loss == history.at("val_loss").back());
  CHECK(accuracy == history.at("val_accuracy").back());
}

TEST_CASE("callbacks are called in Keras's order") {
  samples const data(20);
  trainer model;
  recorder calls;
  model.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .callbacks = {&calls}, .validation_split = 0.4});
  CHECK(calls.text == "T( e0( b0-0 b1-1 V( v0-0 )V )e0 e1( b0-0 b1-1 V( v0-0 )V )e1 )T ");
  calls.text.clear();
  model.evaluate(data.x, data.y, {.verbose = 0, .callbacks = {&calls}});
  model.predict(data.x, {.callbacks = {&calls}});
  CHECK(calls.text == "V( v0-0 v1-1 v2-2 )V P( p0-0 p1-1 p2-2 )P ");
}

TEST_CASE("epochs, steps and frequencies") {
  samples const data(20);
  trainer model;
  recorder calls;
  auto const history = model.fit(data.x, data.y,
                                 {.epochs = 5,
                                  .verbose = 0,
                                  .callbacks = {&calls},
                                  .validation_data = data,
                                  .initial_epoch = 3,
                                  .steps_per_epoch = 1,
                                  .validation_steps = 2,
                                  .validation_freq = 2});
  CHECK(calls.text == "T( e3( b0-0 V( v0-0 v1-1 )V )e3 e4( b0-0 )e4 )T ");
  CHECK(history.epoch == std::vector<int>{3, 4});
  CHECK(history.at("loss").size() == 2);
  CHECK(history.at("val_loss").size() == 1);

  calls.text.clear();
  model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&calls}, .drop_remainder = true});
  CHECK(calls.text == "T( e0( b0-0 b1-1 )e0 )T ");
  calls.text.clear();
  model.fit(data.x, data.y, {.batch_size = 4, .verbose = 0, .callbacks = {&calls}});
  CHECK(calls.text == "T( e0( b0-0 b1-1 b2-2 b3-3 b4-4 )e0 )T ");
  calls.text.clear();
  CHECK(model.fit(data.x, data.y, {.epochs = 0, .verbose = 0, .callbacks = {&calls}}).epoch.empty());
  CHECK(calls.text == "T( )T ");
}

TEST_CASE("epochs of a given number of steps go on in the data") {
  samples const data(44);
  auto const train = [&](sc::fit_options options) {
    trainer model;
    options.verbose = 0;
    model.fit(data.x, data.y, options);
    return model.get_weights();
  };
  auto const whole = train({.epochs = 2});
  CHECK(train({.epochs = 6, .steps_per_epoch = 2}) == whole);
  CHECK(train({.epochs = 3, .steps_per_epoch = 4}) == whole);
  CHECK(train({.epochs = 6, .shuffle = false, .steps_per_epoch = 2}) == train({.epochs = 2, .shuffle = false}));
}

TEST_CASE("a callback can end training") {
  samples const data(20);
  trainer model;
  recorder calls;
  sc::callbacks::lambda_callback stop(
      {.on_batch_end = [&](int batch, sc::logs&) { model.stop_training = batch == 1; }});
  auto const history = model.fit(data.x, data.y, {.epochs = 5, .verbose = 0, .callbacks = {&stop, &calls}});
  CHECK(calls.text == "T( e0( b0-0 b1-1 )e0 )T ");
  CHECK(history.epoch == std::vector<int>{0});
  // The next run begins anew.
  CHECK(model.fit(data.x, data.y, {.verbose = 0}).epoch.size() == 1);
}

TEST_CASE("shuffling follows from a seed, and a training can be continued") {
  samples const data(40);
  auto const train = [&](sc::fit_options options) {
    trainer model;
    options.verbose = 0;
    model.fit(data.x, data.y, options);
    return model.get_weights();
  };
  CHECK(train({.seed = 5}) == train({.seed = 5}));
  CHECK(train({.seed = 5}) != train({.seed = 6}));
  CHECK(train({.seed = 5}) != train({.shuffle = false}));

  trainer whole, parts;
  whole.fit(data.x, data.y, {.epochs = 3, .verbose = 0});
  parts.fit(data.x, data.y, {.epochs = 1, .verbose = 0});
  parts.fit(data.x, data.y, {.epochs = 3, .verbose = 0, .initial_epoch = 1});
  CHECK(whole.get_weights() == parts.get_weights());
}

TEST_CASE("early stopping puts the best weights back") {
  samples const data(24);
  trainer model;
  std::vector<std::vector<sc::weight_array>> weights;
  sc::callbacks::lambda_callback spoil({.on_epoch_end = [&](int epoch, sc::logs& values) {
    values["val_loss"] = epoch < 2 ? 1.0 - 0.1 * epoch : 2.0;
    weights.push_back(model.get_weights());
  }});
  sc::callbacks::early_stopping stop({.patience = 3, .restore_best_weights = true});
  auto const history =
      model.fit(data.x, data.y, {.epochs = 20, .verbose = 0, .callbacks = {&spoil, &stop}, .validation_data = data});
  CHECK(history.epoch.size() == 5);
  CHECK(stop.stopped_epoch() == 4);
  CHECK(stop.best_epoch() == 1);
  CHECK(model.get_weights() == weights[1]);
  CHECK(model.get_weights() != weights[4]);
}

TEST_CASE("the learning rate of each epoch") {
  samples const data(24);
  trainer model;
  sc::callbacks::learning_rate_scheduler schedule([](int epoch) { return epoch < 1 ? 0.5 : 0.0; });
  std::vector<std::vector<sc::weight_array>> weights;
  sc::callbacks::lambda_callback keep(
      {.on_epoch_end = [&](int, sc::logs&) { weights.push_back(model.get_weights()); }});
  auto const history = model.fit(data.x, data.y, {.epochs = 3, .verbose = 0, .callbacks = {&schedule, &keep}});
  CHECK(history.at("lr") == std::vector<double>{0.5, 0, 0});
  CHECK(weights[0] == weights[1]);
  CHECK(weights[1] == weights[2]);
  CHECK(model.learning_rate() == 0);
}
