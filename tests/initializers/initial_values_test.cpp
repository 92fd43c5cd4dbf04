// SPDX-License-Identifier: BSD-3-Clause
// Initializers: the vocabulary, and the values that they give.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <stagecraft/initializers/initializers.hpp>
#include <stagecraft/kernels/random/initial_values.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
namespace kernels = stagecraft::kernels;
using namespace stagecraft::initializers;

static_assert(sc::initializer(zeros{}) != sc::initializer{});
static_assert(sc::initializer(glorot_uniform{.seed = 3}).seed == 3);
static_assert(sc::initializer(random_normal{}).b == 0.05F && sc::initializer(random_uniform{}).a == -0.05F);
static_assert(sc::initializer(he_normal{}).scale() == 2 && sc::initializer(he_normal{}).fan() == sc::fan_mode::fan_in);
static_assert(sc::initializer(glorot_normal{}).scale() == 1 &&
              sc::initializer(glorot_normal{}).fan() == sc::fan_mode::fan_avg);
static_assert(sc::initializer(lecun_uniform{}).scale() == 1 &&
              sc::initializer(lecun_uniform{}).fan() == sc::fan_mode::fan_in);
static_assert(sc::initializer(orthogonal{}).name() == "Orthogonal");

constexpr int convolution_shape[] = {3, 5, 16, 32};
static_assert(kernels::compute_fans(convolution_shape).in == 240 &&
              kernels::compute_fans(convolution_shape).out == 480);
static_assert(kernels::compute_fans(std::span(convolution_shape, 2)).in == 3);
static_assert(kernels::compute_fans(std::span(convolution_shape, 1)).out == 3);
static_assert(kernels::compute_fans({}).in == 1);

namespace {

using kind = sc::initializer_kind;

/// Of an initializer whose kind the compiler does not know.
template <kind... Kinds>
void initialize_as(sc::initializer const& how, std::vector<int> const& shape, std::uint64_t seed, std::uint64_t stream,
                   float* w) {
  CHECK(((how.kind == Kinds && (kernels::initialize<Kinds>(how, shape, seed, stream, w), true)) || ...));
}
void initialize(sc::initializer const& how, std::vector<int> const& shape, std::uint64_t seed, std::uint64_t stream,
                float* w) {
  initialize_as<kind::zeros, kind::ones, kind::constant, kind::random_normal, kind::truncated_normal,
                kind::random_uniform, kind::variance_scaling, kind::glorot_normal, kind::glorot_uniform,
                kind::he_normal, kind::he_uniform, kind::lecun_normal, kind::lecun_uniform, kind::orthogonal,
                kind::identity>(how, shape, seed, stream, w);
}

std::vector<float> values(sc::initializer const& how, std::vector<int> const& shape, std::uint64_t seed = 1,
                          std::uint64_t stream = 0) {
  std::size_t n = 1;
  for (int const extent : shape) n *= static_cast<std::size_t>(extent);
  std::vector<float> w(n + 1, -77.0F);
  initialize(how, shape, seed, stream, w.data());
  CHECK(w.back() == -77.0F);
  w.pop_back();
  return w;
}

struct moments {
  double mean = 0, deviation = 0;
  float least = 0, largest = 0;

  explicit moments(std::vector<float> const& w) {
    for (float const value : w) mean += value;
    mean /= static_cast<double>(w.size());
    for (float const value : w) deviation += (value - mean) * (value - mean);
    deviation = std::sqrt(deviation / static_cast<double>(w.size()));
    least = *std::min_element(w.begin(), w.end());
    largest = *std::max_element(w.begin(), w.end());
  }
};

}  // namespace

TEST_CASE("values without chance") {
  CHECK(values(zeros{}, {3}) == std::vector<float>{0, 0, 0});
  CHECK(values(ones{}, {3}) == std::vector<float>{1, 1, 1});
  CHECK(values(constant{.value = 2.5F}, {2}) == std::vector<float>{2.5F, 2.5F});
  CHECK(values(identity{.gain = 2}, {2, 3}) == std::vector<float>{2, 0, 0, 0, 2, 0});
  CHECK(values(identity{}, {3, 2}) == std::vector<float>{1, 0, 0, 1, 0, 0});
}

