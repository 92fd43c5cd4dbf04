// SPDX-License-Identifier: BSD-3-Clause
// Loops of formulas: every length, numbers that are one for a row, sums, gradients, ties, NaN, and drawn numbers.
#include <stagecraft/kernels/elementwise/formula_rows.hpp>
#include <stagecraft/layers/elementwise_call.hpp>
#include <stagecraft/layers/layers.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <vector>

namespace {

namespace sc = stagecraft;
namespace kernels = stagecraft::kernels;
using namespace sc::layers;
using sc::shape, sc::detail::anonymous, sc::detail::elementwise_call;
using arch = kernels::default_architecture;
using floats = std::vector<float>;

template <auto Layer>
using of_one = elementwise_call<anonymous(Layer), 2, true, shape(4)>;
template <auto Layer>
using of_three = elementwise_call<anonymous(Layer), 2, true, shape(4), shape(4), shape(4)>;
template <class Call, std::size_t Inputs, unsigned Single>
using value_loop = kernels::formula_row<sc::detail::formula_of_layer<Call>, Inputs, Single, arch>;
template <class Call, int Input, std::size_t Inputs, unsigned Single>
using gradient_loop = kernels::formula_row<sc::detail::gradient_of_layer<Call, Input>, Inputs + 2, Single, arch>;

/// Small whole numbers, some of them equal, so that sums are exact in any order.
floats numbers(std::size_t n, float phase) {
  floats result(n);
  for (std::size_t i = 0; i < n; ++i) result[i] = std::round(3 * std::sin(static_cast<float>(i) * 1.1F + phase));
  return result;
}

/// How many results of a merging layer of three inputs, the second of which is one number for all, and of its
/// gradients, differ from those of `value(a, b, c)` and `gradient(a, b, c, which)`; dy is 2.
template <auto Layer, class Value, class Gradient>
int wrong_merges(Value const& value, Gradient const& gradient) {
  using call = of_three<Layer>;
  int wrong = 0;
  for (std::size_t const n : {1U, 7U, 15U, 16U, 17U, 31U, 64U, 1000U}) {
    floats const a = numbers(n, 0), b{2}, c = numbers(n, 4), dy(n, 2.0F);
    floats y(n + 1, -77.0F), da(n, 10.0F), dc = da;
    auto const size = static_cast<std::int64_t>(n);
    value_loop<call, 3, 2>::template write<false>({a.data(), b.data(), c.data()}, y.data(), size);
    std::array<float const*, 5> const given{a.data(), b.data(), c.data(), y.data(), dy.data()};
    gradient_loop<call, 0, 3, 2>::template write<false>(given, da.data(), size);
    gradient_loop<call, 2, 3, 2>::template write<true>(given, dc.data(), size);
    float expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      wrong += y[i] != value(a[i], b[0], c[i]);
      wrong += da[i] != 2 * gradient(a[i], b[0], c[i], 0);
      wrong += dc[i] != 10 + 2 * gradient(a[i], b[0], c[i], 2);
      expected += 2 * gradient(a[i], b[0], c[i], 1);
    }
    wrong += gradient_loop<call, 1, 3, 2>::sum(given, size) != expected;
    wrong += y[n] != -77.0F;
  }
  return wrong;
}

}  // namespace

TEST_CASE("merging layers, one of whose inputs is repeated") {
  CHECK(wrong_merges<add{}>([](float a, float b, float c) { return a + b + c; },
                            [](float, float, float, int) { return 1.0F; }) == 0);
  CHECK(wrong_merges<multiply{}>([](float a, float b, float c) { return a * b * c; },
                                 [](float a, float b, float c, int which) {
                                   return which == 0 ? b * c : which == 1 ? a * c : a * b;
                                 }) == 0);
  // TensorFlow's chain max(max(a, b), c): of two equal values the first gets the gradient.
  CHECK(wrong_merges<maximum{}>([](float a, float b, float c) { return std::fmax(std::fmax(a, b), c); },
                                [](float a, float b, float c, int which) {
                                  int const best = c > std::fmax(a, b) ? 2 : b > a ? 1 : 0;
                                  return which == best ? 1.0F : 0.0F;
                                }) == 0);
}

TEST_CASE("the largest is NaN where any input is NaN") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  floats const a{nan, 1, 1, 0}, b{1, nan, 1, 1}, c{2, 2, nan, 2};
  floats y(4);
  value_loop<of_three<maximum{}>, 3, 0>::write<false>({a.data(), b.data(), c.data()}, y.data(), 4);
  CHECK((std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2]) && y[3] == 2));
}

TEST_CASE("numbers that are drawn") {
  using call = of_one<dropout{0.25}>;
  for (std::int64_t const n : {5, 16, 100}) {
    auto const size = static_cast<std::size_t>(n);
    kernels::random_key const key(3, 4);
    floats const x = numbers(size, 1);
    floats y(size), expected(size), dx(size);
    for (std::size_t i = 0; i < size; ++i)
      expected[i] = kernels::random_uniform(key, 7 + i) >= 0.25F ? x[i] * (1 / (1 - 0.25F)) : 0;
    value_loop<call, 1, 0>::write<false>({x.data()}, y.data(), n, {key, 7});
    gradient_loop<call, 0, 1, 0>::write<false>({x.data(), y.data(), x.data()}, dx.data(), n, {key, 7});
    CHECK(y == expected);
    CHECK(dx == expected);
  }
}
