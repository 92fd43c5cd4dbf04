// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/training/data/batch_loader.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

namespace sc = stagecraft;

namespace {

/// Checks that the call throws a data_error with exactly this text.
template <class Call>
void throws(char const* text, Call call) {
  CHECK_THROWS_WITH_AS(call(), text, sc::data_error);
}

xt::xarray<float> zeros(std::vector<std::size_t> const& shape) {
  xt::xarray<float> array = xt::xarray<float>::from_shape(shape);
  array.fill(0);
  return array;
}

void check_one(char const* argument, sc::trainers::sample_source const& source, sc::shape expected) {
  sc::trainers::check_shapes(argument, source, {&expected, 1});
}

}  // namespace

TEST_CASE("E4001: shapes of samples") {
  check_one("x", zeros({5, 28, 28}), {28, 28});
  check_one("x", zeros({5, 28, 28, 1}), {28, 28});
  check_one("x", zeros({5, 28, 28}), {28, 28, 1});
  check_one("y", zeros({5, 1}), sc::shape());
  check_one("y", zeros({5}), {1});
  throws("x: expected samples of shape (28, 28), found (32, 32) [E4001]",
         [] { check_one("x", zeros({5, 32, 32}), {28, 28}); });
  throws("x: expected samples of shape (784,), found (28, 28) [E4001]",
         [] { check_one("x", zeros({5, 28, 28}), {784}); });
  throws("x: expected samples of shape (28, 1), found (1, 28) [E4001]",
         [] { check_one("x", zeros({5, 1, 28}), {28, 1}); });
  throws(
      "y: expected samples of shape (10,), found (); class numbers need the loss sparse_categorical_crossentropy "
      "[E4001]",
      [] { check_one("y", zeros({5}), {10}); });
  throws(
      "y: expected samples of shape (26, 26), found (); a flatten or a global pooling before the last layers may be "
      "missing [E4001]",
      [] { check_one("y", zeros({5}), {26, 26}); });
  throws(
      "y: expected samples of shape (), found (10,); one value per class needs the loss categorical_crossentropy "
      "[E4001]",
      [] { check_one("y", zeros({5, 10}), sc::shape()); });
  throws(
      "validation_data.y: expected samples of shape (10,), found (1,); class numbers need the loss "
      "sparse_categorical_crossentropy [E4001]",
      [] { check_one("validation_data.y", zeros({5, 1}), {10}); });
  throws("x[1]: expected samples of shape (3,), found (4,) [E4001]", [] {
    sc::shape const expected[] = {{2}, {3}};
    sc::trainers::check_shapes("x", sc::inputs(zeros({5, 2}), zeros({5, 4})), expected);
  });
}

TEST_CASE("E4010: number of arrays") {
  throws("x: expected 2 arrays, found 1 [E4010]", [] {
    sc::shape const expected[] = {{2}, {3}};
    sc::trainers::check_shapes("x", zeros({5, 2}), expected);
  });
}

TEST_CASE("E4002: lengths") {
  sc::trainers::check_lengths("x", zeros({5, 2}), "y", zeros({5}));
  throws("y: expected 5 samples, as many as x has, found 4 [E4002]",
         [] { sc::trainers::check_lengths("x", zeros({5, 2}), "y", zeros({4})); });
  throws("x[1]: expected 5 samples, as many as x[0] has, found 6 [E4002]",
         [] { sc::trainers::check_lengths("x", sc::inputs(zeros({5, 2}), zeros({6, 2})), "y", zeros({5})); });
}

TEST_CASE("E4003: enough samples") {
  sc::trainers::check_count("x", 1);
  sc::trainers::check_steps("steps_per_epoch", 3, 3);
  throws("x: expected at least 1 sample, found 0 [E4003]", [] { sc::trainers::check_count("x", 0); });
  throws("x: expected at least 32 samples (one batch, with drop_remainder), found 10 [E4003]",
         [] { sc::trainers::check_count("x", 10, 32, " (one batch, with drop_remainder)"); });
  throws("steps_per_epoch: expected data for 4 batches, found 3 [E4003]",
         [] { sc::trainers::check_steps("steps_per_epoch", 4, 3); });
}

TEST_CASE("E4004: labels") {
  sc::trainers::check_labels("y", std::vector<int>{0, 9, 5}, {10});
  sc::trainers::check_labels("y", std::vector<float>{0, 9, 5}, {10});
  throws("y: expected class numbers from 0 to 9, found 10 at sample 2 [E4004]",
         [] { sc::trainers::check_labels("y", std::vector<int>{0, 9, 10}, {10}); });
  throws("y: expected class numbers from 0 to 9, found -1 at sample 0 [E4004]",
         [] { sc::trainers::check_labels("y", std::vector<std::int8_t>{-1}, {10}); });
  throws("y: expected class numbers from 0 to 9, found 0.5 at sample 1 [E4004]",
         [] { sc::trainers::check_labels("y", std::vector<float>{1, 0.5f}, {10}); });
  throws("y: expected class numbers from 0 to 9, found nan at sample 0 [E4004]",
         [] { sc::trainers::check_labels("y", std::vector<double>{std::numeric_limits<double>::quiet_NaN()}, {10}); });
  throws("y: expected class numbers from 0 to 9, found 4294967296 at sample 0 [E4004]",
         [] { sc::trainers::check_labels("y", std::vector<std::int64_t>{4294967296}, {10}); });
}

