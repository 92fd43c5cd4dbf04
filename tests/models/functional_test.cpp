// SPDX-License-Identifier: BSD-3-Clause
// Functional models: ordinary code, several inputs and outputs, shared layers, nested in each other.
#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

constexpr auto residual(auto x, int units, bool project) {
  auto shortcut = project ? dense{units}(x) : x;
  return add{}(shortcut, dense{units}(dense{units, sc::relu}(x)));
}

struct loops : sc::functional<loops> {
  static constexpr auto build(auto& model) {
    auto x = model.input(16);
    for (int i = 0; i < 5; ++i) x = residual(x, 8, i == 0);
    return dense{3}(x);
  }
};
static_assert(sc::graph_of<loops>.kind() == sc::tracing::model_kind::functional);
static_assert(sc::call_count<loops> == 1 + 5 * 3 + 1 + 1);
static_assert(sc::count_parameters<loops>() ==
              3 * 8 + 3 + (16 * 8 + 8) + (16 * 8 + 8) + (8 * 8 + 8) + 4 * 2 * (8 * 8 + 8));

struct encoder : sc::functional<encoder> {
  static constexpr std::string_view name = "encoder";
  static constexpr auto build(auto& model) {
    auto pixels = model.input(sc::shape(6), "pixels");
    auto position = model.input(sc::shape(2), "position");
    auto both = concatenate{}(pixels, position);
    return sc::outputs(dense{4, {.name = "mean"}}(both), dense{4, {.name = "spread"}}(both));
  }
};

struct autoencoder : sc::functional<autoencoder> {
  static constexpr auto build(auto& model) {
    auto left = model.input(6);
    auto right = model.input(6);
    auto position = model.input(2);
    encoder shared;
    auto const [mean, spread] = shared(left, position);
    auto const [other_mean, other_spread] = shared(right, position);
    auto const joined = concatenate{}({mean, spread, other_mean, other_spread});
    return sc::outputs(dense{6}(joined), mean);
  }
};
constexpr auto const& graph = sc::graph_of<autoencoder>;
// Two calls of one nested model: its layers are there once, with two calls each.
static_assert(graph.nested_models.size() == 3 && graph.nested_models[1].name == "encoder");
static_assert(graph.nested_models[2].parent == 0 && graph.nested_models[2].node_index == 1);
static_assert(sc::count_parameters<autoencoder>() == 2 * (8 * 4 + 4) + 16 * 6 + 6);
static_assert(sc::find_call<autoencoder>("mean", 1) > sc::find_call<autoencoder>("mean", 0));
static_assert(graph.outputs_of(0).size() == 2 && graph.outputs_of(1).size() == 2);
static_assert(graph.outputs_of(0)[1] == sc::find_call<autoencoder>("mean"));
static_assert(graph.nested_inputs_of(1).size() == 2);
static_assert(graph.nested_inputs_of(1)[0].name == "pixels" && graph.nested_inputs_of(1)[0].call == 0);
static_assert(graph.nested_inputs_of(2)[0].name == "pixels" && graph.nested_inputs_of(2)[0].call == 1);

// Two objects of one nested model have weights of their own.
struct my_block : sc::model<my_block> {
  dense layer{4};
  constexpr auto call(auto&, auto x) { return layer(x); }
};
struct two_objects : sc::functional<two_objects> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    my_block first, second;
    return second(first(x));
  }
};
static_assert(sc::count_parameters<two_objects>() == 2 * 20);
static_assert(sc::graph_of<two_objects>.nested_models[1].name == "my_block");
static_assert(sc::graph_of<two_objects>.nested_models[2].name == "my_block_1");
static_assert(sc::graph_of<two_objects>.nested_models[1].class_name == "my_block");

struct takes_two : sc::functional<takes_two> {
  static constexpr auto build(auto& model) {
    auto a = model.input(4);
    return add{}(a, model.input(4));
  }
};
struct gives_one : sc::functional<gives_one> {
  static constexpr auto build(auto& model) { return takes_two{}(model.input(4)); }
};
struct gives_three : sc::functional<gives_three> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    return takes_two{}(x, x, x);
  }
};
template <class M>
constexpr auto const& problem_of = sc::detail::frozen_graph<M>.problem;
static_assert(problem_of<gives_one>.code == 1001);
static_assert(problem_of<gives_three>.text == "model 'model' takes 2 inputs, but is called with 3 [E1001]");

// Outputs are called as Keras calls them.
struct tower : sc::functional<tower> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    auto left = dense{1, {.name = "left"}}(x);
    return sc::outputs(left, dense{2, {.name = "right"}}(x));
  }
};
struct many_outputs : sc::functional<many_outputs> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    auto nested = tower{}.named("tower")(x);
    dense other{3, {.name = "tower_1"}}, shared{2, {.name = "shared"}};
    auto o = other(x), s = shared(x);
    return sc::outputs(nested[0], nested[1], o, s, shared(x));
  }
};
struct two_of_subclass : sc::model<two_of_subclass> {
  tower inner;
  constexpr auto call(auto&, auto x) { return inner(x); }
};
template <class M, std::size_t Output>
constexpr std::string_view name_of_output = sc::models::output_names<M>[Output];
static_assert(name_of_output<many_outputs, 0> == "tower" && name_of_output<many_outputs, 1> == "tower_1");
static_assert(name_of_output<many_outputs, 2> == "tower_1_1" && name_of_output<many_outputs, 3> == "shared");
static_assert(name_of_output<many_outputs, 4> == "shared_1" && name_of_output<tower, 1> == "right");
static_assert(name_of_output<sc::build<two_of_subclass, input{4}>, 1> == "output_2");

}  // namespace

TEST_CASE("inputs of a nested model's calls are those of the outer model") {
  int const first = sc::find_call<autoencoder>("concatenate", 0);
  int const second = sc::find_call<autoencoder>("concatenate", 1);
  CHECK(sc::graph_of<autoencoder>.inputs_of(first)[0] == 0);
  CHECK(sc::graph_of<autoencoder>.inputs_of(second)[0] == 1);
  CHECK(sc::graph_of<autoencoder>.inputs_of(first)[1] == 2);
  CHECK(sc::graph_of<autoencoder>.inputs_of(second)[1] == 2);
}
