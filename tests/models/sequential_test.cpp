// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>
#include <type_traits>
#include <utility>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

static_assert(sc::Model<mlp> && !sc::Model<dense>);
static_assert(sc::graph_of<mlp>.kind() == sc::tracing::model_kind::sequential);
static_assert(sc::call_count<mlp> == 5 && sc::graph_of<mlp>.order.size() == 4);
static_assert(sc::count_parameters<mlp>() == 235'146);
static_assert(sc::output_shape_of<mlp, 1> == sc::shape(784) && sc::output_shape_of<mlp, 4> == sc::shape(10));
static_assert(sc::layer_of<mlp, 2>.activation == sc::relu && sc::layer_of<mlp, 4>.activation == sc::linear);

// Nested: another sequential model is one entry, with or without an input of its own.
using head = sc::models::sequential_model<dense{16, sc::relu}, dense{2}>;
using with_input = sc::models::sequential_model<input{16}, dense{4}>;
using nested = sc::sequential<input{8}, dense{16}, with_input{}, head{}>;
static_assert(sc::graph_of<nested>.nested_models.size() == 3);
static_assert(sc::graph_of<nested>.nested_models[1].name == "sequential");
static_assert(sc::graph_of<nested>.nested_models[2].name == "sequential_1");
static_assert(sc::graph_of<nested>.name() == "sequential_2");  // as in Keras, where it is made last
static_assert(sc::graph_of<nested>.order.size() == 4);
static_assert(sc::count_parameters<nested>() == 8 * 16 + 16 + 16 * 4 + 4 + 4 * 16 + 16 + 16 * 2 + 2);

// A model without an input has no shapes of its own; it is checked where it is called.
using without_input = sc::sequential<dense{16}, dense{2}>;
struct calls_it : sc::functional<calls_it> {
  static constexpr auto build(auto& model) {
    without_input shared;
    auto a = shared(model.input(4));
    return add{}(a, shared(model.input(4)));
  }
};
static_assert(sc::count_parameters<calls_it>() == 4 * 16 + 16 + 16 * 2 + 2);
static_assert(sc::graph_of<calls_it>.layers[1].call_count == 2);
static_assert(sc::graph_of<calls_it>.nested_models[1].instance == sc::graph_of<calls_it>.nested_models[2].instance);
static_assert(sc::graph_of<calls_it>.nested_models[2].node_index == 1);

// Or it is built for a shape, as in Keras: it is then the model that begins with this input.
static_assert(std::is_same_v<sc::build<without_input, input{4}>, sc::sequential<input{4}, dense{16}, dense{2}>>);
static_assert(sc::pipeline_stages<sc::pipelined<sc::build<without_input, input{4}>, sc::stages<0, 1>>> == 2);

struct named : sc::models::sequential_model<input{2}, dense{2}> {
  static constexpr std::string_view name = "my_stack";
};
static_assert(sc::graph_of<named>.name() == "my_stack");

template <class M>
constexpr int code_of = sc::detail::frozen_graph<M>.problem.code;

static_assert(code_of<sc::models::sequential_model<dense{3}>> == 1010);
static_assert(code_of<sc::models::sequential_model<input{3}, dense{3}, input{3}>> == 1009);
static_assert(code_of<sc::models::sequential_model<input{3}, dense{0}>> == 1012);
static_assert(code_of<sc::models::sequential_model<input{3}, dense{3}.in_pipeline_stage(1)>> == 2013);
static_assert(code_of<sc::models::sequential_model<input{3}, with_input{}>> == 1004);
static_assert(sc::detail::frozen_graph<sc::models::sequential_model<input{8}, with_input{}>>.problem.text ==
              "model 'sequential' has an input of shape (16,), but is called with (8,) [E1004]");

// The first broken rule, of several.
static_assert(code_of<sc::models::sequential_model<input{3}, reshape{2, 2}, dense{0}, dropout{2.0}>> == 1017);

// As long as a model may be: more entries than a fold may have operands.
template <int... Index>
constexpr auto chain(std::integer_sequence<int, Index...>) {
  return sc::sequential<input{4}, dense{4 + Index % 2}...>{};
}
using long_chain = decltype(chain(std::make_integer_sequence<int, 300>{}));
static_assert(sc::graph_of<long_chain>.order.size() == 300);

// A name, also of a model with stages or one that is called inside another.
using small = sc::named<"small", sc::sequential<input{4}, dense{3}, dense{2}>>;
static_assert(sc::Model<small> && sc::graph_of<small>.name() == "small" && sc::count_parameters<small>() == 23);
using staged_small =
    sc::named<"staged",
              sc::pipelined<sc::sequential<input{4}, dense{3}, dense{2}>, sc::stages<0, 1>, sc::device_mapping<0, 0>>>;
static_assert(sc::graph_of<staged_small>.name() == "staged" && sc::device_of<staged_small, 1> == 0);
static_assert(sc::graph_of<sc::pipelined<small, sc::stages<0, 1>>>.name() == "small");
using around_small = sc::sequential<input{4}, small{}, dense{1}>;
static_assert(sc::graph_of<around_small>.nested_models[1].name == "small");
static_assert(sc::graph_of<around_small>.nested_models[1].class_name == "Sequential");

}  // namespace

TEST_CASE("a sequential model's calls stand in its order") {
  for (int i = 0; i < 4; ++i) CHECK(sc::graph_of<mlp>.order[static_cast<std::size_t>(i)] == i + 1);
  for (std::size_t i = 0; i < 300; ++i) CHECK(sc::graph_of<long_chain>.order[i] == static_cast<int>(i) + 1);
}
