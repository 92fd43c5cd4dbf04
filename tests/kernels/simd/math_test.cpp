// SPDX-License-Identifier: BSD-3-Clause
// Elementary functions against double precision: floats of every exponent and sign, and special values.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <stagecraft/kernels/elementwise/formula.hpp>
#include <stagecraft/kernels/simd/math.hpp>
#include <stagecraft/kernels/simd/math_fast.hpp>
#include <doctest/doctest.h>

namespace kernels = stagecraft::kernels;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// The distance of floats where they are as large as x.
double unit_in_last_place(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, exponent < -125 ? -149 : exponent - 24);
}

// A sanitizer makes each dear: then they are 36 of each exponent and sign, with one instruction set.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define STAGECRAFT_TEST_FEWER_SAMPLES
#endif
#endif

#ifdef STAGECRAFT_TEST_FEWER_SAMPLES
constexpr std::uint64_t bits_between = 7507 * 31;  // odd: all bits of the mantissas vary
#else
constexpr std::uint64_t bits_between = 7507;
#endif

/// Floats of both signs and every exponent, denormals included, and the neighbours of where something changes.
std::vector<float> const& samples() {
  static std::vector<float> const all = [] {
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits < (1ULL << 32U); bits += bits_between) {
      auto const pattern = static_cast<std::uint32_t>(bits);
      float value = 0;
      std::memcpy(&value, &pattern, sizeof value);
      x.push_back(value);
    }
    for (float const place : {0.0F,        1.0F,      0.5F,      0.75F,      1.5F,      0.25F,        0.9F,
                              0.34657359F, 88.72284F, 87.33655F, 103.97208F, 9.010914F, 3.9192059F,   5.5F,
                              16.635532F,  30.0F,     0x1p-25F,  0x1p-24F,   0x1p-126F, 3.4028235e38F}) {
      float above = place;
      float below = place;
      for (int i = 0; i < 40; ++i) {
        for (float const value : {above, below}) {
          x.push_back(value);
          x.push_back(-value);
        }
        above = std::nextafter(above, inf);
        below = std::nextafter(below, -inf);
      }
    }
    x.push_back(inf);
    x.push_back(-inf);
    x.push_back(nan);
    while (x.size() % 16 != 0) x.push_back(0.1F);
    return x;
  }();
  return all;
}

/// The largest errors that math.hpp states, for AVX-512, for AVX2 with a fused multiply-add, and for the others.
struct bound {
  double avx512;
  double fused;
  double others;

  template <class Arch>
  [[nodiscard]] double of() const {
    if constexpr (kernels::has_avx512<Arch>) return avx512;
    if constexpr (kernels::has_avx2<Arch>) return fused;
    return others;
  }
};

/// How the error is measured: in units in the last place, in units of 2^-24, or in units of 2^-24 |x|.
enum class measure { ulp, absolute, of_argument };

template <class Arch, class Function>
void check_function(std::vector<double> const& expected, double largest_error, measure how, Function const& function) {
  constexpr int width = kernels::lanes<Arch>;
  auto const& x = samples();
  int wrong = 0;
  double worst = 0;
  float worst_at = 0;
  for (std::size_t i = 0; i < x.size(); i += width) {
    float got[width];
    function(kernels::batch<Arch>::load_unaligned(x.data() + i)).store_unaligned(got);
    for (std::size_t lane = 0; lane < width; ++lane) {
      double const exact = expected[i + lane];
      auto const rounded = static_cast<float>(exact);
      float const y = got[lane];
      if (std::isnan(exact) || std::isinf(rounded) || std::isnan(y) || std::isinf(y)) {
        bool const largest = std::fabs(y) == std::numeric_limits<float>::max() && !std::isinf(exact);
        wrong += !((std::isnan(exact) && std::isnan(y)) || y == rounded || largest);
        continue;
      }
      if (exact == 0 && how == measure::ulp) wrong += y != 0 || std::signbit(y) != std::signbit(rounded);
      double const unit = how == measure::ulp        ? unit_in_last_place(exact)
                          : how == measure::absolute ? 0x1p-24
                                                     : 0x1p-24 * std::fabs(x[i + lane]) + 0x1p-149;
      double const error = std::fabs(double{y} - exact) / unit;
      if (error > worst) {
        worst = error;
        worst_at = x[i + lane];
      }
    }
  }
  CAPTURE(worst_at);
  CHECK(wrong == 0);
  CHECK(worst <= largest_error);
}

template <class Test>
void for_each_architecture(Test const& test) {
  test.template operator()<kernels::default_architecture>();
#ifndef STAGECRAFT_TEST_FEWER_SAMPLES
#if defined(__AVX2__) && defined(__FMA__)
  test.template operator()<xsimd::fma3<xsimd::avx2>>();
#endif
#if defined(__SSE2__)
  test.template operator()<xsimd::sse2>();
#endif
  test.template operator()<kernels::portable_architecture>();
#endif
}

