// SPDX-License-Identifier: BSD-3-Clause
// Constraints beside Keras's, and what a trainer makes of them.
#include <stagecraft/stagecraft.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "../golden/golden.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// What a constraint makes of a weight.
template <sc::constraint Constraint, sc::shape Shape>
std::vector<float> constrained(std::vector<float> const& weight) {
  static constexpr auto const& plan = sc::detail::plan_of_constraint<Constraint, Shape>::value;
  using runner_type = sc::cpu::plan_runner<>;
  static_assert(runner_type::floats(plan) < 4096);
  alignas(64) std::array<float, 4096> memory;
  std::array<float*, plan.nodes.size()> addresses;
  std::vector<float> result(weight.size());
  runner_type runner(plan, memory.data(), addresses);
  float const* const inputs[]{weight.data()};
  runner.forward({inputs, result.data()});
  std::copy_n(runner.address(plan.output), result.size(), result.data());
  return result;
}

}  // namespace

TEST_CASE("constraints agree with Keras") {
  using namespace sc::constraints;
  auto const file = golden::read("constraints.txt");
  auto const check = [&](std::string const& name, std::vector<float> const& found) {
    CAPTURE(name);
    auto const& expected = file[name].values;
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  };
  constexpr sc::shape matrix{5, 3}, filters{2, 2, 3, 4};
  auto const& weight = file["matrix"].values;
  check("non_neg", constrained<non_neg{}, matrix>(weight));
  check("max_norm", constrained<max_norm{}, matrix>(weight));
  check("max_norm_options", constrained<max_norm{.max_value = 1.25F, .axis = 1}, matrix>(weight));
  check("unit_norm", constrained<unit_norm{}, matrix>(weight));
  check("unit_norm_filters", constrained<unit_norm{.axis = {0, 1, 2}}, filters>(file["filters"].values));
  check("unit_norm_filters", constrained<unit_norm{.axis = {-4, -3, -2}}, filters>(file["filters"].values));
  check("min_max_norm", constrained<min_max_norm{}, matrix>(weight));
  check("min_max_norm_options",
        constrained<min_max_norm{.min_value = 2.4F, .max_value = 2.5F, .rate = 0.25F}, matrix>(weight));
  auto const check_radial = [&]<int Size>() {
    auto const name = "radial_" + std::to_string(Size);
    check(name, constrained<radial_constraint{}, sc::shape{Size, Size, 2, 2}>(file[name + "_weights"].values));
  };
  check_radial.template operator()<1>();
  check_radial.template operator()<2>();
  check_radial.template operator()<3>();
  check_radial.template operator()<4>();
  check_radial.template operator()<5>();
}

namespace {

using limited = sc::sequential<input{5}, dense{19, sc::relu, {.kernel_constraint = sc::constraints::max_norm{0.5F}}},
                               dense{3, {.kernel_constraint = sc::constraints::unit_norm{.axis = 1}}}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.05F},
                                              .loss = sc::losses::mean_squared_error{},
                                              .batch_size = 8};

}  // namespace

// Kernels are kept in panels, whose columns are filled up with zeros.
TEST_CASE("a trainer's weights keep to their constraints from the first update on") {
  sc::trainer<limited, training> model;
  xt::xtensor<float, 2> x = xt::zeros<float>({8, 5}), y = xt::zeros<float>({8, 3});
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = std::sin(static_cast<float>(3 * i));
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = 3 * std::cos(static_cast<float>(i));
  auto const norms = [&] {
    auto const first = model.weight<"dense/kernel">();
    auto const second = model.weight<"dense_1/kernel">();
    std::array<double, 3> result{0, 1e9, 0};  // the largest of the first kernel, the limits of the second
    for (std::size_t unit = 0; unit < 19; ++unit) {
      double of_first = 0, of_second = 0;
      for (std::size_t i = 0; i < 5; ++i) of_first += double{first(i, unit)} * double{first(i, unit)};
      for (std::size_t i = 0; i < 3; ++i) of_second += double{second(unit, i)} * double{second(unit, i)};
      result[0] = std::max(result[0], std::sqrt(of_first));
      result[1] = std::min(result[1], std::sqrt(of_second));
      result[2] = std::max(result[2], std::sqrt(of_second));
    }
    return result;
  };
  CHECK(norms()[0] > 0.6);
  model.train_on_batch(x, y);
  auto const found = norms();
  CHECK(found[0] == doctest::Approx(0.5));
  CHECK(found[1] == doctest::Approx(1));
  CHECK(found[2] == doctest::Approx(1));
}