TEST_CASE("distributions have Keras's mean, deviation and limits") {
  std::vector<int> const shape{3, 3, 64, 128};  // fan in 576, fan out 1152
  struct expected {
    sc::initializer how;
    double mean, deviation, least, largest;
  };
  double const sqrt3 = std::sqrt(3.0);
  double const cut = 2 / 0.87962566103423978;  // where the truncated normal ends, in its own deviations
  auto const normal = [&](sc::initializer const& how, double fan, double scale) {
    double const s = std::sqrt(scale / fan);
    return expected{how, 0, s, -cut * s, cut * s};
  };
  auto const uniform = [&](sc::initializer const& how, double fan, double scale) {
    double const s = std::sqrt(scale / fan);
    return expected{how, 0, s, -sqrt3 * s, sqrt3 * s};
  };
  using distribution = sc::initializer_distribution;
  for (auto const& each : {
           normal(glorot_normal{}, 864, 1),
           uniform(glorot_uniform{}, 864, 1),
           normal(he_normal{}, 576, 2),
           uniform(he_uniform{}, 576, 2),
           normal(lecun_normal{}, 576, 1),
           uniform(lecun_uniform{}, 576, 1),
           normal(variance_scaling{.scale = 3, .mode = sc::fan_mode::fan_out}, 1152, 3),
           uniform(variance_scaling{.mode = sc::fan_mode::fan_avg, .distribution = distribution::uniform}, 864, 1),
           expected{variance_scaling{.distribution = distribution::untruncated_normal}, 0, 1 / 24.0, -1, 1},
           expected{random_normal{.mean = 2, .stddev = 0.5F}, 2, 0.5, -1, 5},
           expected{random_uniform{.minval = -1, .maxval = 3}, 1, 2 / sqrt3, -1, 3},
           expected{truncated_normal{.mean = 1, .stddev = 0.5F}, 1, 0.5 * 0.87962566103423978, 0, 2},
       }) {
    CAPTURE(std::string(each.how.name()));
    auto const w = values(each.how, shape);
    moments const got(w);
    double const n = static_cast<double>(w.size());
    CHECK(std::fabs(got.mean - each.mean) < 5 * each.deviation / std::sqrt(n));
    CHECK(got.deviation == doctest::Approx(each.deviation).epsilon(5 / std::sqrt(n)));
    CHECK(got.least >= each.least * (1 + 1e-6) - 1e-6);
    CHECK(got.largest <= each.largest * (1 + 1e-6) + 1e-6);
  }
}

TEST_CASE("the key decides: seed and stream, or the initializer's own seed") {
  std::vector<int> const shape{4, 5};
  CHECK(values(glorot_uniform{}, shape, 1, 2) == values(glorot_uniform{}, shape, 1, 2));
  CHECK(values(glorot_uniform{}, shape, 1, 2) != values(glorot_uniform{}, shape, 1, 3));
  CHECK(values(glorot_uniform{}, shape, 1, 2) != values(glorot_uniform{}, shape, 2, 2));
  CHECK(values(glorot_uniform{.seed = 9}, shape, 1, 2) == values(glorot_uniform{.seed = 9}, shape, 5, 6));
}

TEST_CASE("known values: every compiler and instruction set gives the same") {
  auto const uniform = values(random_uniform{.seed = 5}, {3});
  CHECK(uniform == std::vector<float>{0x1.4fd14p-5F, 0x1.90762ap-5F, 0x1.8ceffap-6F});
  auto const normal = values(truncated_normal{.seed = 5}, {3});
  CHECK(normal == std::vector<float>{0x1.30ee72p-6F, -0x1.eacd8ep-7F, -0x1.ffc8b6p-5F});
  auto const matrix = values(orthogonal{.seed = 5}, {2, 2});
  CHECK(matrix == std::vector<float>{0x1.bca6aap-1F, -0x1.fba8bep-2F, -0x1.fba8bep-2F, -0x1.bca6aap-1F});
}

TEST_CASE("orthogonal: the shorter axis is orthonormal, times the gain") {
  for (auto const& shape : {std::vector<int>{7, 7}, {20, 6}, {6, 20}, {3, 3, 4, 8}, {1, 5}, {200, 150}}) {
    int const columns = shape.back();
    auto const w = values(orthogonal{.gain = 2}, shape);
    int const rows = static_cast<int>(w.size()) / columns;
    CAPTURE(rows);
    CAPTURE(columns);
    bool const wide = columns > rows;
    int const count = wide ? rows : columns;
    int const length = wide ? columns : rows;
    double worst = 0;
    for (int i = 0; i < count; ++i)
      for (int j = 0; j <= i; ++j) {
        double dot = 0;
        for (int k = 0; k < length; ++k) {
          auto const at = [&](int vector) {
            return static_cast<double>(w[static_cast<std::size_t>(wide ? vector * columns + k : k * columns + vector)]);
          };
          dot += at(i) * at(j);
        }
        worst = std::max(worst, std::fabs(dot - (i == j ? 4 : 0)));
      }
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("tensors of the wrong rank") {
  float w[4];
  std::vector<int> const vector{4};
  CHECK_THROWS_WITH_AS(kernels::initialize<kind::identity>(identity{}, vector, 1, 1, w), doctest::Contains("E4090"),
                       sc::data_error);
  CHECK_THROWS_WITH_AS(kernels::initialize<kind::orthogonal>(orthogonal{}, vector, 1, 1, w), doctest::Contains("E4091"),
                       sc::data_error);
}
