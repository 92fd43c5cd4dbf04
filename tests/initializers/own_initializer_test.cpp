// SPDX-License-Identifier: BSD-3-Clause
// Initializers of a user's own, in the weights of a trainer.
#include <stagecraft/stagecraft.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// Column numbers times a factor.
struct ramp : sc::own_initializer<ramp> {
  static constexpr std::string_view name = "ramp";
  float factor;
  constexpr explicit ramp(float factor_ = 1) : factor(factor_) {}
  constexpr auto call(auto& ops, auto const& shape) const { return ops.iota(shape) * factor; }
};
/// Half of the weights are 0, the others uniform in -limit and limit.
struct sparse : sc::own_initializer<sparse> {
  int seed;
  float limit = 0.5F;
  constexpr explicit sparse(int seed_ = 0) : seed(seed_) {}
  constexpr auto call(auto& ops, auto const& shape) const {
    auto const values = ops.uniform(shape) * (2 * limit) - limit;
    auto const kept = ops.uniform(shape) < 0.5F;
    return values * kept;
  }
};
static_assert(sc::initializer(ramp{}).name() == "ramp" && sc::initializer(sparse{3}).seed == 3);
static_assert(sc::initializer(ramp{2}) != sc::initializer(ramp{3}));

/// Weights of which no initializer is named, in `call` and in `parameters`, and an option that names none.
struct plain : sc::layer<plain> {
  static constexpr std::string_view class_name = "Plain";
  sc::initializer scale_initializer = {};
  constexpr auto call(auto& ops, auto x) const {
    auto const kernel = ops.weight({.name = "kernel", .shape = {x.length(-1), 5}});
    auto const bias = ops.weight({.name = "bias", .shape = {5}});
    auto const other_bias =
        ops.name_scope("gate", [&] { return ops.weight({.name = "recurrent_bias", .shape = {5}}); });
    auto const scale = ops.weight({.name = "scale", .shape = {}, .initializer = scale_initializer});
    auto const fixed = ops.weight({.name = "unbias", .shape = {5}, .trainable = false});
    auto const given = ops.weight({.name = "given", .shape = {5}, .initializer = sc::initializers::zeros{}});
    auto const sums = ops.matmul(x, kernel);
    return (sums + bias + other_bias + fixed + given) * scale;
  }
};
struct declared : sc::layer<declared> {
  static constexpr std::string_view class_name = "Declared";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const&, sc::parameter_list& weights) const {
    weights.add({.name = "factor", .shape = {4, 2}});
    weights.add({.name = "bias", .shape = {4, 2}});
  }
};
constexpr bool begins_with(std::string_view weight, sc::initializer const& expected) {
  for (auto const& each : sc::graph_of<sc::sequential<input{3}, plain{}, declared{}>>.parameters)
    if (each.name.view() == weight) return each.initializer == expected;
  return false;
}
using sc::initializers::glorot_uniform, sc::initializers::zeros;
static_assert(begins_with("kernel", glorot_uniform{}) && begins_with("bias", zeros{}));
static_assert(begins_with("gate/recurrent_bias", zeros{}) && begins_with("scale", glorot_uniform{}));
static_assert(begins_with("unbias", glorot_uniform{}) && begins_with("given", zeros{}));
static_assert(begins_with("factor", glorot_uniform{}));

using model = sc::sequential<input{5, 2}, dense{19, {.kernel_initializer = sparse{}, .bias_initializer = ramp{0.5F}}},
                             dense{19, {.kernel_initializer = sparse{}}}, dense{3, {.kernel_initializer = sparse{7}}},
                             dense{3, {.kernel_initializer = sparse{7}, .name = "equal"}},
                             lstm{2, {.bias_initializer = ramp{2}, .unit_forget_bias = true}}, plain{}>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 8};

}  // namespace

TEST_CASE("operations on a shape, into packed and other weights") {
  sc::trainer<model, training> trained;
  auto const bias = trained.weight<"dense/bias">();
  for (std::size_t i = 0; i < 19; ++i) CHECK(bias(i) == 0.5F * static_cast<float>(i));
  // The second quarter is 1, whatever the rest is.
  auto const lstm_bias = trained.weight<"lstm/bias">();
  for (std::size_t i = 0; i < 8; ++i) CHECK(lstm_bias(i) == (i == 2 || i == 3 ? 1.0F : 2.0F * static_cast<float>(i)));
}

TEST_CASE("random numbers follow from seeds, and differ from weight to weight") {
  sc::trainer<model, training> first, same, other(5);
  auto const kernel = first.weight<"dense_1/kernel">();
  CHECK(kernel == same.weight<"dense_1/kernel">());
  CHECK(kernel != other.weight<"dense_1/kernel">());
  std::size_t zeros = 0;
  double sum = 0;
  for (float const weight : kernel) {
    zeros += weight == 0 ? 1 : 0;
    sum += double{weight};
    CHECK(std::fabs(weight) <= 0.5F);
  }
  CHECK(zeros > 19 * 19 / 3);
  CHECK(zeros < 2 * 19 * 19 / 3);
  CHECK(std::fabs(sum) < 20);
  auto const third = first.weight<"dense_2/kernel">();
  CHECK(third == other.weight<"dense_2/kernel">());
  auto const fourth = first.weight<"equal/kernel">();
  for (std::size_t i = 0; i < 9; ++i)
    CHECK(third(i / 3, i % 3) == fourth(i / 3, i % 3));  // of a seed of its own, as in Keras
}

TEST_CASE("a weight without an initializer begins as Keras's add_weight has it") {
  sc::trainer<model, training> trained;
  float const limit = 0.92582010F;  // sqrt(6 / (2 + 5))
  auto const kernel = trained.weight<"plain/kernel">();
  float largest = 0, sum = 0;
  for (float const weight : kernel) largest = std::max(largest, std::abs(weight)), sum += std::abs(weight);
  CHECK(largest <= limit);
  CHECK(sum / static_cast<float>(kernel.size()) > limit / 5);
  CHECK(trained.weight<"plain/scale">()() != 0.0F);
  for (float const weight : trained.weight<"plain/gate/recurrent_bias">()) CHECK(weight == 0.0F);
}
