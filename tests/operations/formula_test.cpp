// SPDX-License-Identifier: BSD-3-Clause
// Formulas: what the compiler keeps of them, and that kernels compute them, batch by batch and over arrays.
#include <stagecraft/kernels/elementwise/formula.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

namespace stagecraft::operations {

namespace {

/// Of one number at each place, x, and two for all, a and b: call(x, a, b), or several in an array.
template <class Call>
struct formula_of_call {
  constexpr formula operator()() const {
    operation_list list;
    tensor const x{&list, list.append(input{0}, {}, {})}, y{&list, list.append(input{1}, {}, {})};
    tensor const a{&list, list.append(weight{0}, {}, {})}, b{&list, list.append(weight{1}, {}, {})};
    tracing::growing_array<int> results;
    for (tensor const result : Call{}(x, y, a, b)) results.push_back(result.id);
    return {list, results};
  }
};
template <class Call>
constexpr auto const& frozen(Call) {
  return stagecraft::detail::frozen_draft<formula_of_call<Call>>;
}
constexpr formula_view view(auto const& of) { return {of.steps, of.results}; }

constexpr auto const& last_step(auto const& of) { return of.steps.back(); }
constexpr int count_of(auto const& of, formula_source from) {
  int count = 0;
  for (auto const& step : of.steps) count += step.from == from;
  return count;
}

// A product that a sum or difference reads is one step with it.
constexpr auto sum = [](tensor x, tensor y, tensor, tensor) { return std::array{x + y * y}; };
static_assert(frozen(sum).steps.size() == 3 && last_step(frozen(sum)).apply == function::multiply_add);
constexpr auto difference = [](tensor x, tensor y, tensor, tensor) { return std::array{x - x * y}; };
static_assert(last_step(frozen(difference)).apply == function::negative_multiply_add);
constexpr auto other_difference = [](tensor x, tensor y, tensor, tensor) { return std::array{x * y - x}; };
static_assert(last_step(frozen(other_difference)).apply == function::multiply_subtract);
// Unless something else reads it, too,
constexpr auto read_twice = [](tensor x, tensor y, tensor, tensor) {
  tensor const product = x * y;
  return std::array{x + product, product};
};
static_assert(frozen(read_twice).steps.size() == 4 && last_step(frozen(read_twice)).apply == function::add);
// or it is the same at all places.
constexpr auto uniform = [](tensor x, tensor, tensor a, tensor b) { return std::array{x + a * b}; };
static_assert(last_step(frozen(uniform)).apply == function::add);
static_assert(frozen(uniform).steps[3].is_uniform && !last_step(frozen(uniform)).is_uniform);
// What no result needs is no step.
constexpr auto unread = [](tensor x, tensor y, tensor a, tensor b) {
  static_cast<void>(exp(y) * a + b);
  return std::array{x * 2};
};
static_assert(frozen(unread).steps.size() == 3 && count_of(frozen(unread), formula_source::place) == 1);

/// Each function, and results that are given numbers, constants, or the same.
constexpr auto all_functions = [](tensor x, tensor y, tensor a, tensor b) {
  tensor const positive = abs(x) + 0.5F;
  return std::array{-x * sign(y) + floor(x),
                    exp(-positive) + log(positive) - softplus(x * 4),
                    sqrt(positive) * rsqrt(positive + 1),
                    sin(x) + cos(y),
                    tanh(x) - sigmoid(y),
                    erf(x) / (positive + a),
                    pow(positive, b),
                    maximum(x, y) * minimum(x, a),
                    where(x < y, x, b) + where(x <= a, y, 1.0F),
                    where(equal(x, x), y, a),
                    x,
                    a * b - 1,
                    x};
};

}  // namespace

TEST_CASE("kernels compute formulas") {
  static constexpr auto const& of = frozen(all_functions);
  constexpr std::size_t results = of.results.size();
  constexpr double a = 0.75, b = 1.5;
  for (int const n : {1, 15, 16, 17, 100}) {
    CAPTURE(n);
    auto const size = static_cast<std::size_t>(n);
    std::vector<float> x(size), y(size);
    for (std::size_t i = 0; i < size; ++i) {
      x[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)) * 2);
      y[i] = static_cast<float>(std::cos(0.3 * static_cast<double>(i)) * 2);
    }
    std::array<float, of.steps.size()> constants{};
    kernels::formula_constants(view(of), std::array{a, b}, constants);
    std::vector<std::vector<float>> found(results, std::vector<float>(size + 1, -7.0F));
    std::array<float const*, 2> const given{x.data(), y.data()};
    std::array<float*, results> to{};
    for (std::size_t i = 0; i < results; ++i) to[i] = found[i].data();
    kernels::formula_places(view(of), constants, given, to, n);

    using arch = kernels::default_architecture;
    using value = kernels::batch<arch>;
    kernels::formula_function<of, arch> const function(std::array{a, b});
    for (std::size_t i = 0; i < size; ++i) {
      // The same bits, whatever stands beside a number; close to the steps on doubles.
      value const inputs[]{value(x[i]), value(y[i])};
      value outputs[results];
      function(inputs, outputs);
      std::vector<double> values;
      for (auto const& step : of.steps) {
        auto const operand = [&](int k) {
          return values.empty() ? 0 : values[static_cast<std::size_t>(step.operands[k])];
        };
        values.push_back(step.from == formula_source::place        ? static_cast<double>(step.index == 0 ? x[i] : y[i])
                         : step.from == formula_source::everywhere ? (step.index == 0 ? a : b)
                         : step.from == formula_source::constant
                             ? static_cast<double>(step.value)
                             : kernels::function_value(step.apply, operand(0), operand(1), operand(2)));
      }
      for (std::size_t k = 0; k < results; ++k) {
        CAPTURE(k);
        alignas(64) float lanes[kernels::lanes<arch>];
        outputs[k].store_aligned(lanes);
        CHECK(lanes[0] == found[k][i]);
        CHECK(found[k][i] == doctest::Approx(values[static_cast<std::size_t>(of.results[k])]).epsilon(2e-6));
      }
    }
    for (auto const& array : found) CHECK(array.back() == -7.0F);
  }
}

}  // namespace stagecraft::operations
