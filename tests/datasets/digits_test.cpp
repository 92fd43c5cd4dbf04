// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/datasets/digits.hpp>

#include <array>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::datasets::digits;
using sc::datasets::labelled_data;

static_assert(sc::datasets::digits_options{}.train % (32 * 128) == 0);
static_assert(sc::datasets::digits_options{}.test % (32 * 128) == 0);
using sc::datasets::detail::random_stream;
static_assert(random_stream(1, 0, 0).bits() == random_stream(1, 0, 0).bits());
static_assert(random_stream(1, 0, 0).bits() != random_stream(1, 0, 1).bits());
static_assert(random_stream(1, 0, 0).bits() != random_stream(1, 1, 0).bits());
static_assert(random_stream(1, 0, 0).bits() != random_stream(2, 0, 0).bits());

// The glyphs stay on the sheet, come in order, and end.
static_assert([] {
  int digit = 0;
  for (auto const& style : sc::datasets::detail::glyphs) {
    if (style.digit != digit / sc::datasets::detail::styles_per_digit) return false;
    ++digit;
    bool ends = false;
    for (auto const& point : style.path) {
      ends = ends || point.is_end();
      if (ends || point.is_lift()) continue;
      if (point.x < -50 || point.x > 50 || point.y < -70 || point.y > 70) return false;
    }
    if (!ends) return false;
  }
  return true;
}());

namespace {

std::uint64_t fingerprint(labelled_data const& data) {
  std::uint64_t hash = 0;
  for (float const shade : data.x) {
    hash = sc::datasets::detail::scramble(hash + static_cast<std::uint64_t>(shade * 255.0f + 0.5f) + 1);
  }
  for (std::int32_t const label : data.y) {
    hash = sc::datasets::detail::scramble(hash + static_cast<std::uint64_t>(label));
  }
  return hash;
}

/// A softmax regression: 784 x 10 weights and 10 biases.
struct linear_model {
  std::vector<float> weights = std::vector<float>(784 * 10);
  std::array<float, 10> bias{};

  std::array<float, 10> scores(float const* image) const {
    std::array<float, 10> sums = bias;
    for (std::size_t i = 0; i < 784; ++i) {
      if (image[i] == 0.0f) continue;
      for (std::size_t k = 0; k < 10; ++k) sums[k] += image[i] * weights[i * 10 + k];
    }
    return sums;
  }

  void learn(float const* image, std::size_t label, float rate) {
    std::array<float, 10> step = scores(image);
    float total = 0;
    for (float& score : step) total += score = std::exp(score);
    for (float& score : step) score *= -rate / total;
    step[label] += rate;
    for (std::size_t i = 0; i < 784; ++i) {
      if (image[i] == 0.0f) continue;
      for (std::size_t k = 0; k < 10; ++k) weights[i * 10 + k] += image[i] * step[k];
    }
    for (std::size_t k = 0; k < 10; ++k) bias[k] += step[k];
  }

  double accuracy(labelled_data const& data) const {
    std::size_t right = 0;
    for (std::size_t n = 0; n < data.y.size(); ++n) {
      auto const sums = scores(data.x.data() + n * 784);
      std::size_t best = 0;
      for (std::size_t k = 1; k < 10; ++k) best = sums[k] > sums[best] ? k : best;
      right += best == static_cast<std::size_t>(data.y.data()[n]) ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(data.y.size());
  }
};

}  // namespace

TEST_CASE("digits come in the sizes asked for, with shades from 0 to 1 in 255 steps") {
  auto const [train, test] = digits({.train = 300, .test = 100});
  CHECK(train.x.shape() == std::array<std::size_t, 3>{300, 28, 28});
  CHECK(train.y.shape() == std::array<std::size_t, 1>{300});
  CHECK(test.x.shape() == std::array<std::size_t, 3>{100, 28, 28});
  for (float const shade : train.x) {
    auto const step = static_cast<int>(shade * 255.0f + 0.5f);
    REQUIRE((step >= 0 && step <= 255));
    REQUIRE(shade == static_cast<float>(step) / 255.0f);
  }
  auto const nothing = digits({.train = 0, .test = 0});
  CHECK(nothing.train.x.size() == 0);
  CHECK(nothing.test.y.size() == 0);
}

TEST_CASE("the same seed gives the same pixels, on every compiler and machine") {
  auto const [train, test] = digits({.train = 200, .test = 100});
  CHECK(fingerprint(train) == 11922254622203149943u);
  CHECK(fingerprint(test) == 14482192673297130592u);
}

TEST_CASE("another seed gives other digits; the parts have no sample in common") {
  auto const one = digits({.train = 200, .test = 200});
  auto const two = digits({.train = 200, .test = 200, .seed = 2});
  CHECK(fingerprint(one.train) != fingerprint(two.train));
  for (std::size_t a = 0; a < 200; ++a) {
    for (std::size_t b = 0; b < 200; ++b) {
      REQUIRE(xt::view(one.train.x, a) != xt::view(one.test.x, b));
    }
  }
}

TEST_CASE("a larger data set begins with the smaller one") {
  auto const small = digits({.train = 50, .test = 20});
  auto const large = digits({.train = 80, .test = 30});
  CHECK(xt::view(large.train.x, xt::range(0, 50)) == small.train.x);
  CHECK(xt::view(large.train.y, xt::range(0, 50)) == small.train.y);
  CHECK(xt::view(large.test.x, xt::range(0, 20)) == small.test.x);
}

TEST_CASE("every digit is about as frequent as the others, and every image has ink and paper") {
  auto const data = digits({.train = 5000, .test = 0, .seed = 3}).train;
  std::array<int, 10> counts{};
  for (std::int32_t const label : data.y) ++counts[static_cast<std::size_t>(label)];
  for (int const count : counts) CHECK((count > 400 && count < 600));
  for (std::size_t n = 0; n < 5000; ++n) {
    int dark = 0;
    for (std::size_t i = 0; i < 784; ++i) dark += data.x.data()[n * 784 + i] > 0.4f ? 1 : 0;
    REQUIRE(dark > 5);
    REQUIRE(dark < 500);
  }
}

TEST_CASE("a linear model learns most digits, and stays below 95 %") {
  auto const [train, test] = digits({.train = 6144, .test = 2048});
  linear_model model;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::size_t n = 0; n < train.y.size(); ++n) {
      model.learn(train.x.data() + n * 784, static_cast<std::size_t>(train.y.data()[n]), 0.01f);
    }
  }
  double const accuracy = model.accuracy(test);
  MESSAGE("linear model: " << accuracy);
  CHECK(accuracy > 0.80);
  CHECK(accuracy < 0.95);
}
