// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

namespace {

/// Two or three tensors, with one of them twice, and an input that wants no gradient.
template <class Layer, int Inputs>
struct merged : sc::functional<merged<Layer, Inputs>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(5);
    auto a = dense(5)(x), b = dense(5, sc::tanh)(x);
    if constexpr (Inputs == 2)
      return dense(2)(Layer{}(a, b));
    else
      return Layer{}(a, b, x);
  }
};

template <class Layer>
struct merged_with_itself : sc::functional<merged_with_itself<Layer>> {
  static constexpr auto build(auto& model) {
    auto x = dense(4)(model.input(3));
    return dense(2)(Layer{}(x, x));
  }
};

template <class Layer>
void check_merge() {
  CAPTURE(Layer::class_name);
  laws::check_gradients<merged<Layer, 2>>();
  if constexpr (Layer::most_inputs > 2) laws::check_gradients<merged<Layer, 3>>();
  laws::check_gradients<merged_with_itself<Layer>>();
}

/// Inputs that are repeated: along the last axis, along axes in front that they do not have, along both.
struct repeated : sc::functional<repeated> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3, 4);
    auto a = dense(5, sc::tanh)(x), gate = dense(1, sc::sigmoid)(x), row = dense(5)(flatten()(x));
    auto one = dense(1)(row);
    auto merged = add()(multiply()(a, gate, row), maximum()(gate, a, one), subtract()(one, a), average()(row, gate));
    auto negative = -(a * gate);
    negative -= gate;
    return dense(2)(merged + a / (gate + 1) + negative * -a);
  }
};

}  // namespace

TEST_CASE("inputs of different shapes") { laws::check_gradients<repeated>(); }
TEST_CASE("add") { check_merge<add>(); }
TEST_CASE("subtract") { check_merge<subtract>(); }
TEST_CASE("multiply") { check_merge<multiply>(); }
TEST_CASE("average") { check_merge<average>(); }
TEST_CASE("maximum") { check_merge<maximum>(); }