TEST_CASE("E5225: finite numbers stay finite in float32") {
  double const most = std::numeric_limits<float>::max(), infinity = std::numeric_limits<double>::infinity();
  xt::xarray<double> x = xt::xarray<double>::from_shape({3, 2});
  for (double& each : x) each = 1;
  sc::trainers::check_numbers("x", x);
  x(0, 1) = most;
  x(1, 0) = -infinity;
  x(1, 1) = std::numeric_limits<double>::quiet_NaN();
  sc::trainers::check_numbers("x", x);
  x(2, 1) = -1e39;
  throws("x: expected numbers that float32 holds, of which the largest is 3.4028235e+38, found -1e+39 at sample 2, "
         "number 1 [E5225]",
         [&] { sc::trainers::check_numbers("x", x); });
  std::vector<double> y(5000, 2.0);
  y[4000] = 0x1.ffffffp127;  // halfway to the next power of two, which rounds up
  throws("y[1]: expected numbers that float32 holds, of which the largest is 3.4028235e+38, found 3.40282356779734e+38 "
         "at sample 4000, number 0 [E5225]",
         [&] { sc::trainers::check_numbers("y", sc::inputs(zeros({5}), y)); });
  y[4000] = 0x1.fffffefp127;
  sc::trainers::check_numbers("y", y);
  sc::trainers::check_numbers("y", std::vector<std::int64_t>{INT64_MAX});
}

TEST_CASE("E4005: sample weights") {
  sc::trainers::check_sample_weight("sample_weight", {}, 5);
  sc::trainers::check_sample_weight("sample_weight", zeros({5}), 5);
  sc::trainers::check_sample_weight("sample_weight", zeros({5, 1}), 5);
  throws("sample_weight: expected 5 numbers, one per sample, found 4 [E4005]",
         [] { sc::trainers::check_sample_weight("sample_weight", zeros({4}), 5); });
  throws("sample_weight: expected one number per sample, found samples of shape (2,) [E4005]",
         [] { sc::trainers::check_sample_weight("sample_weight", zeros({5, 2}), 5); });
}

TEST_CASE("E4006: class weights") {
  std::vector<int> const y{0, 1, 1};
  xt::xarray<float> const one_hot = zeros({3, 2});
  sc::trainers::check_class_weight({}, {});
  sc::trainers::check_class_weight({{1, 2.0f}, {0, 1.0f}}, y);
  sc::trainers::check_class_weight({{1, 2.0f}, {0, 1.0f}}, one_hot);
  sc::trainers::check_class_weight({{0, 1.0f}, {1, 2.0f}, {2, 9.0f}}, y);  // a class that does not occur
  throws("class_weight: expected the classes from 0 to 1, as there are 2, found 2 [E4006]",
         [&] { sc::trainers::check_class_weight({{0, 1.0f}, {2, 1.0f}}, y); });
  throws("class_weight: expected one weight for each class, found 2 for class 0 [E4006]",
         [&] { sc::trainers::check_class_weight({{0, 1.0f}, {0, 2.0f}}, y); });
  throws("class_weight: expected targets from 0 to 0, found 1 at sample 1 [E4006]",
         [&] { sc::trainers::check_class_weight({{0, 1.0f}}, y); });
  throws("class_weight: expected targets from 0 to 1, found 3 at sample 1 [E4006]",
         [&] { sc::trainers::check_class_weight({{0, 1.0f}, {1, 1.0f}}, std::vector<float>{0.4f, 3}); });
}

TEST_CASE("E4007: validation_split keeps the last part, as Keras counts it") {
  CHECK(sc::trainers::training_count(100, 0) == 100);
  CHECK(sc::trainers::training_count(100, 0.2) == 80);
  CHECK(sc::trainers::training_count(10, 0.1) == 9);
  CHECK(sc::trainers::training_count(7, 0.5) == 3);
  CHECK(sc::trainers::training_count(1000, 0.9) == 99);  // floor(1000 * (1 - 0.9)) in double arithmetic, as in Python
  throws("validation_split: expected a number from 0 to below 1, found 1 [E4007]",
         [] { static_cast<void>(sc::trainers::training_count(10, 1)); });
  throws("validation_split: expected a number from 0 to below 1, found -0.5 [E4007]",
         [] { static_cast<void>(sc::trainers::training_count(10, -0.5)); });
  throws("validation_split: 0.5 of 1 samples leaves none to train with [E4007]",
         [] { static_cast<void>(sc::trainers::training_count(1, 0.5)); });
}

TEST_CASE("E4008: batch sizes") {
  CHECK(sc::trainers::batch_size_to_use(0, 32) == 32);
  CHECK(sc::trainers::batch_size_to_use(5, 32) == 5);
  throws("batch_size: expected 1 to 32, the description's batch_size, found 64 [E4008]",
         [] { static_cast<void>(sc::trainers::batch_size_to_use(64, 32)); });
  throws("batch_size: expected 1 to 32, the description's batch_size, found -1 [E4008]",
         [] { static_cast<void>(sc::trainers::batch_size_to_use(-1, 32)); });
}

TEST_CASE("E4011: numbers among the options") {
  sc::trainers::check_options({});
  throws("epochs: expected at least 0, found -1 [E4011]", [] { sc::trainers::check_options({.epochs = -1}); });
  throws("validation_freq: expected at least 1, found 0 [E4011]",
         [] { sc::trainers::check_options({.validation_freq = 0}); });
  throws("verbose: expected at least 0, found -1 [E4011]", [] { sc::trainers::check_options({.verbose = -1}); });
}
