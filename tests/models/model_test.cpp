// SPDX-License-Identifier: BSD-3-Clause
// Model subclasses: layers as members, shared by calling them twice; nested in the other kinds, and the other way
// round.
#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

struct my_model : sc::model<my_model> {
  dense dense_layer_1{8};
  dense dense_layer_2{8};
  concatenate concat;
  dense dense_layer_3{1};

  constexpr auto call(auto&, auto x) {
    auto a = dense_layer_1(x);
    return dense_layer_3(concat(a, dense_layer_2(x)));
  }
};
using built = sc::build<my_model, input{6}>;
static_assert(sc::Model<built> && sc::graph_of<built>.kind() == sc::tracing::model_kind::subclass);
static_assert(sc::graph_of<built>.name() == "my_model");
static_assert(sc::count_parameters<built>() == 129);
// The same subclass with other inputs is another model.
static_assert(sc::count_parameters<sc::build<my_model, input{7}>>() == 145);

struct siamese : sc::model<siamese> {
  dense encode{8};
  subtract difference;
  dense decide{1};

  constexpr auto call(auto&, auto left, auto right) {
    auto a = encode(left);
    return decide(difference(a, encode(right)));
  }
};
using siamese_network = sc::build<siamese, input{16}, input{16}>;
static_assert(sc::count_parameters<siamese_network>() == 16 * 8 + 8 + 9);
static_assert(sc::graph_of<siamese_network>.layers[2].call_count == 2);
static_assert(sc::graph_of<siamese_network>.call(3).node_index == 1);

struct CamelCase : sc::model<CamelCase> {
  dense layer{2};
  constexpr auto call(auto&, auto x) { return layer(x); }
};
static_assert(sc::graph_of<sc::build<CamelCase, input{2}>>.name() == "camel_case");

struct named : sc::model<named> {
  static constexpr std::string_view name = "its_own_name";
  dense layer{2};
  constexpr auto call(auto&, auto x) { return layer(x); }
};
static_assert(sc::graph_of<sc::build<named, input{2}>>.name() == "its_own_name");

// Members may be models of any kind, and `call` may be ordinary code.
struct stem : sc::functional<stem> {
  static constexpr auto build(auto& model) { return dense{4, sc::relu}(flatten{}(model.input(2, 2))); }
};
struct mixed : sc::model<mixed> {
  stem begin;
  sc::sequential<dense{4}, dropout{0.1}> middle;
  my_model end;
  bool twice = true;

  constexpr auto call(auto&, auto x) {
    auto y = middle(begin(x));
    if (twice) y = middle(y);
    return end(y);
  }
};
using mixed_network = sc::build<mixed, input{2, 2}>;
static_assert(sc::graph_of<mixed_network>.nested_models.size() == 5);
static_assert(sc::graph_of<mixed_network>.nested_models[4].class_name == "my_model");
static_assert(sc::count_parameters<mixed_network>() == 20 + 20 + 2 * (4 * 8 + 8) + 17);

struct around : sc::functional<around> {
  static constexpr auto build(auto& model) {
    auto x = model.input(2, 2);
    mixed inner;
    return concatenate{}(inner(x), inner(x));
  }
};
static_assert(sc::count_parameters<around>() == sc::count_parameters<mixed_network>());
using in_sequential = sc::sequential<input{2, 2}, mixed{}, dense{1}>;
static_assert(sc::count_parameters<in_sequential>() == sc::count_parameters<mixed_network>() + 2);

// Stages of the scopes in `call`.
struct staged : sc::model<staged> {
  dense first{4}, second{4};
  constexpr auto call(auto& model, auto x) {
    {
      sc::pipeline_stage stage(model, 0);
      x = first(x);
    }
    sc::pipeline_stage stage(model, 1);
    return second(x);
  }
};
static_assert(sc::pipeline_stages<sc::build<staged, input{4}>> == 2);

// The entries of an assignment have the layers themselves: comparable with the members, and with each other.
using staged_network = sc::build<staged, input{4}>;
constexpr auto entries = sc::get_pipeline_stage_assignment<staged_network>();
constexpr auto const& members = sc::members_of<staged_network>;
static_assert(entries[0].layer() == members.first && members.second == entries[1].layer());
static_assert(entries[0].layer() != members.second && entries[0].layer() != entries[1].layer());
static_assert(entries[0].layer().name() == "dense" && entries[0].layer().class_name() == "Dense");
constexpr auto calls_of_siamese = sc::get_pipeline_stage_assignment<siamese_network>();
static_assert(calls_of_siamese[0].layer() == calls_of_siamese[1].layer());

// A layer of a call that nothing needs is nobody's, and does not shift those that follow.
struct wasteful : sc::model<wasteful> {
  dense unused{4}, used{2};
  dropout never_called{0.5F};

  constexpr auto call(auto&, auto x) {
    unused(x);
    return used(x);
  }
};
using wasteful_network = sc::build<wasteful, input{4}>;
constexpr auto only = sc::get_pipeline_stage_assignment<wasteful_network>();
static_assert(only.size() == 1 && only[0].layer() == sc::members_of<wasteful_network>.used);
static_assert(only[0].layer() != sc::members_of<wasteful_network>.unused &&
              only[0].layer() != sc::members_of<wasteful_network>.never_called);

}  // namespace

TEST_CASE("a layer called twice has one set of weights and two calls") {
  CHECK(sc::find_call<siamese_network>("dense", 0) == 2);
  CHECK(sc::find_call<siamese_network>("dense", 1) == 3);
  CHECK(sc::graph_of<siamese_network>.parameters_of(2).size() == 2);
}