template <class Reference, class Function>
void check(bound const& errors, measure how, Reference const& reference, Function const& function) {
  std::vector<double> expected;
  for (float const x : samples()) expected.push_back(reference(double{x}));
  for_each_architecture([&]<class Arch>() {
    CAPTURE(kernels::lanes<Arch>);
    check_function<Arch>(expected, errors.of<Arch>(), how, function);
  });
}

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("exponentials") {
  check({0.77, 1.02, 1.05}, measure::ulp, [](double x) { return std::exp(x); }, [](auto x) { return kernels::exp(x); });
  check(
      {1.47, 1.47, 1.6}, measure::ulp, [](double x) { return std::expm1(x); },
      [](auto x) { return kernels::expm1(x); });
}

TEST_CASE("square roots by products are rounded correctly") {
  auto const by_products = [](auto x) { return kernels::square_root<kernels::root_by::products>(x); };
  check({0.5, 0.5, 0.5}, measure::ulp, [](double x) { return std::sqrt(x); }, by_products);
  // Mantissas of even and odd exponents.
  using batch = kernels::batch<>;
  int different = 0;
  for (std::uint32_t bits = 0x3F000000; bits < 0x40000000; bits += 37 * kernels::lanes<>) {
    alignas(64) float x[kernels::lanes<>], got[kernels::lanes<>];
    for (std::uint32_t lane = 0; lane < kernels::lanes<>; ++lane) {
      std::uint32_t const pattern = bits + 37 * lane;
      std::memcpy(x + lane, &pattern, sizeof pattern);
    }
    by_products(batch::load_aligned(x)).store_aligned(got);
    for (int lane = 0; lane < kernels::lanes<>; ++lane) different += got[lane] != std::sqrt(x[lane]);
  }
  CHECK(different == 0);
}

TEST_CASE("logarithms") {
  check({0.85, 0.85, 0.9}, measure::ulp, [](double x) { return std::log(x); }, [](auto x) { return kernels::log(x); });
  check(
      {0.85, 0.85, 0.9}, measure::ulp, [](double x) { return std::log1p(x); },
      [](auto x) { return kernels::log1p(x); });
}

TEST_CASE("sigmoid, tanh, softplus") {
  check({2.41, 2.41, 2.45}, measure::ulp, sigmoid, [](auto x) { return kernels::sigmoid(x); });
  check({1.03, 2.6, 2.6}, measure::ulp, [](double x) { return std::tanh(x); }, [](auto x) { return kernels::tanh(x); });
  check(
      {1.54, 1.64, 1.7}, measure::ulp,
      [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); },
      [](auto x) { return kernels::softplus(x); });
}

TEST_CASE("fast forms of exponentials, tanh and sigmoid") {
  check(
      {48, 48, 110}, measure::ulp, [](double x) { return x < -87.336 ? 0 : std::exp(x); },
      [](auto x) {
        using value = decltype(x);
        return xsimd::select(x < value(-87.336F), value(0.0F), kernels::fast_exp(x));
      });
  check(
      {42, 42, 42}, measure::ulp, [](double x) { return std::tanh(x); }, [](auto x) { return kernels::fast_tanh(x); });
  check(
      {18, 18, 18}, measure::ulp, [](double x) { return std::fabs(x) < double{6.8F} ? std::tanh(x) : 0; },
      [](auto x) {
        using value = decltype(x);
        return xsimd::select(xsimd::abs(x) < value(6.8F), kernels::fast_tanh(x), value(0.0F));
      });
  for (float const x : {-90.0F, -100.0F, -1e30F}) {
    float y[kernels::lanes<>];
    kernels::fast_exp(kernels::batch<>(x)).store_unaligned(y);
    CHECK((y[0] >= 0 && y[0] < 0x1p-126F));
  }
  check({21, 21, 21}, measure::absolute, sigmoid, [](auto x) { return kernels::fast_sigmoid(x); });
  for_each_architecture([]<class Arch>() {
    using batch = kernels::batch<Arch>;
    int outside = 0;
    for (std::size_t i = 0; i < samples().size(); i += kernels::lanes<Arch>) {
      float of_tanh[kernels::lanes<Arch>], of_sigmoid[kernels::lanes<Arch>];
      auto const x = batch::load_unaligned(samples().data() + i);
      kernels::fast_tanh(x).store_unaligned(of_tanh);
      kernels::fast_sigmoid(x).store_unaligned(of_sigmoid);
      for (float const y : of_tanh) outside += y < -1 || y > 1;
      for (float const y : of_sigmoid) outside += y < 0 || y > 1;
    }
    CHECK(outside == 0);
  });
}

