// SPDX-License-Identifier: BSD-3-Clause
// Layers that are written as a `call`: as defined here, outside of the library, in all three kinds of model.
#include "../session_steps.hpp"
#include "model_laws.hpp"
#include "traced_layers.hpp"

#include <algorithm>

namespace {

using namespace laws;  // NOLINT: the tests' own

using in_sequence = sc::sequential<input{5}, normalize{}, dense{3}, project{4}, normalize{}, dense{2}>;
using alone = sc::sequential<input{5}, normalize{}, same{}>;

struct in_functional : sc::functional<in_functional> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    normalize shared;
    auto a = shared(x), b = shared(dense(4, sc::tanh)(a));
    auto c = flatten()(gate()(b, b));
    return dense(2)(weighted_sum()({a, b, c}));
  }
};
struct in_subclass : sc::model<in_subclass> {
  normalize first, second;
  gate join;
  dense head{2};
  constexpr auto call(auto&, auto x) { return head(flatten()(join(second(first(x)), x))); }
};
using over_places = sc::sequential<input{4, 3}, attend{}, recur{}, recur{true}, positions{}>;
using over_windows = sc::sequential<input{6, 3}, windowed{}, dense{2}>;

}  // namespace

static_assert(sc::Layer<normalize> && sc::Layer<gate> && sc::Layer<weighted_sum>);
static_assert(sc::count_parameters<in_sequence>() == 10 + 18 + 12 + 8 + 10);
static_assert(sc::count_parameters<in_functional>() == 8 + 20 + 3 + 10);
static_assert(sc::graph_of<in_sequence>.calls[3].flops == 2 * 3 * 4 + 4);

TEST_CASE("a sequential model") { laws::check_gradients<in_sequence>(); }
TEST_CASE("at the begin and the end of a model, and nothing to do") { laws::check_gradients<alone>(); }
TEST_CASE("a functional model, called twice and with one tensor twice") { laws::check_gradients<in_functional>(); }
TEST_CASE("a subclass") { laws::check_gradients<sc::build<in_subclass, input{4}>>(); }
TEST_CASE("attention, loops and rows of a table") { laws::check_gradients<over_places>(); }
TEST_CASE("windows") { laws::check_gradients<over_windows>(); }

TEST_CASE("a weight that a layer updates itself") {
  using model = sc::sequential<input{2}, centre{}, dense{1}>;
  static constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 4};
  session_steps<model, training, sc::host<>> session;
  auto const step = [&] {
    for (int i = 0; i < 8; ++i) session.input(0)[i] = static_cast<float>(i);
    std::fill_n(session.scale(0), 4, 0.25F);
    session.train_step([] {});
  };
  step();
  CHECK(session.weight(0)[0] == 1.5F);  // half of the mean of 0, 2, 4, 6
  CHECK(session.weight(0)[1] == 2.0F);
  step();
  CHECK(session.weight(0)[0] == 2.25F);
}
