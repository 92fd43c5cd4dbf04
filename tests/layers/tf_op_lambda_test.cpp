// SPDX-License-Identifier: BSD-3-Clause
// Operators on symbolic tensors: names, shapes, and numbers that follow from hand.
#include <stagecraft/stagecraft.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>
#include <utility>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

struct assigned : sc::functional<assigned> {
  static constexpr auto build(auto& model) {
    auto a = model.input(2), b = model.input(2);
    auto const first = a;
    a += b;
    a *= first;
    a -= 3;
    a /= b;
    b += 1;
    (b -= a) *= 0.5;
    a *= -b;
    return sc::outputs(a, b, -first, - -first);
  }
};

constexpr auto const& graph = sc::graph_of<assigned>;
constexpr std::string_view name_of(int call) { return graph.layer_of(call).name; }
static_assert(sc::call_count<assigned> == 2 + 4 + 3 + 2 + 3);
static_assert(name_of(2) == "tf.__operators__.add" && name_of(3) == "tf.math.multiply");
static_assert(name_of(4) == "tf.math.subtract" && name_of(5) == "tf.math.truediv");
static_assert(name_of(6) == "tf.__operators__.add_1" && name_of(8) == "tf.math.multiply_1");
static_assert(name_of(9) == "tf.math.negative" && name_of(11) == "tf.math.negative_1");
static_assert(graph.call(9).shape == sc::shape(2));

// The result of a call is no variable, and neither is a constant: as little as in Python can they be assigned to.
template <class Left, class Right>
concept Accumulates = requires(Left left, Right right) { left += right; };
template <class Left>
concept AccumulatesTemporary = requires(Left left) { std::move(left) += 1; };
static_assert(Accumulates<sc::symbolic_tensor&, sc::symbolic_tensor> && Accumulates<sc::symbolic_tensor&, double>);
static_assert(!Accumulates<sc::symbolic_tensor const&, int> && !Accumulates<sc::symbolic_tensor&, char const*>);
static_assert(!AccumulatesTemporary<sc::symbolic_tensor>);

}  // namespace

TEST_CASE("assigning operators and the unary minus") {
  static constexpr auto training = sc::training{.batch_size = 1};
  sc::trainer<assigned, training> model;
  xt::xtensor<float, 2> const a{{1, -2}}, b{{2, 4}};
  auto const [x, y, negative, twice] = model.predict(sc::inputs(a, b));
  // a: ((a + b) * a - 3) / b = (3 * 1 - 3) / 2 = 0 and (2 * -2 - 3) / 4 = -1.75; b: (b + 1 - a) / 2 = 1.5 and 3.375.
  CHECK(y(0, 0) == 1.5F);
  CHECK(y(0, 1) == 3.375F);
  CHECK(x(0, 0) == 0);
  CHECK(x(0, 1) == 1.75F * 3.375F);
  CHECK(negative == -a);
  CHECK(twice == a);
}