TEST_CASE("a sigmoid does not depend on what else is in its register") {
  for_each_architecture([]<class Arch>() {
    using batch = kernels::batch<Arch>;
    CAPTURE(kernels::lanes<Arch>);
    int different = 0;
    for (std::size_t i = 0; i < samples().size(); i += 97) {
      float const x = samples()[i];
      float alone[kernels::lanes<Arch>], beside[kernels::lanes<Arch>];
      kernels::sigmoid(batch(x)).store_unaligned(alone);
      for (float& value : beside) value = 1000;
      beside[0] = x;
      kernels::sigmoid(batch::load_unaligned(beside)).store_unaligned(beside);
      different += std::memcmp(alone, beside, sizeof x) != 0 && !std::isnan(x);
    }
    CHECK(different == 0);
  });
}

TEST_CASE("erf, the normal distribution, gelu") {
  check({2.46, 1.13, 1.2}, measure::ulp, [](double x) { return std::erf(x); }, [](auto x) { return kernels::erf(x); });
  check(
      {1.2, 1.2, 1.2}, measure::absolute, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); },
      [](auto x) { return kernels::normal_distribution(x); });
  check(
      {1.35, 1.46, 1.85}, measure::of_argument, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); },
      [](auto x) { return kernels::gelu(x); });
  check(
      {2.7, 2.7, 2.7}, measure::of_argument,
      [](double x) { return x * sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)); },
      [](auto x) { return kernels::gelu_tanh(x); });
}

TEST_CASE("exact values of elementary functions") {
  for_each_architecture([]<class Arch>() {
    using batch = kernels::batch<Arch>;
    auto const first = [](batch const& x) {
      float values[kernels::lanes<Arch>];
      x.store_unaligned(values);
      return values[0];
    };
    CHECK(first(kernels::exp(batch(0.0F))) == 1);
    CHECK(first(kernels::exp(batch(-0.0F))) == 1);
    CHECK(first(kernels::exp(batch(-inf))) == 0);
    CHECK(first(kernels::exp(batch(inf))) == inf);
    CHECK(first(kernels::exp(batch(-1e30F))) == 0);
    CHECK(first(kernels::exp(batch(1e30F))) == inf);
    CHECK(first(kernels::fast_exp(batch(0.0F))) == 1);
    CHECK(first(kernels::fast_exp(batch(-inf))) == 0);
    CHECK(first(kernels::fast_exp(batch(inf))) == inf);
    CHECK(first(kernels::fast_sigmoid(batch(0.0F))) == 0.5F);
    CHECK(first(kernels::fast_sigmoid(batch(-inf))) == 0);
    CHECK(first(kernels::fast_sigmoid(batch(inf))) == 1);
    CHECK(first(kernels::fast_tanh(batch(-inf))) == -1);
    CHECK(first(kernels::fast_tanh(batch(inf))) == 1);
    CHECK(std::signbit(first(kernels::fast_tanh(batch(-0.0F)))));
    batch const no_number(std::numeric_limits<float>::quiet_NaN());
    for (auto const& of_nan :
         {kernels::fast_exp(no_number), kernels::fast_sigmoid(no_number), kernels::fast_tanh(no_number)})
      CHECK(std::isnan(first(of_nan)));
    CHECK(first(kernels::expm1(batch(-inf))) == -1);
    CHECK(first(kernels::log(batch(1.0F))) == 0);
    CHECK(first(kernels::log(batch(-0.0F))) == -inf);
    CHECK(std::isnan(first(kernels::log(batch(-1e-45F)))));
    CHECK(std::isnan(first(kernels::log(batch(-inf)))));
    CHECK(first(kernels::log1p(batch(-1.0F))) == -inf);
    CHECK(std::isnan(first(kernels::log1p(batch(-1.0000001F)))));
    CHECK(first(kernels::sigmoid(batch(0.0F))) == 0.5F);
    CHECK(first(kernels::sigmoid(batch(-inf))) == 0);
    CHECK(first(kernels::sigmoid(batch(1e30F))) == 1);
    CHECK(first(kernels::gelu(batch(-20.0F))) == 0);
    CHECK(first(kernels::gelu(batch(-1e30F))) == 0);
    CHECK(first(kernels::gelu(batch(1e30F))) == 1e30F);
    for (float const x : {3e-40F, 0.3F, 2.5F, 9.5F, 1e20F, inf}) {
      CHECK(first(kernels::tanh(batch(-x))) == -first(kernels::tanh(batch(x))));
      CHECK(first(kernels::erf(batch(-x))) == -first(kernels::erf(batch(x))));
    }
    for (float const x : {9.5F, 1e20F, inf}) {
      CHECK(first(kernels::tanh(batch(x))) == 1);
      CHECK(first(kernels::erf(batch(x))) == 1);
    }
  });
}
