// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

namespace {

/// Joins tensors (2, 3, 2) along one axis, of which the second is longer there, one of them twice.
template <int Axis>
struct joined : sc::functional<joined<Axis>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(2, 3, 2);
    sc::shape longer{2, 3, 2};
    longer[Axis < 0 ? 2 : Axis - 1] += 1;
    auto a = dense(2)(x);
    auto b = reshape(longer)(dense(longer.size())(flatten()(x)));
    return dense(2)(concatenate(Axis)(a, b, a, x));
  }
};

struct joined_rows : sc::functional<joined_rows> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3);
    auto a = dense(17)(x);
    return concatenate()(a, x, dense(1, sc::tanh)(a));
  }
};

}  // namespace

TEST_CASE("concatenate along each axis") {
  laws::check_gradients<joined<1>>();
  laws::check_gradients<joined<2>>();
  laws::check_gradients<joined<3>>();
  laws::check_gradients<joined<-1>>();
}

TEST_CASE("concatenate rows") { laws::check_gradients<joined_rows>(); }
