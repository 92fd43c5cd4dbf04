// SPDX-License-Identifier: BSD-3-Clause
// The models of tests/golden/make_summaries.py.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace golden_models {

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

struct long_names
    : sc::sequential<input{6, 4}, dense{8, {.use_bias = false, .name = "a_layer_whose_name_does_not_fit_its_column"}},
                     activation{sc::relu}, dropout{0.5}, reshape{2, 3, 8}, flatten{},
                     dense{1234567, {.name = "wide"}}> {
  static constexpr std::string_view name = "long_names";
};

struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto one = model.input(sc::shape(32), "input_a");
    auto two = model.input(sc::shape(32), "input_b");
    dense shared{16, sc::relu, {.name = "shared"}};
    auto a = shared(one);
    auto b = shared(two);
    auto joined = concatenate{}(a, b);
    auto left = dense{16}(joined);
    auto total = add{}(left, a, b);
    auto first = dense{10}(total);
    return sc::outputs(first, dense{1}(joined));
  }
};

struct chain : sc::functional<chain> {
  static constexpr auto build(auto& model) {
    auto x = model.input(28, 28);
    x = dense{64, sc::relu}(flatten{}(x));
    return dense{10}(dropout{0.2}(x));
  }
};

/// A layer without weights that is called on two shapes.
struct several_shapes : sc::functional<several_shapes> {
  static constexpr auto build(auto& model) {
    auto one = model.input(sc::shape(4, 3), "input_a");
    auto two = model.input(sc::shape(5, 2), "input_b");
    flatten shared;
    auto a = shared(one);
    return concatenate{}(a, shared(two));
  }
};

struct block : sc::functional<block> {
  static constexpr std::string_view name = "block";

  static constexpr auto build(auto& model) {
    auto x = model.input(sc::shape(16), "block_input");
    auto y = dense{16, sc::relu, {.name = "block_dense"}}(x);
    return add{}.named("block_add")(x, y);
  }
};

struct nested : sc::functional<nested> {
  static constexpr std::string_view name = "nested";

  static constexpr auto build(auto& model) {
    auto x = model.input(sc::shape(32), "input_a");
    block shared;
    auto first = shared(dense{16}(x));
    auto second = shared(dense{16}(first));
    return dense{10}(add{}(first, second));
  }
};

inline constexpr auto sequential_block =
    sc::models::sequential_model<input{16}, dense{16, sc::relu, {.name = "block_1"}}, dense{16, {.name = "block_2"}}>{}
        .named("block");

struct nested_sequential : sc::sequential<input{8}, dense{16}, sequential_block, dense{4}> {
  static constexpr std::string_view name = "outer";
};

struct my_model : sc::model<my_model> {
  dense dense_layer_1{8};
  dense dense_layer_2{8};
  concatenate concat;
  dense dense_layer_3{1};

  constexpr auto call(auto&, auto x) {
    auto first = dense_layer_1(x);
    return dense_layer_3(concat(first, dense_layer_2(x)));
  }
};
using subclass = sc::build<my_model, input{6}>;

}  // namespace golden_models
