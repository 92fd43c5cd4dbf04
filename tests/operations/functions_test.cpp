// SPDX-License-Identifier: BSD-3-Clause
// Functions that are made of others, and those of xsimd: errors as their docstrings state them, on registers.
#include <stagecraft/kernels/elementwise/function.hpp>
#include <stagecraft/operations/functions.hpp>
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <vector>
#include "../kernels/product/matmul_cases.hpp"

namespace kernels = stagecraft::kernels;

namespace stagecraft::operations {

namespace {

/// A function of one number as a list of operations.
struct listed {
  operation_list list;
  int result;

  explicit listed(tensor (*function)(tensor)) : result(function({&list, list.append(input{0}, {})}).id) {}

  template <class Arch>
  [[nodiscard]] std::vector<float> operator()(float const* x) const {
    using value = kernels::batch<Arch>;
    std::vector<value> values;
    for (int id = 0; id < list.size(); ++id) {
      node const& at = list.node_of(id);
      if (at.what.is<input>()) values.push_back(value::load_unaligned(x));
      if (auto const* number = at.what.if_is<constant>()) values.push_back(value(number->value));
      if (auto const* what = at.what.if_is<map>()) {
        auto const operand = [&](int i) {
          return values[static_cast<std::size_t>(list.operand(id, i < at.operand_count ? i : 0))];
        };
        kernels::with_function(what->apply, [&](auto f) {
          values.push_back(kernels::function_value<f.value, Arch>(operand(0), operand(1), operand(2)));
        });
      }
    }
    std::vector<float> results(kernels::lanes<Arch>);
    values[static_cast<std::size_t>(result)].store_unaligned(results.data());
    return results;
  }
};

struct range {
  double low, high;
  bool by_exponent = true;  ///< sizes of all exponents alike, of both signs unless both bounds are 1 and above
};

double drawn(std::mt19937& engine, range const& from) {
  std::uniform_real_distribution<double> uniform;
  if (!from.by_exponent) return from.low + (from.high - from.low) * uniform(engine);
  double const size = std::exp(std::log(from.low) + (std::log(from.high) - std::log(from.low)) * uniform(engine));
  return from.low < 1 && engine() % 2 == 0 ? -size : size;
}

template <class Arch>
double largest_error(tensor (*function)(tensor), double (*exact)(double), range const& from) {
  listed const computed(function);
  std::mt19937 engine(5);
  double worst = 0;
  std::vector<float> x(kernels::lanes<Arch>);
  for (int i = 0; i < 20000; i += kernels::lanes<Arch>) {
    for (float& each : x) each = static_cast<float>(drawn(engine, from));
    auto const found = computed.operator()<Arch>(x.data());
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      double const expected = exact(static_cast<double>(x[lane]));
      if (std::abs(expected) < 1.2e-38 || std::abs(expected) > 3.4e38) continue;
      int exponent = 0;
      std::frexp(expected, &exponent);
      double const error = std::abs(static_cast<double>(found[lane]) - expected) / std::ldexp(1.0, exponent - 24);
      if (!(error < INFINITY)) return INFINITY;
      worst = std::max(worst, error);
    }
  }
  return worst;
}

template <class... Arch>
void check_on(double most, tensor (*function)(tensor), double (*exact)(double), range const& from) {
  for (double const error : {largest_error<Arch>(function, exact, from)...}) CHECK(error <= most);
}
void check(double most, tensor (*function)(tensor), double (*exact)(double), range const& from) {
  check_on<MATMUL_ARCHITECTURES>(most, function, exact, from);
}

}  // namespace

TEST_CASE("errors are at most what docstrings say") {
  check(2.2, sin, std::sin, {1e-6, 1e10});
  check(2.2, cos, std::cos, {1e-6, 1e10});
  check(3, tan, std::tan, {1e-30, 1e4});
  check(2, atan, std::atan, {1e-30, 1e30});
  check(3.1, asin, std::asin, {1e-30, 1});
  check(3, acos, std::acos, {-1, 1, false});
  check(0.9, log1p, std::log1p, {1e-30, 0.99});
  check(2.9, expm1, std::expm1, {1e-30, 88});
  check(3.1, cosh, std::cosh, {1e-3, 89.4});
  check(3.7, sinh, std::sinh, {1e-30, 89.4});
  check(1.7, asinh, std::asinh, {1e-30, 3e38});
  check(2.6, acosh, std::acosh, {1.0001, 3e38});
  check(2, atanh, std::atanh, {1e-30, 1});
}

TEST_CASE("whole numbers are exact") {
  for (range const& from : {range{1e-3, 1e9}, range{-9, 9, false}}) {
    check(0, round, std::nearbyint, from);
    check(0, ceil, std::ceil, from);
    check(0, trunc, std::trunc, from);
    check(0, floor, std::floor, from);
  }
}

TEST_CASE("numbers outside of a domain, and the largest ones") {
  auto const at = [](tensor (*function)(tensor), float x) {
    std::vector<float> const all(16, x);
    return listed(function).operator()<kernels::default_architecture>(all.data())[0];
  };
  for (auto const function : {asin<tensor>, acos<tensor>, atanh<tensor>}) {
    CHECK(std::isnan(at(function, 1.001F)));
    CHECK(std::isnan(at(function, -2.0F)));
  }
  CHECK(std::isnan(at(acosh, 0.999F)));
  CHECK(std::isnan(at(acosh, -1e30F)));
  CHECK(at(asin, 1.0F) == doctest::Approx(1.5707963F));
  CHECK(at(acos, -1.0F) == doctest::Approx(3.1415927F));
  CHECK(at(acos, 1.0F) == 0);
  CHECK(at(acosh, 1.0F) == 0);
  CHECK(at(atanh, 1.0F) == INFINITY);
  CHECK(at(asinh, -INFINITY) == -INFINITY);
  CHECK(at(sinh, -100.0F) == -INFINITY);
  CHECK(at(cosh, -100.0F) == INFINITY);
  CHECK(at(expm1, 100.0F) == INFINITY);
  CHECK(at(expm1, -100.0F) == -1);
}

}  // namespace stagecraft::operations
