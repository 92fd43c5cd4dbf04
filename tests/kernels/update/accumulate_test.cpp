// SPDX-License-Identifier: BSD-3-Clause
// Accumulated gradients: the methods' formulas, halves, and each product and sum rounded by itself.
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/update/accumulate.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

namespace sc = stagecraft;
namespace kernels = stagecraft::kernels;
using method = sc::gradient_accumulation_reduction_method;

static_assert(kernels::accumulation_factors_of(method::sum, 0, 4).accumulated == 0.0F);
static_assert(kernels::accumulation_factors_of(method::sum, 3, 4).accumulated == 1.0F);
static_assert(kernels::accumulation_factors_of(method::sum, 3, 4).gradient == 1.0F);
static_assert(kernels::accumulation_factors_of(method::mean, 2, 4).accumulated == 1.0F);
static_assert(kernels::accumulation_factors_of(method::mean, 2, 4).gradient == 0.25F);
static_assert(kernels::accumulation_factors_of(method::running_mean, 0, 4).accumulated == 0.0F);
static_assert(kernels::accumulation_factors_of(method::running_mean, 0, 4).gradient == 1.0F);
static_assert(kernels::accumulation_factors_of(method::running_mean, 3, 4).accumulated == 0.75F);
static_assert(kernels::accumulation_factors_of(method::running_mean, 3, 4).gradient == 0.25F);

constexpr int count = 5;
constexpr method methods[] = {method::sum, method::mean, method::running_mean};

std::vector<float> gradient_of(int micro_batch, int n) {
  std::vector<float> gradient(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    gradient[static_cast<std::size_t>(i)] = std::sin(static_cast<float>(i * 7 + micro_batch * 13)) * 0.37F;
  return gradient;
}

/// One number at a time. A volatile is never fused.
float next(kernels::accumulation_factors factors, float accumulated, float gradient) {
  float const volatile before = factors.accumulated * accumulated;
  float const volatile scaled = factors.gradient * gradient;
  return before + scaled;
}

template <class Arch>
void check_floats() {
  CAPTURE(kernels::lanes<Arch>);
  for (method const how : methods)
    for (int const n : {1, 3, 15, 16, 17, 64, 133}) {
      CAPTURE(n);
      auto const size = static_cast<std::size_t>(n);
      std::vector<float> found(size + 1, std::numeric_limits<float>::quiet_NaN());
      found[size] = -77.0F;
      std::vector<float> expected(size, 0.0F);
      std::vector<double> exact(size, 0.0);
      for (int m = 0; m < count; ++m) {
        auto const gradient = gradient_of(m, n);
        auto const factors = kernels::accumulation_factors_of(how, m, count);
        // In two parts, as two threads would.
        int const middle = n < 32 ? 0 : 32;
        kernels::accumulate_gradient<Arch>(factors, gradient.data() + middle, found.data() + middle, n - middle);
        kernels::accumulate_gradient<Arch>(factors, gradient.data(), found.data(), middle);
        for (std::size_t i = 0; i < size; ++i) {
          expected[i] = next(factors, expected[i], gradient[i]);
          exact[i] += static_cast<double>(gradient[i]) / (how == method::sum ? 1 : count);
        }
      }
      CHECK(found[size] == -77.0F);
      CHECK(std::memcmp(found.data(), expected.data(), size * sizeof(float)) == 0);
      int wrong = 0;
      for (std::size_t i = 0; i < size; ++i) wrong += !(std::fabs(static_cast<double>(found[i]) - exact[i]) <= 1e-6);
      CHECK(wrong == 0);
    }
}

template <class Arch>
void check_halves() {
  CAPTURE(kernels::lanes<Arch>);
  for (method const how : methods)
    for (int const n : {1, 15, 16, 17, 133}) {
      CAPTURE(n);
      auto const size = static_cast<std::size_t>(n);
      std::vector<std::uint16_t> found(size + 1, 0x7E00);
      found[size] = 0x1234;
      std::vector<float> expected(size, 0.0F);  // values that halves can hold
      std::vector<std::uint16_t> rounded(size);
      for (int m = 0; m < count; ++m) {
        auto const gradient = gradient_of(m, n);
        auto const factors = kernels::accumulation_factors_of(how, m, count);
        kernels::accumulate_gradient<Arch>(factors, gradient.data(), found.data(), n);
        for (std::size_t i = 0; i < size; ++i) expected[i] = next(factors, expected[i], gradient[i]);
        kernels::halves_of_floats(expected.data(), rounded.data(), n);
        kernels::floats_of_halves(rounded.data(), expected.data(), n);
      }
      CHECK(found[size] == 0x1234);
      CHECK(std::memcmp(found.data(), rounded.data(), size * sizeof(std::uint16_t)) == 0);
    }
}

/// What a session does whose gradient kernels add to the accumulator themselves.
template <class Arch>
void check_against_scaled_add() {
  constexpr int n = 133;
  for (method const how : methods) {
    std::vector<float> found(n), expected(n, 0.0F);
    for (int m = 0; m < count; ++m) {
      auto gradient = gradient_of(m, n);
      auto const factors = kernels::accumulation_factors_of(how, m, count);
      kernels::accumulate_gradient<Arch>(factors, gradient.data(), found.data(), n);
      kernels::scaled_add<false, Arch>(factors.gradient, gradient.data(), gradient.data(), n);
      if (m > 0) kernels::scaled_add<false, Arch>(factors.accumulated, expected.data(), expected.data(), n);
      kernels::scaled_add<true, Arch>(1.0F, gradient.data(), expected.data(), n);
    }
    CHECK(std::memcmp(found.data(), expected.data(), n * sizeof(float)) == 0);
  }
}

template <class... Arch>
void check_all() {
  (check_floats<Arch>(), ...);
  (check_halves<Arch>(), ...);
  (check_against_scaled_add<Arch>(), ...);
}

}  // namespace

TEST_CASE("accumulators of floats and of halves, and those that gradient kernels add to") {
  check_all<MATMUL_ARCHITECTURES>();
}

TEST_CASE("an accumulator with the factor 0 is not read, and no negative zero comes out of it") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  float floats[] = {nan, nan};
  std::uint16_t halves[] = {0x7C00, 0x7E00};
  float const gradient[] = {-0.0F, 2.0F};
  kernels::accumulate_gradient({0.0F, 1.0F}, gradient, floats, 2);
  kernels::accumulate_gradient({0.0F, 1.0F}, gradient, halves, 2);
  CHECK_FALSE(std::signbit(floats[0]));
  CHECK(floats[1] == 2.0F);
  CHECK(halves[0] == 0);
  CHECK(halves[1] == 0x4000);
}

TEST_CASE("accumulators of halves: small gradients are lost in a large one, and a large sum is infinite") {
  std::uint16_t half = 0x6800;  // 2048
  float const one = 1.0F, large = 60000.0F, nan = std::numeric_limits<float>::quiet_NaN();
  kernels::accumulate_gradient({}, &one, &half, 1);
  CHECK(half == 0x6800);
  kernels::accumulate_gradient({}, &large, &half, 1);
  kernels::accumulate_gradient({}, &large, &half, 1);
  CHECK(half == 0x7C00);
  kernels::accumulate_gradient({}, &nan, &half, 1);
  CHECK((half & 0x7FFF) > 0x7C00);
}
